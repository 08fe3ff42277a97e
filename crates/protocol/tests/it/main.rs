//! Tests of the whole crate from outside.

mod aep;
