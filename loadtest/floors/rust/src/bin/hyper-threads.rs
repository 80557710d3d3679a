//! hyper in a thread per core, which share nothing.

use floors_rust::{answer, serve_on_each_core};

fn main() -> anyhow::Result<()> {
    serve_on_each_core(answer)
}
