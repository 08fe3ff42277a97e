//! Durable subscriptions by name.

use crate::world::{Message, World, filter, sequences};
use interwire_exchange::{PlaceName, Settings};
use protocol::{Code, Party};

#[test]
fn the_same_subscription_again_is_confirmed_without_a_record() {
    let mut world = World::new();
    let id = world.subscribe("s", filter([("type", "a"), ("type", "b")]), None);
    let (view, record) = world
        .exchange
        .put_subscription("s", filter([("type", "b"), ("types", "a")]), None, None)
        .unwrap();
    assert_eq!((view.id, record), (id, None));
    assert_eq!(world.exchange.subscriptions(), [view]);
    assert_eq!(
        world.exchange.place(&PlaceName::Subscription("s".into())),
        Some(id)
    );
    assert_eq!(
        world.exchange.place_name(id),
        Some(&PlaceName::Subscription("s".into()))
    );
}

#[test]
fn a_name_stands_for_one_subscription() {
    let mut world = World::new();
    world.subscribe("s", filter([("type", "a")]), None);
    let put = |world: &mut World, kind, deliver_to: Option<&str>| {
        world
            .exchange
            .put_subscription(
                "s",
                filter([("type", kind)]),
                deliver_to.map(Party::parse),
                None,
            )
            .unwrap_err()
            .code()
    };
    assert_eq!(put(&mut world, "b", None), Code::SubscriptionConflict);
    assert_eq!(
        put(&mut world, "a", Some("agent:b")),
        Code::SubscriptionConflict
    );
}

#[test]
fn bad_names_parties_and_unknown_subscriptions_are_refused() {
    let mut world = World::new();
    let put = |world: &mut World, name: &str, to: Option<&str>| {
        world
            .exchange
            .put_subscription(name, filter([]), to.map(Party::parse), None)
            .unwrap_err()
            .code()
    };
    assert_eq!(put(&mut world, "", None), Code::TooShort);
    assert_eq!(put(&mut world, &"x".repeat(256), None), Code::TooLong);
    assert_eq!(
        put(&mut world, "s", Some("bus:ops")),
        Code::IdentityMalformed
    );
    assert_eq!(
        put(&mut world, "s", Some("agent.x.*")),
        Code::IdentityMalformed
    );
    assert_eq!(
        world.exchange.remove_subscription("s").unwrap_err().code(),
        Code::NotFound
    );
    assert_eq!(world.exchange.counts().subscriptions, 0);
}

#[test]
fn a_subscription_gets_what_comes_after_it() {
    let mut world = World::new();
    world.publish(Message::new("m1", &[]));
    let place = world.subscribe("s", filter([]), None);
    let after = world.publish(Message::new("m2", &[])).sequence;
    assert_eq!(sequences(&world.pull(place, 9)), [after]);
    let views = world.exchange.subscriptions();
    assert_eq!((views[0].waiting, views[0].leased), (0, 1));
}

#[test]
fn what_came_from_where_a_subscription_leads_does_not_go_back_also_after_a_restart() {
    let mut world = World::new();
    let there = world.subscribe("there", filter([]), None);
    let here = world.subscribe("here", filter([]), None);
    let message = Message::new("m1", &["agent:b"]);
    let header = std::sync::Arc::new(message.header);
    let (now, sequence) = (world.now, world.next_sequence());
    let publication = world
        .exchange
        .publish_from(now, sequence, header, message.envelope, Some("there"))
        .unwrap();
    world.append(publication.record.as_ref().unwrap());
    let mut rebuilt = world.rebuilt();
    for world in [&mut world, &mut rebuilt] {
        assert_eq!(sequences(&world.pull(there, 9)), [0; 0]);
        assert_eq!(sequences(&world.pull(here, 9)), [sequence]);
    }
}

#[test]
fn a_name_can_be_used_again_for_a_new_place() {
    let mut world = World::new();
    let old = world.subscribe("s", filter([("type", "a")]), None);
    world.unsubscribe("s");
    let new = world.subscribe("s", filter([]), None);
    assert_ne!(old, new);
    assert_eq!(world.publish(Message::new("m1", &[])).wake, [new]);
}

#[test]
fn places_are_limited() {
    let mut world = World::with(Settings {
        places_max: 2,
        ..Settings::default()
    });
    world.subscribe("one", filter([]), None);
    let refused = world
        .exchange
        .put_subscription("two", filter([]), Some(Party::parse("agent:b")), None)
        .unwrap_err();
    assert_eq!(refused.code(), Code::Overloaded);
    world.subscribe("two", filter([]), None);
    world.unsubscribe("one");
    world.subscribe("three", filter([]), None);
}
