//! qr-service
fn main() {}
