//! The trust library against published vectors and laws.
#![allow(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

mod bundle;
mod published;
mod witness;
