//! contract
fn main() {}
