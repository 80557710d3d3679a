//! The allocator of static builds. musl's own has one lock for all threads, and a request costs a tenth
//! more CPU with it: `docs/adr/0007-allocator.md`.

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
