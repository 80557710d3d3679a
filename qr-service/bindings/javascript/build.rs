//! Sets an addon's link arguments, which differ by platform.

fn main() {
    #[cfg(feature = "node")]
    napi_build::setup();
}
