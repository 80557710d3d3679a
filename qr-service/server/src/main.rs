//! `qr-service`, the program.

use std::process::ExitCode;

fn main() -> ExitCode {
    qr_service::run()
}
