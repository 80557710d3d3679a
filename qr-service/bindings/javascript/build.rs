//! Sets the link arguments of the addon, which differ by platform.

fn main() {
    #[cfg(feature = "node")]
    napi_build::setup();
}
