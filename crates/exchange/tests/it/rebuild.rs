//! The journal is the only truth: state rebuilt from it equals the state that wrote it.

use crate::world::{Message, World, filter, sequences};
use interwire_exchange::{RecipientState, Record};

#[test]
fn the_record_of_a_message_holds_the_lines_of_its_receipt() {
    let mut world = World::new();
    world.publish(Message::new("m0", &["agent:x", "agent:y"]));
    let publication = world.publish(Message::new("m1", &["agent:y", "bus:ops", "agent.*"]));
    let (kind, body) = world.journal.last().unwrap();
    let Ok(Record::Published {
        recipients,
        envelope,
        ..
    }) = Record::decode(*kind, body)
    else {
        panic!("expected a published record");
    };
    assert_eq!(recipients, publication.recipients);
    assert_eq!(recipients.len(), 3);
    assert!(
        recipients
            .iter()
            .all(|(_, state)| *state == RecipientState::Stored)
    );
    assert_eq!(envelope, "m1");
}

#[test]
fn places_keep_their_numbers_and_new_ones_go_on() {
    let mut world = World::new();
    world.subscribe("s1", filter([("type", "x")]), Some("agent:d"));
    world.publish(Message::new("m1", &["agent:b", "bus:ops", "agent:c"]));
    world.subscribe("s2", filter([]), None);
    world.unsubscribe("s2");
    let mut rebuilt = world.rebuilt();
    for party in ["agent:b", "agent:c", "agent:d"] {
        assert!(world.inbox(party).is_some());
        assert_eq!(world.inbox(party), rebuilt.inbox(party), "{party}");
    }
    assert_eq!(
        world.exchange.subscriptions(),
        rebuilt.exchange.subscriptions()
    );
    let next = Message::new("m2", &["agent:new"]);
    assert_eq!(world.publish(next.clone()).wake, rebuilt.publish(next).wake);
}

#[test]
fn what_was_acknowledged_stays_done_and_the_rest_is_ready_in_order() {
    let mut world = World::new();
    for n in 0..6 {
        world.publish(Message::new(&format!("m{n}"), &["agent:b"]));
    }
    let place = world.inbox("agent:b").unwrap();
    let leases = world.pull(place, 4);
    world.ack(&[leases[3], leases[1]]);
    let mut rebuilt = world.rebuilt();
    assert_eq!(sequences(&rebuilt.pull(place, 9)), [1, 3, 5, 6]);
}

#[test]
fn a_journal_whose_oldest_part_is_gone_keeps_the_numbers_of_the_rest() {
    let mut world = World::new();
    world.publish(Message::new("m1", &["agent:gone"]));
    world.publish(Message::new("m2", &["agent:b", "agent:c"]));
    let (b, c) = (world.inbox("agent:b"), world.inbox("agent:c"));
    let mut rebuilt = World::new();
    let (kind, body) = &world.journal[1];
    rebuilt
        .exchange
        .apply(2, Record::decode(*kind, body).unwrap());
    assert_eq!((rebuilt.inbox("agent:b"), rebuilt.inbox("agent:c")), (b, c));
    let fresh = rebuilt.publish(Message::new("m3", &["agent:gone"])).wake;
    assert!(fresh[0] > c.unwrap());
}
