//! `relay-home`, the program.

use std::process::ExitCode;

fn main() -> ExitCode {
    relay_service::home::run()
}
