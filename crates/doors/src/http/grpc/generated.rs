//! What `proto/` means in Rust. Made by `proto/generate`; nothing here is written by hand.

#[allow(
    clippy::all,
    clippy::pedantic,
    missing_docs,
    unused_qualifications,
    reason = "generated"
)]
pub(crate) mod interwire_v1 {
    include!("generated/interwire.v1.rs");
}

#[allow(
    clippy::all,
    clippy::pedantic,
    missing_docs,
    unused_qualifications,
    reason = "generated"
)]
pub(crate) mod harmovela_v1 {
    include!("generated/harmovela.v1.rs");
}

#[allow(
    clippy::all,
    clippy::pedantic,
    missing_docs,
    unused_qualifications,
    reason = "generated"
)]
pub(crate) mod aep_v1 {
    include!("generated/aep.v1.rs");
}

/// The services and messages, for clients that ask what there is.
pub(crate) const DESCRIPTORS: &[u8] = include_bytes!("generated/descriptors.bin");
