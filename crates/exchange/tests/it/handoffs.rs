//! Handoffs to several, where not all do the work and not all hear of it in one message; proposals.

use crate::world::{Message, World};
use interwire_exchange::{Exchange, Settings};
use protocol::TaskState::{self, Accepted, Cancelled, Completed, Submitted};
use protocol::dialect::uai::build::{Ack, Agent, Envelope, Handoff, Heading};
use protocol::dialect::uai::carriage::{By, Carriage, carry};
use protocol::json::{Limits, read};

fn heading(world: &World, id: &str, from: &str, to: &str) -> Heading {
    Heading {
        id: id.into(),
        issued_at: world.now,
        source: Agent::new("agent", from),
        target: Agent::new("agent", to),
        conversation: "C".into(),
    }
}

fn message(world: &World, envelope: &Envelope) -> Message {
    Message::read(&envelope.write().unwrap(), world.now)
}

fn handoff(world: &World, assigned: &[&str]) -> Envelope {
    let envelope = Handoff::new("T", "c", "r", "do")
        .envelope(heading(world, "m-1", "boss", "w1"))
        .also_to(Agent::new("agent", "w2"));
    let one = |name: &&str| format!(r#"{{"agent_id":"{name}","exact_next_action":"do"}}"#);
    let list: Vec<_> = assigned.iter().map(one).collect();
    match list.is_empty() {
        true => envelope,
        false => envelope.extension(
            "urn:uai:ext:assignment",
            &format!(r#"{{"assignments":[{}]}}"#, list.join(",")),
        ),
    }
}

fn accept(world: &World, id: &str, from: &str, of: &str) -> Message {
    let heading = heading(world, id, from, "boss");
    message(
        world,
        &Ack::new(of, "accepted", world.now)
            .envelope(heading)
            .reply_to(of),
    )
}

fn report(world: &World, id: &str, from: &str, task: &str, outcome: &str, of: &str) -> Message {
    let body = format!(
        r#"{{"task_id":"{task}","outcome":"{outcome}","summary":"all that was asked is done","evidence_refs":["urn:e"],"support_boundary":"Record only."}}"#
    );
    let heading = heading(world, id, from, "boss");
    let envelope = Envelope::new("uai.agent.final-report.v1", body, heading).reply_to(of);
    message(world, &envelope)
}

/// Where each stands; the same after a restart, from records and from a snapshot.
fn parts(world: &World, task: &str) -> Vec<(String, TaskState)> {
    let view = world.exchange.task(task).unwrap();
    let rebuilt = world.rebuilt().exchange;
    assert_eq!(rebuilt.task(task), Some(view.clone()));
    let restored = Exchange::restore(Settings::default(), &rebuilt.snapshot()).unwrap();
    assert_eq!(restored.task(task), Some(view.clone()));
    let name = |party: Option<protocol::Party>| party.map_or(String::new(), |p| p.name().into());
    view.parts
        .into_iter()
        .map(|part| (name(part.party), part.state))
        .collect()
}

fn part(name: &str, state: TaskState) -> (String, TaskState) {
    (name.into(), state)
}

#[test]
fn who_is_assigned_nothing_hears_of_a_handoff_and_cannot_end_it() {
    let mut world = World::new();
    let envelope = handoff(&world, &["w1"]);
    let publication = world.publish(message(&world, &envelope));
    assert_eq!(publication.recipients.len(), 2, "both get it");
    assert_eq!(parts(&world, "T"), [part("w1", Submitted)]);
    world.publish(accept(&world, "a-2", "w2", "m-1"));
    world.publish(report(&world, "r-2", "w2", "T", "completed", "m-1"));
    assert_eq!(parts(&world, "T"), [part("w1", Submitted)]);
    world.publish(accept(&world, "a-1", "w1", "m-1"));
    assert_eq!(parts(&world, "T"), [part("w1", Accepted)]);
    world.publish(report(&world, "r-1", "w1", "T", "completed", "m-1"));
    assert_eq!(world.exchange.task("T").unwrap().state, Completed);
}

#[test]
fn a_handoff_in_copies_does_not_end_before_its_last_copy_has_come() {
    let mut world = World::new();
    let native = handoff(&world, &["w1", "w2"]).write().unwrap();
    let document = read(native.as_bytes(), Limits::default()).unwrap();
    let copies = carry(document.root(), Carriage::Split, By::Sender).unwrap();
    let [first, second] = [0, 1].map(|at: usize| Message::read(&copies[at], world.now));
    let ids = [&first, &second].map(|one| one.header.id.clone());
    world.publish(first);
    assert_eq!(
        parts(&world, "T"),
        [part("w1", Submitted), part("", Submitted)]
    );
    world.publish(report(&world, "r-1", "w1", "T", "completed", &ids[0]));
    assert_eq!(world.exchange.task("T").unwrap().state, Submitted);
    world.publish(second);
    assert_eq!(
        parts(&world, "T"),
        [part("w1", Completed), part("w2", Submitted)]
    );
    world.publish(report(&world, "r-2", "w2", "T", "completed", &ids[1]));
    assert_eq!(world.exchange.task("T").unwrap().state, Completed);
    assert_eq!(
        parts(&world, "T"),
        [part("w1", Completed), part("w2", Completed)]
    );
}

#[test]
fn a_proposal_is_under_review_once_its_curator_accepts_it_and_a_report_decides() {
    for (outcome, end) in [("completed", Completed), ("cancelled", Cancelled)] {
        let mut world = World::new();
        let body = r#"{"proposal_id":"P","source_type":"task_evidence","proposed_facts":["f"],"proposed_status":"pending_review","task_execution_separation":true,"review_required":true,"support_boundary":"Record only.","evidence_refs":["urn:e"]}"#;
        let heading = heading(&world, "m-1", "author", "curator");
        let proposal = Envelope::new("uai.agent.memory-proposal.v1", body.into(), heading);
        let proposal = message(&world, &proposal);
        world.publish(proposal);
        assert_eq!(parts(&world, "P"), [part("curator", Submitted)]);
        world.publish(accept(&world, "a-1", "curator", "m-1"));
        assert_eq!(parts(&world, "P"), [part("curator", Accepted)]);
        world.publish(report(&world, "r-1", "curator", "P", outcome, "m-1"));
        assert_eq!(parts(&world, "P"), [part("curator", end)]);
    }
}
