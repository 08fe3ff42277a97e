//! A few hundred seeds of the simulation. More with `./test --soak N`.

use interwire_testkit::{history, sim};

/// Seeds of one test; each test is a process of its own, so that all processors have work.
const SEEDS: u64 = 40;

fn run(block: u64) {
    for seed in block * SEEDS..(block + 1) * SEEDS {
        if let Err(failure) = sim::run(seed) {
            panic!(
                "seed {seed}: {}; ./test --seed {seed} tells why",
                failure.broken
            );
        }
    }
}

macro_rules! blocks {
    ($($name:ident = $block:literal;)*) => {
        $(#[test]
        fn $name() {
            run($block);
        })*
    };
}

blocks! {
    no_promise_is_broken_0 = 0;
    no_promise_is_broken_1 = 1;
    no_promise_is_broken_2 = 2;
    no_promise_is_broken_3 = 3;
    no_promise_is_broken_4 = 4;
    no_promise_is_broken_5 = 5;
    no_promise_is_broken_6 = 6;
    no_promise_is_broken_7 = 7;
}

#[test]
fn a_seed_repeats_exactly() {
    for seed in 1_000..1_010 {
        let history = || sim::history_of(seed, &sim::events(seed));
        assert_eq!(history(), history(), "seed {seed}");
    }
}

/// What the model judges call by call, the checker of histories judges afterwards, in its own way.
#[test]
fn the_checker_of_histories_agrees() {
    for seed in 1_010..1_040 {
        let broken = history::check(&sim::history_of(seed, &sim::events(seed)), true);
        assert!(broken.is_empty(), "seed {seed}: {broken:#?}");
    }
}

/// So that whoever changes a mutated line is told at once, and not by the long run of them all.
#[test]
fn every_mutation_still_finds_its_line() {
    use interwire_testkit::mutations;
    let root = mutations::root();
    let list = mutations::read(&root).unwrap();
    assert!(list.len() >= 12, "{} mutations", list.len());
    for mutation in &list {
        let source = std::fs::read_to_string(root.join(&mutation.file)).unwrap();
        mutation.apply(&source).unwrap();
    }
}
