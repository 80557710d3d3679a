//! The program `qr-service`.

use std::process::ExitCode;

// docs/adr/0007-allocator.md gives the reason.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    qr_service::run()
}
