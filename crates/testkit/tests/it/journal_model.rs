//! The journal against the model, over many seeds.

use crate::world::{World, seeds};
use interwire_testkit::CrashDisk;
use journal::{Disk, Durability};
use std::sync::Arc;

fn honest(disk: CrashDisk) -> Arc<dyn Disk> {
    Arc::new(disk)
}

fn keeps_its_promise(world: impl Fn(u64) -> World) {
    for seed in seeds() {
        if let Err(why) = world(seed).run() {
            panic!("seed {seed}: {why}");
        }
    }
}

#[test]
fn a_synced_journal_loses_nothing_it_acknowledged() {
    keeps_its_promise(|seed| World::new(seed, Durability::Fsync, honest));
}

#[test]
fn an_unsynced_journal_loses_only_a_tail_and_says_so_by_its_epoch() {
    keeps_its_promise(|seed| World::new(seed, Durability::Os, honest));
}

#[test]
fn a_journal_that_begins_to_sync_makes_durable_what_it_found() {
    keeps_its_promise(|seed| World::new(seed, Durability::Os, honest).changing());
}

#[test]
fn writing_ahead_loses_nothing_that_was_synced() {
    keeps_its_promise(|seed| World::new(seed, Durability::Fsync, honest).filling());
}

#[test]
fn writing_ahead_without_syncs_loses_only_a_tail() {
    keeps_its_promise(|seed| World::new(seed, Durability::Os, honest).filling());
}

#[test]
fn writing_ahead_keeps_its_promise_when_the_durability_changes() {
    keeps_its_promise(|seed| {
        World::new(seed, Durability::Os, honest)
            .changing()
            .filling()
    });
}

#[test]
fn dropping_records_and_keeping_state_lose_nothing_else() {
    keeps_its_promise(|seed| {
        World::new(seed, Durability::Fsync, honest)
            .filling()
            .keeping_state()
    });
}

#[test]
fn state_is_kept_of_what_survives_when_the_durability_changes() {
    keeps_its_promise(|seed| {
        World::new(seed, Durability::Os, honest)
            .changing()
            .keeping_state()
    });
}
