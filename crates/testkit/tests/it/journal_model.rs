//! The journal against the model, over many seeds.

use crate::world::{World, seeds};
use interwire_testkit::CrashDisk;
use journal::{Disk, Durability};
use std::sync::Arc;

fn honest(disk: CrashDisk) -> Arc<dyn Disk> {
    Arc::new(disk)
}

fn keeps_its_promise(durability: Durability) {
    for seed in seeds() {
        if let Err(why) = World::new(seed, durability, honest).run() {
            panic!("seed {seed}: {why}");
        }
    }
}

#[test]
fn a_synced_journal_loses_nothing_it_acknowledged() {
    keeps_its_promise(Durability::Fsync);
}

#[test]
fn an_unsynced_journal_loses_only_a_tail_and_says_so_by_its_epoch() {
    keeps_its_promise(Durability::Os);
}
