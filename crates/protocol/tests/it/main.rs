//! Integration tests of the protocol crate, one module per dialect.

mod uai;
