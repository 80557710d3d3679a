//! The service with a bug: its pictures are of another text. For tests of what notices that.

use std::process::ExitCode;

fn main() -> ExitCode {
    qr_service::faults::draw_other_texts();
    qr_service::program::main()
}
