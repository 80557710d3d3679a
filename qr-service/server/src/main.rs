//! `qr-service`, the program.

use std::process::ExitCode;

// docs/adr/0007-allocator.md says why.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    qr_service::run()
}
