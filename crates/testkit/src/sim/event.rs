//! What can happen, and a list of it drawn from a seed.
//!
//! Events choose by number among what is there when they come, so a list from which some are taken
//! away is a list that can be run.

use crate::history::{How, Terms};
use crate::{Cause, Operation, Random};
use broker::{Durability, Settings, Storage};

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is explained by the world's line for it")]
pub enum Event {
    Publish {
        number: u64,
        is_variant: bool,
    },
    Subscribe {
        slot: u64,
        is_other: bool,
    },
    Unsubscribe {
        slot: u64,
    },
    Pull {
        place: u64,
        consumer: u64,
        max: usize,
        wait: bool,
    },
    Abandon {
        which: u64,
    },
    Settle {
        which: u64,
        count: usize,
        how: How,
    },
    Leave {
        place: u64,
        consumer: u64,
        is_dead: bool,
    },
    Pause {
        place: u64,
        is_paused: bool,
    },
    DeadLetters {
        place: u64,
    },
    Redrive {
        which: u64,
    },
    Drop {
        which: u64,
    },
    Read,
    Follow {
        which: u64,
    },
    Next {
        which: u64,
        max: usize,
    },
    Step,
    Pass {
        ms: i64,
    },
    WriteAhead,
    Index,
    Checkpoint,
    Fail(Operation, Cause, u64),
    PowerOff {
        passing: u64,
    },
    Crash {
        end: End,
        clock_ms: i64,
    },
}

/// How an exchange ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Its process is killed; the system keeps what was written.
    Kill,
    /// The machine loses power; the disk keeps what was synced.
    PowerLoss,
    /// It is stopped in order.
    Close,
}

/// Everything about one run.
#[derive(Clone, Debug)]
pub(super) struct Plan {
    pub(super) settings: Settings,
    /// How places deliver, by their number.
    pub(super) terms: [Terms; 3],
    pub(super) events: Vec<Event>,
}

/// Messages that a run may send.
const MESSAGES: u64 = 96;

/// The events of a seed.
pub fn events(seed: u64) -> Vec<Event> {
    plan(seed).events
}

pub(super) fn plan(seed: u64) -> Plan {
    let mut random = Random::new(seed);
    let mut settings = Settings {
        segment_bytes: pick(&mut random, &[700, 4_000, 16_000, 1 << 20]),
        batch_max: pick(&mut random, &[1, 3, 1_024]),
        ring_bytes_max: pick(&mut random, &[2_000, 1 << 20]),
        channel_matches_max: pick(&mut random, &[2, 1_024]),
        dedupe_recent_max: pick(&mut random, &[8, 30, 1_000]),
        // Checkpoints are written where something survives the process.
        storage: Storage::Folder("of the simulation".into()),
        ..Settings::default()
    };
    // Without syncs only the process may die, see `World::crash`.
    if random.one_in(6) {
        settings.durability = Durability::Os;
    }
    let terms = [(); 3].map(|()| terms(&mut random));
    let length = 40 + random.index(360);
    let mut events = Vec::with_capacity(length);
    // A disk that failed is of no more use, so a crash follows soon.
    let mut crash_within: Option<u64> = None;
    while events.len() < length {
        if crash_within == Some(0) {
            crash_within = None;
            events.push(crash(&mut random));
            continue;
        }
        crash_within = crash_within.map(|left| left - 1);
        let event = draw(&mut random);
        if matches!(event, Event::Fail(..)) && crash_within.is_none() {
            crash_within = Some(5 + random.below(12));
        }
        events.push(event);
    }
    Plan {
        settings,
        terms,
        events,
    }
}

fn terms(random: &mut Random) -> Terms {
    Terms {
        lease_ms: pick(random, &[1_000, 10_000, 30_000]),
        max_attempts: pick(random, &[1, 2, 3, 10]),
        backoff_ms: pick(random, &[50, 1_000]),
        backoff_ms_max: pick(random, &[1_500, 300_000]),
        in_flight_max: pick(random, &[2, 5, 1_000]),
        is_ordered: !random.one_in(4),
    }
}

fn draw(random: &mut Random) -> Event {
    match random.below(200) {
        0..38 => Event::Publish {
            number: random.below(MESSAGES),
            is_variant: random.one_in(12),
        },
        38..45 => Event::Subscribe {
            slot: random.number(),
            is_other: random.one_in(6),
        },
        45 => Event::Unsubscribe {
            slot: random.number(),
        },
        46..80 => Event::Pull {
            place: random.number(),
            consumer: random.below(3),
            max: pick(random, &[1, 2, 5, 100]),
            wait: random.one_in(3),
        },
        80..82 => Event::Abandon {
            which: random.number(),
        },
        82..118 => Event::Settle {
            which: random.number(),
            count: pick(random, &[1, 1, 2, 6]),
            how: how(random),
        },
        118..121 => Event::Leave {
            place: random.number(),
            consumer: random.below(3),
            is_dead: random.one_in(2),
        },
        121..124 => Event::Pause {
            place: random.number(),
            is_paused: random.one_in(3),
        },
        124..128 => Event::DeadLetters {
            place: random.number(),
        },
        128..131 => Event::Redrive {
            which: random.number(),
        },
        131 => Event::Drop {
            which: random.number(),
        },
        132 => Event::Read,
        133..136 => Event::Follow {
            which: random.number(),
        },
        136..140 => Event::Next {
            which: random.number(),
            max: pick(random, &[1, 4, 100]),
        },
        140..170 => Event::Step,
        170..186 => Event::Pass { ms: pass(random) },
        186..188 => Event::WriteAhead,
        188 => Event::Index,
        189 => Event::Checkpoint,
        190..192 => Event::Fail(
            operation(random),
            pick(random, &[Cause::Broken, Cause::Full]),
            random.below(4),
        ),
        192..195 => Event::PowerOff {
            passing: random.below(8),
        },
        _ => crash(random),
    }
}

fn operation(random: &mut Random) -> Operation {
    let all = [
        Operation::Write,
        Operation::Write,
        Operation::Sync,
        Operation::Sync,
        Operation::Create,
        Operation::Rename,
        Operation::SyncFolder,
        Operation::Truncate,
        Operation::Open,
        Operation::Remove,
    ];
    pick(random, &all)
}

fn crash(random: &mut Random) -> Event {
    Event::Crash {
        end: pick(
            random,
            &[End::Kill, End::PowerLoss, End::PowerLoss, End::Close],
        ),
        // A start takes at least a moment; the wall clock may have been set meanwhile, either way.
        clock_ms: pick(random, &[1, 1, 700, 60_000, -3_000, -7_200_000]),
    }
}

fn how(random: &mut Random) -> How {
    match random.below(12) {
        0 | 1 => How::Nack(None),
        2 => How::Nack(Some(pick(random, &[-5, 0, 50, 2_500, 40_000]))),
        3 => How::Extend(Some(pick(random, &[-5, 1, 300, 50_000]))),
        4 => How::Extend(None),
        5 => How::Reject,
        _ => How::Ack,
    }
}

fn pass(random: &mut Random) -> i64 {
    pick(
        random,
        &[
            1, 50, 100, 110, 999, 1_000, 2_200, 9_999, 10_000, 40_000, 7_200_000,
        ],
    )
}

fn pick<T: Copy>(random: &mut Random, from: &[T]) -> T {
    let at = random.index(from.len());
    // The lists are written above and none is empty.
    from.get(at)
        .copied()
        .unwrap_or_else(|| unreachable!("an empty list of choices"))
}
