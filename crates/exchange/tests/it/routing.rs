//! Who gets a message, and the lines of the receipt.

use crate::world::{Message, World, filter};
use interwire_exchange::{RecipientState, Settings};
use protocol::{Act, Code, DialectName, Intake, Party};

fn stored(parties: &[&str]) -> Vec<(Party, RecipientState)> {
    parties
        .iter()
        .map(|text| (Party::parse(text), RecipientState::Stored))
        .collect()
}

#[test]
fn a_party_gets_an_inbox_with_its_first_message() {
    let mut world = World::new();
    assert_eq!(world.inbox("agent:b"), None);
    let publication = world.publish(Message::new("m1", &["agent:b", "human:c"]));
    assert_eq!(publication.recipients, stored(&["agent:b", "human:c"]));
    let inboxes = [
        world.inbox("agent.b").unwrap(),
        world.inbox("human:c").unwrap(),
    ];
    assert_eq!(publication.wake, inboxes);
    assert_eq!(world.pull_inbox("agent:b"), [1]);
    assert_eq!(world.pull_inbox("human:c"), [1]);
}

#[test]
fn a_channel_has_no_inbox_and_reaches_its_subscribers() {
    let mut world = World::new();
    let watch = world.subscribe("watch", filter([("target", "bus.ops")]), None);
    world.subscribe("other", filter([("target", "bus.dev")]), None);
    let publication = world.publish(Message::new("m1", &["bus:ops", "group:x"]));
    assert_eq!(publication.recipients, stored(&["bus:ops", "group:x"]));
    assert_eq!(publication.wake, [watch]);
    assert_eq!(world.inbox("bus:ops"), None);
}

#[test]
fn an_event_to_a_wildcard_reaches_known_inboxes_but_not_its_sender() {
    let mut world = World::new();
    world.publish(Message::new(
        "m1",
        &[
            "agent:b",
            "human:h",
            "agent:c",
            "agent:a",
            "x:y",
            "agent:t.1",
        ],
    ));
    let lines =
        |world: &mut World, id: &str, to: &[&str]| world.publish(Message::new(id, to)).recipients;
    assert_eq!(
        lines(&mut world, "m2", &["agent.*"]),
        stored(&["agent:b", "agent:c", "agent:t.1"])
    );
    assert_eq!(
        lines(&mut world, "m3", &["agent.t.*"]),
        stored(&["agent:t.1"])
    );
    assert_eq!(lines(&mut world, "m4", &["x:*"]), stored(&["x:y"]));
    // Named parties come first, whatever the order; none comes twice.
    assert_eq!(
        lines(&mut world, "m5", &["agent.*", "bus:ops", "agent:c"]),
        stored(&["bus:ops", "agent:c", "agent:b", "agent:t.1"])
    );
    assert_eq!(lines(&mut world, "m6", &["*"]).len(), 5);
    assert_eq!(world.inbox("agent:*"), None);
}

#[test]
fn only_an_event_may_name_a_wildcard() {
    let mut world = World::new();
    for (dialect, pointer) in [(DialectName::Aee, "/to"), (DialectName::Aep, "/target")] {
        let task = Message::new("m1", &["agent.*"]).with(|header| {
            header.act = Act::Request;
            header.dialect = dialect;
        });
        assert_eq!(
            world.refusal(task),
            (Code::IdentityMalformed, pointer.into())
        );
    }
    assert_eq!(world.exchange.counts().inboxes, 0);
}

#[test]
fn each_place_gets_one_copy_however_many_ways_lead_there() {
    let mut world = World::new();
    world.subscribe("by-type", filter([("type", "agent.*")]), Some("agent:b"));
    world.subscribe(
        "by-target",
        filter([("target", "agent:b")]),
        Some("agent:b"),
    );
    let own = world.subscribe(
        "own",
        filter([("type", "agent.*"), ("type", "*.ready")]),
        None,
    );
    let publication = world.publish(Message::new("m1", &["agent:b"]));
    assert_eq!(publication.wake, [world.inbox("agent:b").unwrap(), own]);
    assert_eq!(world.pull_inbox("agent:b"), [world.journal.len() as u64]);
}

#[test]
fn one_copy_each_holds_for_many_places() {
    let mut world = World::new();
    let parties: Vec<String> = (0..100).map(|n| format!("agent:p{n}")).collect();
    for party in &parties {
        world.subscribe(party, filter([("type", "*")]), Some(party));
        world.subscribe(&format!("{party}-2"), filter([("topic", "t")]), Some(party));
    }
    let names: Vec<&str> = parties.iter().map(String::as_str).collect();
    let message = Message::new("m1", &names[..50]).with(|header| header.topics = vec!["t".into()]);
    assert_eq!(world.publish(message).wake.len(), 100);
    assert_eq!(world.exchange.counts().waiting, 100);
}

#[test]
fn a_broadcast_without_recipients_reaches_subscribers_only() {
    let mut world = World::new();
    let all = world.subscribe("all", filter([]), None);
    let publication = world.publish(Message::new("m1", &[]));
    assert_eq!(
        (publication.recipients.len(), publication.wake),
        (0, vec![all])
    );
}

#[test]
fn the_log_intake_delivers_to_nobody_but_is_seen_live() {
    let mut world = World::new();
    world.subscribe("all", filter([]), None);
    let channel = world.exchange.listen(filter([]));
    let message = Message::new("m1", &["agent:b"]).with(|header| header.intake = Intake::Log);
    let publication = world.publish(message);
    assert!(publication.recipients.is_empty() && publication.wake.is_empty());
    assert_eq!(publication.channels, [channel]);
    assert_eq!(world.inbox("agent:b"), None);
}

#[test]
fn too_many_places_refuse_the_message_whole() {
    let mut world = World::with(Settings {
        fan_out_max: 2,
        ..Settings::default()
    });
    let three = Message::new("m1", &["agent:b", "agent:c", "agent:d"]);
    assert_eq!(world.refusal(three), (Code::TooManyTargets, String::new()));
    assert_eq!(world.exchange.counts(), World::new().exchange.counts());
    world.publish(Message::new("m1", &["agent:b", "agent:c"]));
}

#[test]
fn recipients_without_room_for_an_inbox_are_refused_alone_unless_all_are() {
    let mut world = World::with(Settings {
        places_max: 2,
        ..Settings::default()
    });
    let publication = world.publish(Message::new("m1", &["agent:b", "agent:c", "agent:d"]));
    let states: Vec<_> = publication
        .recipients
        .iter()
        .map(|(_, state)| *state)
        .collect();
    assert_eq!(
        states,
        [
            RecipientState::Stored,
            RecipientState::Stored,
            RecipientState::Refused
        ]
    );
    assert_eq!(
        world.refusal(Message::new("m2", &["agent:e"])).0,
        Code::Overloaded
    );
    assert_eq!(world.rebuilt().exchange.counts(), world.exchange.counts());
}
