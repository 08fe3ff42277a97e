//! Deliveries are held by one reader at a time, and none is lost.

use crate::world::{Message, World, filter, sequences};
use interwire_exchange::{
    DeliveryId, DeliverySettings, Exchange, Lease, PlaceId, Settings, Settle,
};
use protocol::Code;

const LOST: Option<Code> = Some(Code::LeaseLost);

/// An inbox with `count` messages, sequences from 1.
fn world(count: usize) -> (World, PlaceId) {
    world_with(count, Settings::default())
}

fn world_with(count: usize, settings: Settings) -> (World, PlaceId) {
    let mut world = World::with(settings);
    for n in 0..count {
        world.publish(Message::new(&format!("m{n}"), &["agent:b"]));
    }
    let place = world.inbox("agent:b").unwrap();
    (world, place)
}

fn ids(leases: &[Lease]) -> Vec<DeliveryId> {
    leases.iter().map(Lease::id).collect()
}

#[test]
fn first_attempts_come_in_journal_order() {
    let (mut world, place) = world(5);
    assert_eq!(sequences(&world.pull(place, 2)), [1, 2]);
    assert_eq!(sequences(&world.pull(place, 9)), [3, 4, 5]);
    assert_eq!(world.pull(place, 9), []);
}

#[test]
fn a_lease_that_runs_out_is_handed_out_again_and_the_late_ack_is_refused() {
    let (mut world, place) = world(2);
    let late = world.pull(place, 1);
    assert_eq!(world.exchange.next_deadline(), Some(late[0].until));
    assert_eq!(world.pass(29_999), []);
    assert_eq!(world.pass(1), [place]);
    let next = world.pull(place, 9);
    assert_eq!(sequences(&next), [1, 2]);
    assert_eq!((next[0].attempt, next[1].attempt), (2, 1));
    assert_eq!(world.settle(&ids(&late), Settle::Ack).0, [LOST]);
    world.ack(&next);
    assert_eq!(world.exchange.counts().leased, 0);
}

#[test]
fn a_lease_over_by_the_clock_is_lost_even_before_anybody_else_has_it() {
    let (mut world, place) = world(1);
    let late = world.pull(place, 1);
    world.now = late[0].until;
    assert_eq!(
        world
            .settle(&ids(&late), Settle::Extend { lease_ms: None })
            .0,
        [LOST]
    );
    assert_eq!(world.expire().wake, [place]);
}

#[test]
fn a_delivery_is_settled_once() {
    let (mut world, place) = world(1);
    let [delivery] = ids(&world.pull(place, 1))[..] else {
        panic!("expected one")
    };
    assert_eq!(
        world.settle(&[delivery, delivery], Settle::Ack).0,
        [None, LOST]
    );
    let wrong = DeliveryId {
        fence: delivery.fence.wrapping_add(1),
        ..delivery
    };
    let nowhere = DeliveryId {
        place: PlaceId(99),
        ..delivery
    };
    let (results, ..) = world
        .exchange
        .settle(world.now, 1, &[wrong, nowhere], &Settle::Ack);
    let codes: Vec<_> = results
        .into_iter()
        .map(|result| result.unwrap_err().code())
        .collect();
    assert_eq!(codes, [Code::LeaseLost, Code::LeaseLost]);
}

#[test]
fn a_nack_waits_as_asked_but_at_least_the_floor_and_counts_attempts() {
    let settings = Settings {
        nack_jitter_milli: 0,
        ..Settings::default()
    };
    let (mut world, place) = world_with(1, settings);
    for (attempt, wish, wait) in [
        (1, None, 1_000),
        (2, Some(-5), 100),
        (3, None, 4_000),
        (4, Some(7_000), 7_000),
        (5, Some(i64::MAX), 86_400_000),
    ] {
        let lease = world.pull(place, 1);
        assert_eq!(lease[0].attempt, attempt);
        let nack = Settle::Nack {
            retry_after_ms: wish,
            reason: "busy".into(),
        };
        world.settle(&ids(&lease), nack);
        assert_eq!(world.exchange.counts().waiting, 1);
        assert_eq!(world.pass(wait - 1), [], "{wish:?}");
        assert_eq!(world.pull(place, 1), []);
        assert_eq!(world.pass(1), [place], "{wish:?}");
    }
}

