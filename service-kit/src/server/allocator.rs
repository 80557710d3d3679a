//! The allocator of static builds. musl's allocator has one lock for all threads and makes a request
//! cost a tenth more CPU: `docs/adr/0007-allocator.md`.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
