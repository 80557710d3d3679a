//! Link arguments of an addon, which differ by platform.

fn main() {
    napi_build::setup();
}
