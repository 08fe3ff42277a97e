//! What a reader writes about a translation, in its own dialect, is about the origin.

use interwire_protocol::dialect::aee::Aee;
use interwire_protocol::dialect::aep::Aep;
use interwire_protocol::dialect::uai::build::{Ack, Agent, Heading};
use interwire_protocol::translate::translate;
use interwire_protocol::{Act, DialectName, Timestamp};

use super::read;

const NOW: Timestamp = Timestamp::from_millis(1_772_274_600_000);

#[test]
fn a_reader_of_aee_answers_an_event_with_a_short_id() {
    let event = Aep::event("task.submitted", "harness:x")
        .target("someone")
        .conversation("c 1")
        .task("t1")
        .build("evt_1", NOW);
    let seen = translate(event.as_bytes(), DialectName::Aee).unwrap();
    let seen = read(&seen).header.unwrap();
    assert_eq!(
        (&*seen.id, seen.sender.as_str()),
        ("iw.name.evt_5f1", "harness:x")
    );
    let answer = Aee::result_of(&seen).build("01KJHX7SJ00000000000000000", NOW);
    let answer = read(&answer).header.unwrap();
    assert_eq!(answer.cause.as_deref(), Some("evt_1"));
    assert_eq!(answer.conversation.as_deref(), Some("c 1"));
    assert_eq!(answer.sender.as_str(), "someone");
    assert_eq!(answer.settles.unwrap().id.as_ref(), "evt_1");
}

#[test]
fn a_reader_of_uai_acknowledges_an_event_from_a_party_without_a_kind() {
    let event = Aep::event("agent.message.sent", "some one")
        .target("x/y")
        .build("evt 1", NOW);
    let seen = translate(event.as_bytes(), DialectName::Uai).unwrap();
    let document: serde_json::Value = serde_json::from_str(&seen).unwrap();
    let agent = |name: &str| {
        let agent = &document[name];
        Agent::new(
            agent["type"].as_str().unwrap(),
            agent["id"].as_str().unwrap(),
        )
    };
    let heading = Heading {
        id: "msg_1".into(),
        issued_at: NOW,
        source: agent("target"),
        target: agent("source"),
        conversation: document["conversation"]["conversation_id"]
            .as_str()
            .unwrap()
            .into(),
    };
    let id = document["message_id"].as_str().unwrap();
    let ack = Ack::new(id, "received", NOW)
        .envelope(heading)
        .write()
        .unwrap();
    let ack = read(&ack).header.unwrap();
    assert_eq!(ack.sender.as_str(), "x/y");
    assert_eq!(ack.recipients.first().unwrap().as_str(), "some one");
    assert_eq!(ack.settles.unwrap().id.as_ref(), "evt 1");
}

#[test]
fn aee_acknowledges_and_reports_with_the_words_of_aep() {
    for (intent, act) in [
        ("task.accepted", Act::Accept),
        ("task.started", Act::Start),
        ("task.output", Act::Output),
        ("task.blocked", Act::Block),
        ("event.acknowledged", Act::Ack),
        ("event.rejected", Act::Reject),
    ] {
        let text = Aee::event("agent.b", "agent.a", intent)
            .reply_to("01KJHX7SJ00000000000000001")
            .build("01KJHX7SJ00000000000000002", NOW);
        let header = read(&text).header.unwrap();
        assert_eq!(header.act, act, "{intent}");
        assert_eq!(
            header.settles.is_some(),
            intent.starts_with("event."),
            "{intent}"
        );
        assert_eq!(
            header.step.is_some(),
            intent.starts_with("task."),
            "{intent}"
        );
    }
}
