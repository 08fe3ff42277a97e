//! Integration tests of the protocol crate, one binary.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    missing_docs
)]

mod aee;
mod aee_laws;
mod aee_vectors;
mod aee_warnings;
mod aep;
mod amplification;
mod detection;
mod fault_pages;
mod replay;
mod shared;
mod translation;
mod uai;
