#![no_main]

#[path = "../checks/query.rs"]
mod query;

libfuzzer_sys::fuzz_target!(|input: &[u8]| query::check(input));
