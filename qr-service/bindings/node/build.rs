//! Sets an addon's link arguments, which differ by platform.

fn main() {
    napi_build::setup();
}
