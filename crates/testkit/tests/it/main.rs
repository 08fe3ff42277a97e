//! The disks keep their contract, and the journal keeps its promises on a disk that crashes.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test that meets the unexpected should stop"
)]

mod crash_images;
mod disk_contract;
mod files;
mod halting;
mod history;
mod journal_ahead;
mod journal_backup;
mod journal_checkpoints;
mod journal_damage;
mod journal_failures;
mod journal_model;
mod journal_mutations;
mod journal_open;
mod journal_retention;
mod journal_verify;
mod simulation;
mod world;
mod zz_probe;
