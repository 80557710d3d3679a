//! The service with an injected bug: it draws the wrong text. Tests use it to check that the shadow
//! notices.

use std::process::ExitCode;

fn main() -> ExitCode {
    qr_service::faults::draw_other_texts();
    qr_service::run()
}
