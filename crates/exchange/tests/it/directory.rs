//! Cards are found by what they say, survive a rebuild, and presence follows the words of an agent.

use crate::world::{Message, World};
use interwire_exchange::{AgentQuery, CardSource, DirectoryLimits, Presence, Record, Settings};
use protocol::{Card, Code, DialectName, Party};

fn card(text: &str) -> Card {
    Card::read(text.as_bytes(), 1 << 16).unwrap()
}

fn put(world: &mut World, party: &str, text: &str) -> bool {
    let (is_new, outcome) = world
        .exchange
        .put_card(world.now, &Party::parse(party), card(text))
        .unwrap();
    world.append_all(&outcome.records);
    is_new
}

fn find(world: &World, query: &AgentQuery) -> Vec<String> {
    let found = world
        .exchange
        .agents(world.now, query, None, usize::MAX, &|_| false);
    found
        .iter()
        .map(|view| view.party.as_str().to_owned())
        .collect()
}

fn presence(world: &World, party: &str) -> Presence {
    let party = Party::parse(party);
    let view = world.exchange.agent(world.now, &party, &|_| false);
    view.unwrap().presence
}

fn skill(word: &str) -> AgentQuery {
    AgentQuery {
        skills: vec![word.into()],
        ..AgentQuery::default()
    }
}

const DECLARED: &str = r#"{"spec_version":"0.2","id":"evt_d1","type":"capabilities.declared","created_at":"2026-02-28T10:30:00Z","source":"agent:mcp","payload":{"protocol":"aep","features":["tool_calls"],"tools":[{"name":"read_file","description":"Reads"}]}}"#;

