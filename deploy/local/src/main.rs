//! stack
fn main() {}
