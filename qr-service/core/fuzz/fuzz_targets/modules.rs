#![no_main]

#[path = "../checks/modules.rs"]
mod modules;

libfuzzer_sys::fuzz_target!(|input: &[u8]| modules::check(input));
