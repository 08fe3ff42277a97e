//! Writes what `proto/*.proto` means in Rust to `crates/doors/src/http/grpc/generated`.
//! Run it in this folder after a change of a `.proto` file: `cargo run`.

use prost::Message as _;
use std::path::Path;

/// What the door serves: reflection tells clients of these and of nothing else.
const FILES: [&str; 3] = [
    "interwire/v1/exchange.proto",
    "harmovela/v1/transport.proto",
    "aep/v1/transport.proto",
];

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let protos = here.join("..");
    let out = here.join("../../crates/doors/src/http/grpc/generated");
    std::fs::create_dir_all(&out)?;
    let descriptors = protox::compile(FILES, [protos])?;
    // Comments are for readers of the sources, not for clients that ask what there is.
    let mut told = descriptors.clone();
    for file in &mut told.file {
        file.source_code_info = None;
    }
    std::fs::write(out.join("descriptors.bin"), told.encode_to_vec())?;
    tonic_prost_build::configure()
        .build_client(false)
        .build_transport(false)
        .bytes(".interwire.v1")
        .out_dir(out)
        .compile_fds(descriptors)?;
    Ok(())
}
