//! What places owe, page by page, is what they owe.

use crate::world::{Message, World};
use interwire_exchange::{DeliveryState, Lease, OwedDelivery, PlaceId, Settle};
use proptest::prelude::*;
use protocol::Priority;

const PARTIES: [&str; 3] = ["agent:b", "agent:c", "agent:d"];

/// Everything that is owed, in pages of `max`, looking at `count` places at a time.
fn pages(world: &World, count: u32, max: usize) -> Vec<OwedDelivery> {
    let (mut from, mut after, mut all) = (Some(PlaceId(0)), None, Vec::new());
    while let Some(first) = from {
        let looked = world.exchange.owed_from(first, count, after, max);
        assert!(looked.found.len() <= max);
        let is_full = looked.found.len() == max;
        if let Some(last) = looked.found.last() {
            after = Some((last.place, last.sequence));
        }
        from = match (is_full, after) {
            (true, Some((place, _))) => Some(place),
            _ => looked.next,
        };
        all.extend(looked.found);
    }
    all
}

/// The same, asked one by one.
fn expected(world: &World) -> Vec<OwedDelivery> {
    let mut all = Vec::new();
    for place in (0..8).map(PlaceId) {
        for sequence in 0..world.next_sequence() {
            let state = world.exchange.delivery_state(place, sequence);
            let is_dead = |state: &DeliveryState| matches!(state, DeliveryState::Dead { .. });
            if let Some(state) = state.filter(|state| !is_dead(state)) {
                all.push(OwedDelivery {
                    place,
                    sequence,
                    state,
                    failures: world.exchange.failures(place, sequence),
                });
            }
        }
    }
    all
}

#[derive(Clone, Debug)]
enum Act {
    Publish(usize, Option<u8>, bool),
    Pull(usize, u8, usize),
    Ack,
    Nack,
    Reject,
    Pass(i64),
}

fn act() -> impl Strategy<Value = Act> {
    let party = 0..PARTIES.len();
    prop_oneof![
        4 => (party.clone(), prop::option::of(0_u8..3), any::<bool>())
            .prop_map(|(party, conversation, urgent)| Act::Publish(party, conversation, urgent)),
        3 => (party, 0_u8..2, 1_usize..4)
            .prop_map(|(party, consumer, max)| Act::Pull(party, consumer, max)),
        1 => Just(Act::Ack),
        1 => Just(Act::Nack),
        1 => Just(Act::Reject),
        1 => (1_i64..40_000).prop_map(Act::Pass),
    ]
}

fn run(world: &mut World, acts: &[Act]) {
    let mut held: Vec<Lease> = Vec::new();
    for (at, act) in acts.iter().enumerate() {
        match act {
            Act::Publish(party, conversation, urgent) => {
                let message = Message::new(&format!("m{at}"), &[PARTIES[*party]]);
                world.publish(message.with(|header| {
                    header.conversation = conversation.map(|one| format!("c{one}").into());
                    if *urgent {
                        header.priority = Priority::Urgent;
                    }
                }));
            }
            Act::Pull(party, consumer, max) => {
                if let Some(place) = world.inbox(PARTIES[*party]) {
                    held.extend(world.pull_as(place, Some(&format!("w{consumer}")), *max));
                }
            }
            Act::Ack | Act::Nack | Act::Reject => {
                let Some(lease) = held.pop() else { continue };
                let reason = "no".into();
                let how = match act {
                    Act::Ack => Settle::Ack,
                    Act::Reject => Settle::Reject { reason },
                    _ => Settle::Nack {
                        retry_after_ms: None,
                        reason,
                    },
                };
                world.settle(&[lease.id()], how);
            }
            Act::Pass(millis) => drop(world.pass(*millis)),
        }
    }
}

proptest! {
    #[test]
    fn pages_of_any_size_hold_exactly_what_is_owed(
        acts in prop::collection::vec(act(), 0..60),
        count in 1_u32..4,
        max in 1_usize..6,
    ) {
        let mut world = World::new();
        run(&mut world, &acts);
        prop_assert_eq!(pages(&world, count, max), expected(&world));
    }
}

#[test]
fn one_place_is_asked_for_alone() {
    let mut world = World::new();
    for id in ["m1", "m2", "m3"] {
        world.publish(Message::new(id, &["agent:b"]));
    }
    world.publish(Message::new("m4", &["agent:c"]));
    let place = world.inbox("agent:b").unwrap();
    let sequences = |after, max| -> Vec<u64> {
        let owed = world.exchange.owed_of(place, after, max).into_iter();
        owed.map(|one| one.sequence).collect()
    };
    assert_eq!(sequences(None, 2), [1, 2]);
    assert_eq!(sequences(Some((place, 2)), 2), [3]);
    assert_eq!(sequences(Some((PlaceId(place.0 + 1), 0)), 2), [0; 0]);
    let nobody = world.exchange.owed_of(PlaceId(99), None, 2);
    assert!(nobody.is_empty());
}