#[test]
fn a_clock_set_back_over_a_restart_makes_no_wait_longer() {
    let settings = Settings {
        nack_jitter_milli: 0,
        ..Settings::default()
    };
    let (mut world, place) = world_with(2, settings.clone());
    for (lease, wait) in ids(&world.pull(place, 2)).into_iter().zip([5_000, 3_000]) {
        let nack = Settle::Nack {
            retry_after_ms: Some(wait),
            reason: "busy".into(),
        };
        world.settle(&[lease], nack);
    }
    world.pass(1_000);
    let from_records = world.rebuilt();
    let restored = Exchange::restore(settings, &world.exchange.snapshot()).unwrap();
    for mut world in [from_records, world.after_restart(restored)] {
        world.now = world.now.plus_millis(-7_200_000);
        let last = world.next_sequence() - 1;
        world.exchange.recovered(world.now, last);
        for (wait, ready) in [(2_999, None), (1, Some(2)), (1_999, None), (1, Some(1))] {
            world.pass(wait);
            assert_eq!(sequences(&world.pull(place, 9)), Vec::from_iter(ready));
        }
    }
}

#[test]
fn what_came_back_goes_before_what_is_new() {
    let (mut world, place) = world(4);
    let leases = world.pull(place, 3);
    world.settle(
        &ids(&leases[1..]),
        Settle::Nack {
            retry_after_ms: Some(100),
            reason: "".into(),
        },
    );
    world.ack(&leases[..1]);
    world.pass(110);
    assert_eq!(sequences(&world.pull(place, 9)), [2, 3, 4]);
}

#[test]
fn an_extension_moves_the_end_both_ways() {
    let (mut world, place) = world(1);
    let lease = ids(&world.pull(place, 1));
    world.settle(
        &lease,
        Settle::Extend {
            lease_ms: Some(90_000),
        },
    );
    assert_eq!(world.pass(89_999), []);
    assert_eq!(
        world
            .settle(&lease, Settle::Extend { lease_ms: Some(10) })
            .0,
        [None]
    );
    assert_eq!(world.pass(10), [place]);
    assert_eq!(world.exchange.next_deadline(), None);
}

#[test]
fn the_in_flight_limit_holds_and_an_ack_at_the_limit_wakes() {
    let (mut world, place) = world_with(
        4,
        Settings {
            delivery: DeliverySettings {
                in_flight_max: 2,
                ..DeliverySettings::default()
            },
            ..Settings::default()
        },
    );
    let leases = world.pull(place, 9);
    assert_eq!(sequences(&leases), [1, 2]);
    assert_eq!(world.pull(place, 9), []);
    assert_eq!(world.settle(&ids(&leases), Settle::Ack).1, [place]);
    let leases = world.pull(place, 2);
    assert_eq!(sequences(&leases), [3, 4]);
    assert_eq!(
        world.settle(&ids(&leases), Settle::Ack).1,
        [],
        "nothing is left"
    );
}

#[test]
fn acks_of_one_call_make_one_record_per_place() {
    let mut world = World::new();
    for n in 0..3 {
        world.publish(Message::new(&format!("m{n}"), &["agent:b", "agent:c"]));
    }
    let [b, c] = ["agent:b", "agent:c"].map(|party| world.inbox(party).unwrap());
    let mut leases = world.pull(b, 3);
    leases.extend(world.pull(c, 2));
    leases.reverse();
    let (_, outcome) = world
        .exchange
        .settle(world.now, 7, &ids(&leases), &Settle::Ack);
    let acked = |place, sequences: &[u64]| interwire_exchange::Record::Acked {
        place,
        at: world.now,
        consumer: None,
        by: None,
        sequences: sequences.to_vec(),
        attempts: Vec::new(),
    };
    assert_eq!(outcome.records, [acked(b, &[1, 2, 3]), acked(c, &[1, 2])]);
}

