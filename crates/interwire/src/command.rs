//! One file per verb.

pub mod ask;
pub mod bench;
pub mod completions;
pub mod config;
pub mod conformance;
pub mod demo;
pub mod doctor;
pub mod inbox;
pub mod send;
pub mod serve;
pub mod sub;
pub mod tail;
pub mod task;
pub mod validate;
pub mod version;