#[test]
fn the_same_card_twice_is_one_record_and_another_card_replaces_it() {
    let mut world = World::new();
    assert!(put(&mut world, "agent.b", r#"{"skills":[{"id":"cook"}]}"#));
    assert!(!put(
        &mut world,
        "agent:b",
        r#"{ "skills": [ {"id":"cook"} ] }"#
    ));
    assert_eq!(world.journal.len(), 1);
    assert!(!put(&mut world, "agent:b", r#"{"skills":[{"id":"bake"}]}"#));
    assert_eq!(find(&world, &skill("bake")), ["agent:b"]);
    assert!(find(&world, &skill("cook")).is_empty());
}

#[test]
fn what_was_listed_is_listed_after_a_rebuild_and_what_was_removed_is_not() {
    let mut world = World::new();
    put(&mut world, "agent:b", r#"{"skills":[{"id":"cook"}]}"#);
    put(&mut world, "agent:c", r#"{"skills":[{"id":"cook"}]}"#);
    world.publish(Message::read(DECLARED, world.now));
    let removed = world
        .exchange
        .remove_cards(world.now, &Party::parse("agent:c"))
        .unwrap();
    world.append_all(&removed.records);
    let mut rebuilt = world.rebuilt();
    rebuilt.exchange.start_at(rebuilt.now);
    assert_eq!(find(&rebuilt, &skill("cook")), find(&world, &skill("cook")));
    assert_eq!(find(&world, &skill("cook")), ["agent:b"]);
    assert_eq!(rebuilt.exchange.snapshot(), world.exchange.snapshot());
    assert_eq!(rebuilt.exchange.counts().agents, 2);
}

#[test]
fn what_an_agent_declares_is_listed_beside_what_was_registered() {
    let mut world = World::new();
    put(&mut world, "agent:mcp", r#"{"name":"Files"}"#);
    world.publish(Message::read(DECLARED, world.now));
    assert_eq!(find(&world, &skill("read_file")), ["agent:mcp"]);
    let party = Party::parse("agent:mcp");
    let view = world.exchange.agent(world.now, &party, &|_| false).unwrap();
    let sources: Vec<CardSource> = view.cards.iter().map(|(source, _)| *source).collect();
    let aep = CardSource::Announced(DialectName::Aep);
    assert_eq!(sources, [CardSource::Registered, aep]);
    let (kind, body) = world.journal.last().unwrap();
    let record = Record::decode(*kind, body).unwrap();
    assert!(matches!(record, Record::CardPut { source, .. } if source == aep));
}

#[test]
fn an_announcement_said_again_is_no_record() {
    let mut world = World::new();
    world.publish(Message::read(DECLARED, world.now));
    let count = world.journal.len();
    let again = DECLARED.replace("evt_d1", "evt_d2");
    world.publish(Message::read(&again, world.now));
    assert_eq!(world.journal.len(), count + 1);
}

#[test]
fn an_agent_is_online_then_stale_then_offline_and_comes_back_with_its_next_word() {
    let mut world = World::new();
    put(
        &mut world,
        "agent:a",
        r#"{"lease_ms":15000,"skills":[{"id":"cook"}]}"#,
    );
    assert_eq!(presence(&world, "agent:a"), Presence::Online);
    world.pass(7_499);
    assert_eq!(presence(&world, "agent:a"), Presence::Online);
    world.pass(1);
    assert_eq!(presence(&world, "agent:a"), Presence::Stale);
    assert_eq!(find(&world, &skill("cook")), ["agent:a"]);
    world.pass(7_500);
    assert_eq!(presence(&world, "agent:a"), Presence::Offline);
    assert!(find(&world, &skill("cook")).is_empty());
    let all = AgentQuery {
        presence: Presence::ALL.to_vec(),
        ..skill("cook")
    };
    assert_eq!(find(&world, &all), ["agent:a"]);
    world.publish(Message::new("m1", &["agent:x"]));
    assert_eq!(presence(&world, "agent:a"), Presence::Online);
}

#[test]
fn after_a_restart_nobody_is_offline_before_one_whole_lease() {
    let mut world = World::new();
    put(&mut world, "agent:a", r#"{"lease_ms":15000}"#);
    world.pass(3_600_000);
    assert_eq!(presence(&world, "agent:a"), Presence::Offline);
    let mut world = world.rebuilt();
    world.exchange.start_at(world.now);
    assert_eq!(presence(&world, "agent:a"), Presence::Stale);
    world.pass(14_999);
    assert_eq!(presence(&world, "agent:a"), Presence::Stale);
    world.pass(1);
    assert_eq!(presence(&world, "agent:a"), Presence::Offline);
}

#[test]
fn who_waits_for_messages_is_there() {
    let mut world = World::new();
    put(&mut world, "agent:a", r#"{"lease_ms":15000}"#);
    world.pass(3_600_000);
    let party = Party::parse("agent:a");
    let view = world.exchange.agent(world.now, &party, &|_| true).unwrap();
    assert_eq!(view.presence, Presence::Online);
    assert_eq!(view.last_seen, Some(world.now));
}

#[test]
fn the_directory_is_bounded_in_agents_and_bytes() {
    let directory = DirectoryLimits {
        agents_max: 1,
        card_bytes_max: 100,
        ..DirectoryLimits::default()
    };
    let mut world = World::with(Settings {
        directory,
        ..Settings::default()
    });
    put(&mut world, "agent:a", "{}");
    let mut refusal = |party: &str, text: &str| {
        let refused = world
            .exchange
            .put_card(world.now, &Party::parse(party), card(text));
        refused.unwrap_err().code()
    };
    assert_eq!(refusal("agent:b", "{}"), Code::Overloaded);
    let long = format!(r#"{{"description":"{}"}}"#, "x".repeat(100));
    assert_eq!(refusal("agent:a", &long), Code::TooLarge);
    for party in ["bus:x", "group:x", "agent:*"] {
        assert_eq!(refusal(party, "{}"), Code::IdentityMalformed, "{party}");
    }
    assert_eq!(refusal("service:interwire", "{}"), Code::ReservedSender);
}

#[test]
fn a_page_begins_after_a_name() {
    let mut world = World::new();
    for party in ["agent:a", "agent:b", "agent:c"] {
        put(&mut world, party, "{}");
    }
    let after = Party::parse("agent:a");
    let page = world
        .exchange
        .agents(world.now, &AgentQuery::default(), Some(&after), 1, &|_| {
            false
        });
    assert_eq!(page.len(), 1);
    assert_eq!(page[0].party.as_str(), "agent:b");
}