#[test]
fn a_removed_subscription_takes_its_deliveries_and_deadlines_along() {
    let mut world = World::new();
    let place = world.subscribe("s", filter([]), None);
    for n in 0..4 {
        world.publish(Message::new(&format!("m{n}"), &[]));
    }
    let leases = world.pull(place, 2);
    world.settle(
        &ids(&leases[..1]),
        Settle::Nack {
            retry_after_ms: None,
            reason: "".into(),
        },
    );
    world.unsubscribe("s");
    let counts = world.exchange.counts();
    assert_eq!(
        (counts.waiting, counts.leased, counts.subscriptions),
        (0, 0, 0)
    );
    assert_eq!(world.exchange.next_deadline(), None);
    assert_eq!(world.settle(&ids(&leases[1..]), Settle::Ack).0, [LOST]);
    assert_eq!(world.pull(place, 9), []);
}

#[test]
fn a_reader_that_slept_through_a_restart_cannot_settle() {
    let (mut world, place) = world(3);
    let old = world.pull(place, 3);
    let mut world = world.rebuilt();
    let new = world.pull(place, 3);
    assert_eq!(sequences(&new), [1, 2, 3]);
    assert_eq!(new[0].attempt, 1);
    assert_eq!(world.settle(&ids(&old), Settle::Ack).0, [LOST; 3]);
    world.ack(&new);
}

#[test]
fn what_failed_takes_its_turn_in_its_conversation_again() {
    let mut world = World::new();
    for id in ["m1", "m2"] {
        let in_one = |header: &mut protocol::Header| header.conversation = Some("c1".into());
        world.publish(Message::new(id, &["agent:b"]).with(in_one));
    }
    let place = world.inbox("agent:b").unwrap();
    let held = world.pull(place, 9);
    let nack = Settle::Nack {
        retry_after_ms: None,
        reason: "".into(),
    };
    world.settle(&ids(&held[1..]), nack);
    world.exchange.leave(place, &None);
    assert_eq!(
        sequences(&world.pull(place, 9)),
        [1],
        "the older need not wait for the younger"
    );
    world.pass(2_000);
    assert_eq!(sequences(&world.pull(place, 9)), [2]);
}

#[test]
fn what_came_back_does_not_overtake_what_is_parked_before_it() {
    let mut world = World::new();
    let mut publish = |id: &str, conversation: &str, priority| {
        let change = |header: &mut protocol::Header| {
            header.conversation = Some(conversation.into());
            header.priority = priority;
        };
        world.publish(Message::new(id, &["agent:b"]).with(change));
    };
    publish("m1", "c1", protocol::Priority::Urgent);
    publish("m2", "c1", protocol::Priority::Normal);
    publish("m3", "c2", protocol::Priority::Normal);
    publish("m4", "c1", protocol::Priority::Normal);
    let place = world.inbox("agent:b").unwrap();
    let (one, other) = (Some("one"), Some("other"));
    world.pull_as(place, one, 9);
    world.pass(30_000);
    assert_eq!(sequences(&world.pull_as(place, one, 1)), [1]);
    assert_eq!(sequences(&world.pull_as(place, other, 1)), [3]);
    assert_eq!(sequences(&world.pull_as(place, one, 9)), [2, 4]);
}

#[test]
fn what_is_new_does_not_overtake_what_is_parked() {
    let mut world = World::new();
    let publish = |world: &mut World, id: &str| {
        let in_one = |header: &mut protocol::Header| header.conversation = Some("c1".into());
        world.publish(Message::new(id, &["agent:b"]).with(in_one));
    };
    for id in ["m1", "m2", "m3"] {
        publish(&mut world, id);
    }
    let place = world.inbox("agent:b").unwrap();
    let (one, other) = (Some("one"), Some("other"));
    assert_eq!(sequences(&world.pull_as(place, one, 1)), [1]);
    // Another consumer meets the rest of the conversation, which is then set aside.
    assert_eq!(world.pull_as(place, other, 9), []);
    publish(&mut world, "m4");
    publish(&mut world, "m5");
    assert_eq!(sequences(&world.pull_as(place, one, 1)), [2]);
    assert_eq!(sequences(&world.pull_as(place, one, 9)), [3, 4, 5]);
}
