//! Of several who claim one version of a resource one has it, and every other is told so.

use crate::world::{Message, World};
use interwire_exchange::{Exchange, Publication, RecipientState};
use proptest::prelude::*;
use protocol::dialect::uai::build::{Agent, Envelope, Heading, Message as Text};
use protocol::json::{Limits, read};
use protocol::{Card, Party};
use std::collections::{BTreeMap, BTreeSet};

fn agent(party: &str) -> Agent {
    let (kind, name) = party.split_once(':').unwrap();
    Agent::new(kind, name)
}

fn heading(world: &World, id: &str, from: &str, to: &str) -> Heading {
    Heading {
        id: id.into(),
        issued_at: world.now,
        source: agent(from),
        target: agent(to),
        conversation: "C".into(),
    }
}

fn claim_record(resource: &str, base: &str, operation: &str) -> String {
    format!(r#"{{"resource":"{resource}","base_version":{base},"operation":"{operation}"}}"#)
}

/// A message to `agent:worker` that claims or releases these.
fn claiming(world: &World, id: &str, from: &str, claims: &[(&str, &str, &str)]) -> Message {
    let text = Text::new("inform", "mine");
    let envelope = text.envelope(heading(world, id, from, "agent:worker"));
    let envelope = claims
        .iter()
        .fold(envelope, |envelope, (name, base, what)| {
            envelope.extension("urn:uai:ext:claim", &claim_record(name, base, what))
        });
    read_envelope(world, &envelope)
}

fn resolving(world: &World, id: &str, from: &str, blocker: &str, decision: &str) -> Message {
    let body = format!(
        r#"{{"intent":"resolve_blocker","subject":"conflict","parameters":{{"blocker_id":"{blocker}","decision":"{decision}"}}}}"#
    );
    let heading = heading(world, id, from, "service:interwire");
    read_envelope(
        world,
        &Envelope::new("uai.intent.request.v1", body, heading),
    )
}

fn correcting(world: &World, id: &str, from: &str, message: &str) -> Message {
    let body = format!(
        r#"{{"correction_id":"c-{id}","corrects_message_id":"{message}","reason":"too late","corrected_fields":{{}},"support_boundary":"Record only."}}"#
    );
    let heading = heading(world, id, from, "agent:worker");
    read_envelope(
        world,
        &Envelope::new("uai.agent.correction.v1", body, heading),
    )
}

fn read_envelope(world: &World, envelope: &Envelope) -> Message {
    Message::read(&envelope.write().unwrap(), world.now)
}

/// Publishes, and what the exchange has to say about it; the texts of that.
fn say(world: &mut World, message: Message) -> (Publication, Vec<String>) {
    let publication = world.publish(message);
    let words: Vec<_> = publication
        .then
        .speak
        .iter()
        .map(|word| String::from_utf8(word.to_vec()).unwrap())
        .collect();
    for word in &words {
        world.publish(Message::read(word, world.now));
    }
    (publication, words)
}

fn member(text: &str, pointer: &str) -> String {
    let limits = Limits {
        bytes_max: usize::MAX,
        depth_max: 64,
    };
    let document = read(text.as_bytes(), limits).unwrap();
    let value = document.root().at(pointer).unwrap();
    value.as_str().unwrap().into_owned()
}

fn states(publication: &Publication) -> Vec<RecipientState> {
    publication
        .recipients
        .iter()
        .map(|(_, state)| *state)
        .collect()
}

#[test]
fn the_first_claim_has_the_resource_and_the_second_gets_a_blocker_that_names_the_winner() {
    let mut world = World::new();
    let first = claiming(&world, "m-1", "agent:a", &[("plan", "7", "write")]);
    let (won, words) = say(&mut world, first);
    assert_eq!(states(&won), [RecipientState::Stored]);
    assert_eq!(words.len(), 1);
    assert_eq!(member(&words[0], "/body/ack_status"), "accepted");
    assert_eq!(
        member(&words[0], "/body/reason"),
        "the claim is accepted: plan is at version 8"
    );
    let second = claiming(&world, "m-2", "agent:b", &[("plan", "7", "write")]);
    let (lost, words) = say(&mut world, second);
    assert_eq!(
        states(&lost),
        [RecipientState::Refused],
        "it goes to nobody"
    );
    assert_eq!(world.pull_inbox("agent:worker"), [won.sequence]);
    assert_eq!(words.len(), 2);
    assert_eq!(member(&words[0], "/body/ack_status"), "rejected");
    assert_eq!(
        member(&words[0], "/body/reason"),
        "memory_conflict_unresolved"
    );
    assert_eq!(member(&words[1], "/profile"), "uai.agent.blocker.v1");
    assert_eq!(member(&words[1], "/target/id"), "b");
    assert_eq!(member(&words[1], "/body/blocker_type"), "other");
    assert_eq!(
        member(&words[1], "/body/description"),
        "conflict: plan is at version 8, since message m-1 of agent:a; the claim was based on version 7."
    );
    assert_eq!(member(&words[1], "/body/related_message_ids/0"), "m-2");
    assert_eq!(member(&words[1], "/body/related_message_ids/1"), "m-1");
    assert_eq!(world.exchange.counts().blockers_open, 1);
    let anew = claiming(&world, "m-3", "agent:b", &[("plan", "8", "write")]);
    let (won, _) = say(&mut world, anew);
    assert_eq!(states(&won), [RecipientState::Stored]);
    assert_eq!(world.exchange.counts().blockers_open, 0);
}

#[test]
fn who_knows_the_word_conflict_reads_it() {
    let mut world = World::new();
    let card = Card::restore(r#"{"features":["ma.blocker_conflict"]}"#).unwrap();
    let put = world
        .exchange
        .put_card(world.now, &Party::parse("agent:b"), card);
    world.append_all(&put.unwrap().1.records);
    let first = claiming(&world, "m-1", "agent:a", &[("plan", "1", "write")]);
    say(&mut world, first);
    let second = claiming(&world, "m-2", "agent:b", &[("plan", "1", "write")]);
    let (_, words) = say(&mut world, second);
    assert_eq!(member(&words[1], "/body/blocker_type"), "conflict");
    assert!(member(&words[1], "/body/description").starts_with("plan is at version 2"));
}

#[test]
fn a_message_has_all_that_it_claims_or_nothing() {
    let mut world = World::new();
    let one = claiming(&world, "m-1", "agent:a", &[("one", "1", "write")]);
    say(&mut world, one);
    let both = [("two", "1", "write"), ("one", "1", "write")];
    let both = claiming(&world, "m-2", "agent:b", &both);
    let (lost, _) = say(&mut world, both);
    assert_eq!(states(&lost), [RecipientState::Refused]);
    let two = claiming(&world, "m-3", "agent:c", &[("two", "1", "write")]);
    let (won, _) = say(&mut world, two);
    assert_eq!(states(&won), [RecipientState::Stored]);
}

#[test]
fn a_claim_that_is_sent_again_is_the_same_claim_and_is_answered_again() {
    let mut world = World::new();
    let first = claiming(&world, "m-1", "agent:a", &[("plan", "1", "write")]);
    let key = first.header.idempotency_key.clone();
    let (_, words) = say(&mut world, first.clone());
    let (again, same) = say(&mut world, first);
    assert!(again.duplicate);
    assert_eq!(same, words);
    let second = claiming(&world, "m-2", "agent:b", &[("plan", "1", "write")]);
    let (_, words) = say(&mut world, second.clone());
    let (again, same) = say(&mut world, second);
    assert!(again.duplicate);
    assert_eq!(same, words);
    assert_eq!(world.exchange.counts().blockers_open, 1);
    // The key is what counts, whoever else the copy is for.
    let copy = claiming(&world, "m-1b", "agent:a", &[("plan", "1", "write")]).with(|header| {
        header.idempotency_key = key;
        header.recipients = vec![Party::parse("agent:other")];
    });
    let (other, words) = say(&mut world, copy);
    assert_eq!(states(&other), [RecipientState::Stored]);
    assert_eq!(words, Vec::<String>::new());
}

#[test]
fn who_gives_a_resource_up_tells_those_who_wait_and_nobody_else_can() {
    let mut world = World::new();
    let take = claiming(&world, "m-1", "agent:a", &[("plan", "1", "write")]);
    say(&mut world, take);
    let late = claiming(&world, "m-2", "agent:b", &[("plan", "1", "write")]);
    say(&mut world, late);
    let others = claiming(&world, "m-3", "agent:c", &[("plan", "2", "release")]);
    let (refused, _) = say(&mut world, others);
    assert_eq!(states(&refused), [RecipientState::Refused]);
    let release = claiming(&world, "m-4", "agent:a", &[("plan", "2", "release")]);
    let (_, words) = say(&mut world, release);
    let told: Vec<_> = words
        .iter()
        .map(|word| member(word, "/target/id"))
        .collect();
    assert_eq!(told, ["a", "b", "c"]);
    assert_eq!(member(&words[1], "/body/content"), "agent:a released plan.");
    let anew = claiming(&world, "m-5", "agent:b", &[("plan", "2", "write")]);
    let (won, _) = say(&mut world, anew);
    assert_eq!(states(&won), [RecipientState::Stored]);
}

#[test]
fn a_human_ends_a_conflict_and_may_give_the_resource_to_who_lost() {
    let mut world = World::new();
    let take = claiming(&world, "m-1", "agent:a", &[("plan", "1", "write")]);
    say(&mut world, take);
    let late = claiming(&world, "m-2", "agent:b", &[("plan", "1", "write")]);
    let (_, words) = say(&mut world, late);
    let blocker = member(&words[1], "/body/blocker_id");
    let agents = resolving(&world, "r-1", "agent:a", &blocker, "grant");
    let (_, words) = say(&mut world, agents);
    assert_eq!(words, Vec::<String>::new(), "only a human can");
    assert_eq!(world.exchange.counts().blockers_open, 1);
    let human = resolving(&world, "r-2", "human:eve", &blocker, "grant");
    let (_, words) = say(&mut world, human);
    assert_eq!(member(&words[0], "/body/status"), "completed");
    assert_eq!(member(&words[0], "/body/result/decision"), "grant");
    assert_eq!(member(&words[1], "/target/id"), "b");
    assert!(member(&words[1], "/body/content").ends_with("it is yours, at version 3."));
    assert_eq!(world.exchange.counts().blockers_open, 0);
    let twice = resolving(&world, "r-3", "human:eve", &blocker, "keep");
    let (_, words) = say(&mut world, twice);
    assert_eq!(member(&words[0], "/body/status"), "rejected");
}

#[test]
fn a_handoff_that_loses_opens_no_task() {
    let mut world = World::new();
    let take = claiming(&world, "m-1", "agent:a", &[("plan", "1", "write")]);
    say(&mut world, take);
    let handoff = protocol::dialect::uai::build::Handoff::new("T", "c", "r", "do");
    let handoff = handoff
        .envelope(heading(&world, "m-2", "agent:b", "agent:worker"))
        .extension("urn:uai:ext:claim", &claim_record("plan", "1", "write"));
    let handoff = read_envelope(&world, &handoff);
    say(&mut world, handoff);
    assert_eq!(world.exchange.task("T"), None);
    assert_eq!(world.rebuilt().exchange.task("T"), None);
}

#[test]
fn a_blocker_that_a_crash_swallowed_is_said_after_the_start() {
    let mut world = World::new();
    let take = claiming(&world, "m-1", "agent:a", &[("plan", "1", "write")]);
    say(&mut world, take);
    let late = claiming(&world, "m-2", "agent:b", &[("plan", "1", "write")]);
    // The record is in the journal, the words are not.
    world.publish(late);
    let snapshot = world.rebuilt().exchange.snapshot();
    let restored = Exchange::restore(world.settings.clone(), &snapshot).unwrap();
    for mut after in [world.rebuilt(), world.after_restart(restored)] {
        assert!(after.exchange.next_deadline().unwrap() <= after.now);
        let said = after.expire().speak;
        assert_eq!(said.len(), 2);
        assert_eq!(after.exchange.next_deadline(), None);
        assert_eq!(after.rebuilt().exchange.next_deadline(), None);
        let again = after.rebuilt().expire().speak;
        assert!(again.is_empty());
    }
}

#[test]
fn what_is_too_long_is_refused() {
    let mut world = World::new();
    let name = "n".repeat(513);
    let long = claiming(&world, "m-1", "agent:a", &[(&name, "1", "write")]);
    assert_eq!(world.refusal(long).0, protocol::Code::TooLong);
    let names: Vec<_> = (0..17).map(|n| format!("r{n}")).collect();
    let many: Vec<_> = names.iter().map(|name| (&**name, "1", "write")).collect();
    let many = claiming(&world, "m-2", "agent:a", &many);
    assert_eq!(world.refusal(many).0, protocol::Code::TooLong);
}

/// What everybody would write down.
#[derive(Default)]
struct Oracle {
    /// Version and who has it.
    resources: BTreeMap<usize, (i64, Option<usize>)>,
    /// Who waits for what, with which message.
    open: BTreeSet<(usize, usize, usize)>,
}

#[derive(Clone, Debug)]
enum Step {
    /// By whom, what, how far the base is from the version, whether it gives it up.
    Claim(usize, usize, i64, bool),
    /// The human, about the n-th open conflict, in favour of who lost or not.
    Resolve(usize, bool),
    /// Of who lost the n-th open conflict.
    Correct(usize),
    Restart(bool),
}

fn step() -> impl Strategy<Value = Step> {
    let behind = prop_oneof![3 => Just(0), 1 => Just(-1), 1 => Just(1)];
    prop_oneof![
        8 => (0..4_usize, 0..3_usize, behind, prop::bool::weighted(0.2))
            .prop_map(|(who, what, off, gives)| Step::Claim(who, what, off, gives)),
        1 => (any::<usize>(), any::<bool>()).prop_map(|(n, grants)| Step::Resolve(n, grants)),
        1 => any::<usize>().prop_map(Step::Correct),
        1 => any::<bool>().prop_map(Step::Restart),
    ]
}

fn check(steps: Vec<Step>) {
    let mut world = World::new();
    let mut oracle = Oracle::default();
    let mut blockers: BTreeMap<usize, String> = BTreeMap::new();
    for (n, step) in steps.into_iter().enumerate() {
        let id = format!("m-{n}");
        match step {
            Step::Claim(who, what, off, gives) => {
                let held = oracle.resources.get(&what).copied();
                let base = held.map_or(5, |(version, _)| version) + off;
                let wins = match held {
                    None => !gives,
                    Some((version, by)) => version == base && (!gives || by == Some(who)),
                };
                let text = base.to_string();
                let operation = if gives { "release" } else { "write" };
                let claims = [(["x", "y", "z"][what], &*text, operation)];
                let message = claiming(&world, &id, &format!("agent:p{who}"), &claims);
                let (publication, words) = say(&mut world, message);
                let won = states(&publication) == [RecipientState::Stored];
                assert_eq!(won, wins, "{id}");
                match (wins, gives) {
                    (true, false) => {
                        oracle.resources.insert(what, (base + 1, Some(who)));
                        oracle.open.retain(|(of, by, _)| (*of, *by) != (what, who));
                    }
                    (true, true) => {
                        oracle.resources.insert(what, (base, None));
                    }
                    (false, _) => {
                        oracle.open.insert((what, who, n));
                        let word = words.last().unwrap();
                        assert_eq!(member(word, "/target/id"), format!("p{who}"));
                        blockers.insert(n, member(word, "/body/blocker_id"));
                    }
                }
            }
            Step::Resolve(nth, grants) => {
                let Some(open) = oracle
                    .open
                    .iter()
                    .copied()
                    .nth(nth % oracle.open.len().max(1))
                else {
                    continue;
                };
                oracle.open.remove(&open);
                let (what, who, of) = open;
                let decision = if grants { "grant" } else { "keep" };
                let human = resolving(&world, &id, "human:h", &blockers[&of], decision);
                say(&mut world, human);
                if let Some((version, by)) = oracle.resources.get_mut(&what)
                    && grants
                {
                    (*version, *by) = (*version + 1, Some(who));
                }
            }
            Step::Correct(nth) => {
                let Some(open) = oracle
                    .open
                    .iter()
                    .copied()
                    .nth(nth % oracle.open.len().max(1))
                else {
                    continue;
                };
                oracle.open.remove(&open);
                let (_, who, of) = open;
                let message = format!("m-{of}");
                let from = format!("agent:p{who}");
                let correction = correcting(&world, &id, &from, &message);
                say(&mut world, correction);
            }
            Step::Restart(is_from_snapshot) => {
                let rebuilt = world.rebuilt();
                world = if is_from_snapshot {
                    let bytes = rebuilt.exchange.snapshot();
                    let restored = Exchange::restore(world.settings.clone(), &bytes).unwrap();
                    assert_eq!(restored.snapshot(), bytes);
                    world.after_restart(restored)
                } else {
                    rebuilt
                };
            }
        }
        assert_eq!(world.exchange.counts().blockers_open, oracle.open.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]
    #[test]
    fn claims_go_as_everybody_would_write_them_down(
        steps in prop::collection::vec(step(), 1..40)
    ) {
        check(steps);
    }
}
