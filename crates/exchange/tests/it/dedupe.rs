//! A message is accepted once, however often it is sent.

use crate::world::{Message, World};
use interwire_exchange::{OlderUnreadable, RecipientState};
use protocol::{Code, DialectName};

#[test]
fn the_same_bytes_again_are_a_duplicate_and_go_nowhere() {
    let mut world = World::new();
    let first = world.publish(Message::new("m1", &["agent:b"]));
    assert!(!first.duplicate);
    let again = world.publish(Message::new("m1", &["agent:b"]));
    assert!(again.duplicate && again.record.is_none() && again.wake.is_empty());
    assert_eq!(
        (again.sequence, again.recipients.len()),
        (first.sequence, 0)
    );
    assert_eq!(world.pull_inbox("agent:b"), [first.sequence]);
}

#[test]
fn other_bytes_under_a_used_id_are_a_conflict_at_the_dialects_id() {
    let mut world = World::new();
    let uai = |header: &mut protocol::Header| header.dialect = DialectName::Uai;
    world.publish(Message::new("m1", &[]));
    let conflict = |pointer: &str| (Code::IdConflict, pointer.to_string());
    assert_eq!(
        world.refusal(Message::new("m1", &[]).bytes("x")),
        conflict("/id")
    );
    assert_eq!(
        world.refusal(Message::new("m1", &[]).bytes("x").with(uai)),
        conflict("/message_id")
    );
    assert_eq!(world.exchange.counts().dedupe_entries, 1);
}

#[test]
fn an_id_belongs_to_its_sender() {
    let mut world = World::new();
    world.publish(Message::new("m1", &[]));
    assert!(
        !world
            .publish(Message::new("m1", &[]).from("agent:c").bytes("x"))
            .duplicate
    );
}

#[test]
fn a_refused_message_can_be_sent_again() {
    let mut world = World::new();
    let wild = |act| Message::new("m1", &["agent.*"]).with(|header| header.act = act);
    assert_eq!(
        world.refusal(wild(protocol::Act::Request)).0,
        Code::IdentityMalformed
    );
    assert!(!world.publish(wild(protocol::Act::Inform)).duplicate);
}

#[test]
fn a_duplicate_is_known_after_a_restart() {
    let mut world = World::new();
    let first = world.publish(Message::new("m1", &["agent:b"])).sequence;
    let mut world = world.rebuilt();
    let again = world.publish(Message::new("m1", &["agent:b"]));
    assert!(again.duplicate);
    assert_eq!(again.sequence, first);
    assert_eq!(
        world.refusal(Message::new("m1", &["agent:b"]).bytes("x")).0,
        Code::IdConflict
    );
}

/// UAI-1 under an idempotency key; `asks` is what it asks for.
fn keyed(id: &str, recipients: &[&str], key: &str, asks: &str) -> Message {
    Message::new(id, recipients).bytes(asks).with(|header| {
        header.dialect = DialectName::Uai;
        header.idempotency_key = Some(key.into());
    })
}

/// UAI 4 D4.
#[test]
fn a_retry_under_its_key_is_a_duplicate_before_and_after_a_restart() {
    let mut world = World::new();
    let first = world.publish(keyed("m1", &["agent:b", "agent:c"], "k", "x"));
    for _ in 0..2 {
        let again = world.publish(keyed("m1", &["agent:b", "agent:c"], "k", "x"));
        assert!(again.duplicate && again.sequence == first.sequence);
        world = world.rebuilt();
    }
    assert_eq!(world.pull_inbox("agent:b"), [first.sequence]);
}

/// UAI 4 D6.
#[test]
fn the_same_under_another_id_is_a_duplicate_of_the_first() {
    let mut world = World::new();
    world.publish(keyed("m1", &["agent:b"], "k", "x"));
    let again = world.publish(keyed("m2", &["agent:b"], "k", "x"));
    assert_eq!((again.duplicate, again.sequence), (true, 1));
    assert!(
        !world
            .publish(keyed("m3", &["agent:b"], "other", "x"))
            .duplicate
    );
}

/// UAI 4 D6.
#[test]
fn another_request_under_a_used_key_is_a_conflict_for_that_recipient() {
    let mut world = World::new();
    world.publish(keyed("m1", &["agent:b"], "k", "x"));
    let conflict = (
        Code::IdempotencyConflict,
        "/delivery/idempotency_key".to_owned(),
    );
    for id in ["m1", "m2"] {
        assert_eq!(world.refusal(keyed(id, &["agent:b"], "k", "y")), conflict);
    }
    let both = keyed("m2", &["agent:c", "agent:b"], "k", "y");
    assert_eq!(world.refusal(both), conflict);
    assert!(!world.publish(keyed("m2", &["agent:c"], "k", "y")).duplicate);
    assert!(
        !world
            .publish(keyed("m2", &["agent:b"], "k", "y").from("agent:z"))
            .duplicate
    );
}

