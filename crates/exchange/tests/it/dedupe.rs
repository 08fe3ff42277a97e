//! A message is accepted once, however often it is sent.

use crate::world::{Message, World};
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
    let keyed = |header: &mut protocol::Header| {
        header.dialect = DialectName::Uai;
        header.dedupe_key = "key".into();
    };
    world.publish(Message::new("m1", &[]));
    world.publish(Message::new("m2", &[]).with(keyed));
    let conflict = |pointer: &str| (Code::IdConflict, pointer.to_string());
    assert_eq!(
        world.refusal(Message::new("m1", &[]).bytes("x")),
        conflict("/id")
    );
    assert_eq!(
        world.refusal(Message::new("m1", &[]).bytes("x").with(uai)),
        conflict("/message_id")
    );
    let repeat = Message::new("m3", &[]).with(keyed);
    assert_eq!(world.refusal(repeat), conflict("/delivery/idempotency_key"));
    assert_eq!(world.exchange.counts().dedupe_entries, 2);
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
