//! Letting go of old messages: nothing newer goes, and what went stays gone.

use crate::world::{Message, World, sequences};
use interwire_exchange::{Lease, PlaceId, RETENTION, Record, Settle};
use protocol::Code;

/// Three messages for `agent:b`: the first dead, the second held, the third waiting; and one more for
/// `agent:c` behind them.
fn world() -> (World, Vec<Lease>) {
    let mut world = World::new();
    for id in ["m1", "m2", "m3"] {
        world.publish(Message::new(id, &["agent:b"]));
    }
    world.publish(Message::new("m4", &["agent:c"]));
    let place = world.inbox("agent:b").unwrap();
    let leases = world.pull(place, 2);
    let no = Settle::Reject {
        reason: "no".into(),
    };
    world.settle(&[leases[0].id()], no);
    (world, leases)
}

fn let_go(world: &mut World, first: u64) -> Vec<Record> {
    let (now, mut from, mut records) = (world.now, Some(PlaceId(0)), Vec::new());
    while let Some(place) = from {
        let looked = world.exchange.let_go_before(now, first, place, 1);
        world.append_all(&looked.found.records);
        records.extend(looked.found.records);
        from = looked.next;
    }
    records
}

#[test]
fn what_is_owed_is_named_wherever_it_is() {
    let (mut world, leases) = world();
    assert_eq!(
        world.exchange.oldest_owed(),
        Some(1),
        "a dead letter is owed"
    );
    let place = world.inbox("agent:b").unwrap();
    assert!(
        world
            .exchange
            .drop_dead_letter(world.now, place, 1)
            .is_some()
    );
    assert_eq!(
        world.exchange.oldest_owed(),
        Some(2),
        "what is held is owed"
    );
    world.ack(&leases[1..]);
    assert_eq!(world.exchange.oldest_owed(), Some(3), "what waits is owed");
    let one = world.exchange.oldest_owed_from(PlaceId(1), 1);
    assert_eq!((one.found, one.next), (Some(4), None));
}

#[test]
fn old_messages_are_let_go_of_in_every_state_also_after_a_restart() {
    let (mut world, leases) = world();
    let records = let_go(&mut world, 4);
    let [
        Record::Ended {
            reason,
            sequences: gone,
            ..
        },
    ] = records.as_slice()
    else {
        panic!("expected one end for one place, got {records:?}");
    };
    assert_eq!((&**reason, gone.as_slice()), (RETENTION, &[1, 2, 3][..]));
    assert_eq!(
        world.settle(&[leases[1].id()], Settle::Ack).0,
        [Some(Code::LeaseLost)]
    );
    for mut world in [world.rebuilt(), world] {
        let counts = world.exchange.counts();
        assert_eq!((counts.waiting, counts.leased, counts.dead), (1, 0, 0));
        assert_eq!(world.exchange.oldest_owed(), Some(4));
        let place = world.inbox("agent:c").unwrap();
        assert_eq!(sequences(&world.pull(place, 9)), [4]);
        assert_eq!(let_go(&mut world, 4), []);
    }
}
