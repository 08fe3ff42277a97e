#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| interwire_fuzz::signed::run(data));
