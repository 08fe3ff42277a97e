//! What the project asks of itself, as data: which row, against which peer, how much.
//!
//! A bound is a ratio to a peer in the same run, or, where no peer does the same work, an absolute
//! figure that only means something on a machine of the class the bounds were set on. Rows print
//! their bound and whether it was met; nothing is decided by it.

use super::consume::Situation;
use super::wire::System;
use super::wire::System::{JetstreamAlways, JetstreamDefault, NatsCore, RedisAlways};
use Case::{Consume, Fanout, Http, Idle, Latency, Publish, ReplayFew};
use Direction::{AtLeast, AtMost};
use broker::Durability;
use broker::Durability::{Fsync, Os};
use clap::ValueEnum;

/// What readers of a fan-out read over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Over {
    /// The WebSocket subprotocol.
    Websocket,
    /// Server-sent events.
    Sse,
}

/// One measured situation, as far as bounds tell situations apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// Pipelined publishes, that many in flight.
    Publish(usize),
    /// One publish a request, on that many connections.
    Http(usize),
    /// Deliveries to that many readers.
    Fanout(Over, usize),
    /// A durable consumer that acknowledges.
    Consume(Situation),
    /// Publish to delivery at that many a second.
    Latency(u32),
    /// Reading the journal back through a filter that passes few.
    ReplayFew,
    /// Memory of that many quiet readers.
    Idle(usize),
}

/// Which side of the bound is good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// More is better.
    AtLeast,
    /// Less is better.
    AtMost,
}

/// One line of the table.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bound {
    /// The situation.
    pub case: Case,
    /// What our side promises while it is measured.
    pub durability: Durability,
    /// The peer whose figure ours is divided by; an absolute figure without one.
    pub against: Option<System>,
    /// Which side is good.
    pub direction: Direction,
    /// Less than this is a defect.
    pub must: f64,
    /// What the design should reach.
    pub aim: f64,
}

impl Bound {
    /// Whether `value` is on the good side of `limit`. Without a value nothing is met.
    pub fn is_met(&self, value: f64, limit: f64) -> bool {
        match self.direction {
            Direction::AtLeast => value >= limit,
            Direction::AtMost => value <= limit,
        }
    }

    /// `>=` or `<=`.
    pub fn sign(&self) -> &'static str {
        match self.direction {
            Direction::AtLeast => ">=",
            Direction::AtMost => "<=",
        }
    }
}

/// The bound of one pair, if it has one.
pub fn find(case: Case, ours: Durability, against: Option<System>) -> Option<Bound> {
    let is_it =
        |bound: &&Bound| bound.case == case && bound.durability == ours && bound.against == against;
    BOUNDS.iter().find(is_it).copied()
}

/// Every bound.
const BOUNDS: &[Bound] = &[
    row(Publish(1), Fsync, Some(RedisAlways), AtLeast, 0.9, 1.2),
    row(Publish(1), Fsync, Some(JetstreamAlways), AtLeast, 0.9, 1.2),
    row(Publish(16), Fsync, Some(RedisAlways), AtLeast, 1.0, 1.3),
    row(
        Publish(16),
        Fsync,
        Some(JetstreamAlways),
        AtLeast,
        6.0,
        10.0,
    ),
    row(Publish(256), Fsync, Some(RedisAlways), AtLeast, 2.0, 3.0),
    row(
        Publish(256),
        Fsync,
        Some(JetstreamAlways),
        AtLeast,
        20.0,
        30.0,
    ),
    // This peer answers before it syncs; ours does not.
    row(
        Publish(256),
        Fsync,
        Some(JetstreamDefault),
        AtLeast,
        0.4,
        1.0,
    ),
    row(Publish(256), Os, Some(JetstreamDefault), AtLeast, 1.0, 1.5),
    row(Http(64), Fsync, None, AtLeast, 12_000.0, 16_000.0),
    row(
        Fanout(Over::Websocket, 100),
        Fsync,
        Some(NatsCore),
        AtLeast,
        1.0,
        1.2,
    ),
    row(
        Fanout(Over::Websocket, 1_000),
        Fsync,
        Some(NatsCore),
        AtLeast,
        1.0,
        1.6,
    ),
    row(
        Fanout(Over::Sse, 1_000),
        Fsync,
        Some(NatsCore),
        AtLeast,
        0.8,
        1.2,
    ),
    // The peer's acknowledgements are not on disk when they are taken; ours are.
    row(
        Consume(Situation::Backlog),
        Fsync,
        Some(JetstreamDefault),
        AtLeast,
        1.0,
        2.0,
    ),
    row(
        Consume(Situation::Live),
        Fsync,
        Some(JetstreamAlways),
        AtLeast,
        1.0,
        2.0,
    ),
    row(Latency(2_000), Fsync, Some(RedisAlways), AtMost, 1.0, 0.7),
    row(ReplayFew, Fsync, None, AtLeast, 300_000.0, 600_000.0),
    // Mebibytes.
    row(Idle(1_000), Fsync, None, AtMost, 64.0, 32.0),
];

const fn row(
    case: Case,
    durability: Durability,
    against: Option<System>,
    direction: Direction,
    must: f64,
    aim: f64,
) -> Bound {
    Bound {
        case,
        durability,
        against,
        direction,
        must,
        aim,
    }
}

#[cfg(test)]
mod tests {
    use super::{BOUNDS, Case, Direction, Over, find};
    use crate::command::bench::wire::System;
    use broker::Durability;

    #[test]
    fn each_pair_has_one_bound_and_every_aim_is_at_least_as_strict() {
        for (at, bound) in BOUNDS.iter().enumerate() {
            assert_eq!(
                find(bound.case, bound.durability, bound.against),
                Some(*bound),
                "line {at} is hidden by an earlier one"
            );
            assert!(bound.is_met(bound.aim, bound.must), "line {at}");
        }
    }

    #[test]
    fn a_pair_is_the_case_the_promise_and_the_peer_together() {
        let redis = Some(System::RedisAlways);
        let bound = find(Case::Publish(256), Durability::Fsync, redis).unwrap();
        assert_eq!((bound.must, bound.aim, bound.sign()), (2.0, 3.0, ">="));
        assert_eq!(find(Case::Publish(255), Durability::Fsync, redis), None);
        assert_eq!(find(Case::Publish(256), Durability::Memory, redis), None);
        assert_eq!(find(Case::Publish(256), Durability::Fsync, None), None);
        let sse = Case::Fanout(Over::Sse, 1_000);
        let websocket = Case::Fanout(Over::Websocket, 1_000);
        let core = Some(System::NatsCore);
        assert_ne!(
            find(sse, Durability::Fsync, core),
            find(websocket, Durability::Fsync, core)
        );
    }

    #[test]
    fn times_are_bounded_from_above_and_nothing_measured_meets_nothing() {
        let redis = Some(System::RedisAlways);
        let bound = find(Case::Latency(2_000), Durability::Fsync, redis).unwrap();
        assert_eq!(bound.direction, Direction::AtMost);
        assert!(bound.is_met(0.9, bound.must) && !bound.is_met(1.1, bound.must));
        assert!(!bound.is_met(0.9, bound.aim));
        assert!(!bound.is_met(f64::NAN, bound.must));
    }
}
