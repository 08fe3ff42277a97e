#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| interwire_fuzz::formats::run(data));