#[test]
fn an_id_with_another_key_or_other_recipients_is_a_conflict_of_ids() {
    let mut world = World::new();
    world.publish(keyed("m1", &["agent:b"], "k", "x"));
    let conflict = (Code::IdConflict, "/message_id".to_owned());
    assert_eq!(
        world.refusal(keyed("m1", &["agent:b"], "other", "x")),
        conflict
    );
    assert_eq!(
        world.refusal(keyed("m1", &["agent:b", "agent:c"], "k", "x")),
        conflict
    );
    world.publish(keyed("m2", &["agent:b"], "other", "x"));
    assert_eq!(
        world.refusal(keyed("m1", &["agent:b"], "other", "x")),
        conflict
    );
}

/// UAI 4 D6: the scope is the recipient.
#[test]
fn a_message_that_some_recipients_had_goes_to_the_others_only() {
    let mut world = World::new();
    world.subscribe("all", crate::world::filter([]), None);
    world.subscribe("of-b", crate::world::filter([]), Some("agent:b"));
    world.publish(keyed("m1", &["agent:b"], "k", "x"));
    let second = world.publish(keyed("m2", &["agent:b", "agent:c"], "k", "x"));
    assert!(!second.duplicate);
    let states: Vec<_> = second.recipients.iter().map(|(_, state)| *state).collect();
    assert_eq!(states, [RecipientState::Duplicate, RecipientState::Stored]);
    let third = keyed("m3", &["agent:b", "agent:c"], "k", "x");
    let mut rebuilt = world.rebuilt();
    for world in [&mut world, &mut rebuilt] {
        let again = world.publish(third.clone());
        assert!(
            again.duplicate && again.sequence == 3,
            "the earliest of what they had"
        );
        assert_eq!(world.pull_inbox("agent:b"), [3]);
        assert_eq!(world.pull_inbox("agent:c"), [4]);
    }
}

/// UAI 9.2 B3: the body of a copy differs, its origin does not.
#[test]
fn a_message_and_its_copies_reach_each_recipient_once() {
    let copy = |id: &str, to: &str| {
        keyed(id, &[to], "k", id).with(|header| header.origin = Some("m1".into()))
    };
    let whole = || keyed("m1", &["agent:b", "agent:c"], "k", "whole");
    let mut world = World::new();
    world.publish(whole());
    let again = world.publish(copy("copy-b", "agent:b"));
    assert_eq!((again.duplicate, again.sequence), (true, 1));

    let mut world = World::new();
    world.publish(copy("copy-b", "agent:b"));
    assert!(world.publish(copy("copy-b-again", "agent:b")).duplicate);
    assert!(
        !world.publish(copy("copy-c", "agent:c")).duplicate,
        "the key is the same"
    );
    let mut world = world.rebuilt();
    assert!(world.publish(whole()).duplicate);
    let foreign = copy("copy-d", "agent:b").with(|header| header.origin = Some("m9".into()));
    assert_eq!(world.refusal(foreign).0, Code::IdempotencyConflict);
    assert_eq!(world.pull_inbox("agent:b"), [1]);
    assert_eq!(world.pull_inbox("agent:c"), [2]);
}

#[test]
fn a_message_that_cannot_be_compared_with_older_ones_is_refused_and_not_taken_twice() {
    let mut world = World::new();
    world.publish(Message::new("m1", &["agent:b"]));
    world.exchange.freeze_keys(1);
    world.exchange.forget_keys(1);
    world
        .exchange
        .look_for_older_keys_with(Box::new(|_| Err(OlderUnreadable)));
    assert_eq!(
        world.refusal(Message::new("m1", &["agent:b"])).0,
        Code::StorageFailed
    );
    assert_eq!(
        world.refusal(Message::new("m2", &["agent:b"])).0,
        Code::StorageFailed
    );
    assert_eq!(world.exchange.counts().waiting, 1);
}

#[test]
fn keys_of_messages_that_are_no_longer_kept_are_free() {
    let mut world = World::new();
    world.publish(Message::new("m1", &["agent:b"]));
    world.publish(Message::new("m2", &["agent:b"]));
    world.exchange.keep_from(2);
    let again = world.publish(Message::new("m1", &["agent:b"]).bytes("other"));
    assert_eq!((again.duplicate, again.sequence), (false, 3));
    assert!(world.publish(Message::new("m2", &["agent:b"])).duplicate);
    let repeat = world.publish(Message::new("m1", &["agent:b"]).bytes("other"));
    assert_eq!((repeat.duplicate, repeat.sequence), (true, 3));
}
