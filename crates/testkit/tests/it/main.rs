//! The disks keep their contract, and the journal keeps its promises on a disk that crashes.

mod crash_images;
mod disk_contract;
mod journal_damage;
mod journal_failures;
mod journal_model;
mod journal_mutations;
mod world;
