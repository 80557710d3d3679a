#![no_main]

#[path = "../checks/pixels.rs"]
mod pixels;

libfuzzer_sys::fuzz_target!(|input: &[u8]| pixels::check(input));
