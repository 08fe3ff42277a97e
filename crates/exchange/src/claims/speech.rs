//! What the exchange says about claims, conflicts and offers. Ids follow from the message that is
//! spoken of, and everything but the moment of writing from the state, so that a word that is said
//! again is a duplicate.

use super::Blocker;
use protocol::coordination::Offer;
use protocol::dialect::uai::build::{Ack, Agent, Envelope, Heading, Message};
use protocol::json::push_string;
use protocol::task::SERVICE;
use protocol::{Header, Party, Timestamp, digest};

/// Says for every packet of the exchange what it is and is not.
const SUPPORT_BOUNDARY: &str =
    "Record only: the exchange orders claims; the receiving runtime decides under its own policy.";

/// The id of the blocker over a claim; also the id of the message that says so.
pub(super) fn blocker_id(header: &Header) -> Box<str> {
    id("blocker", &header.sender, &header.id).into()
}

fn id(kind: &str, party: &Party, message: &str) -> String {
    let hash = digest(format!("{kind}\n{party}\n{message}").as_bytes()).to_hex();
    format!("interwire-{kind}-{}", hash.get(..32).unwrap_or_default())
}

/// An acknowledgement to whoever has the resource now. It is `received` and not `accepted`: what is
/// asked of others is theirs to accept.
pub(super) fn won(header: &Header, resource: &str, next: &str, now: Timestamp) -> Option<String> {
    let heading = heading(
        id("claim", &header.sender, &header.id),
        now,
        &header.sender,
        header.conversation.as_deref()?,
    );
    let mut ack = Ack::new(&header.id, "received", now);
    ack.reason = Some(format!(
        "the claim is accepted: {resource} is at version {next}"
    ));
    linked(
        ack.envelope(heading),
        &header.id,
        header.correlation.as_deref(),
    )
}

/// The blocker, and the acknowledgement that rejects the message (UAI 9.8 X2).
pub(super) fn lost(blocker: &Blocker) -> Vec<String> {
    let mut sentence = format!(
        "{} is at version {}; the claim was based on version {}.",
        blocker.resource, blocker.version, blocker.base
    );
    if !blocker.has_word {
        sentence.insert_str(0, "conflict: ");
    }
    let word = if blocker.has_word { "conflict" } else { "other" };
    let mut body = String::from("{\"blocker_id\":");
    push_string(&mut body, &blocker.id);
    body.push_str(",\"blocker_type\":");
    push_string(&mut body, word);
    body.push_str(",\"description\":");
    push_string(&mut body, &sentence);
    body.push_str(",\"human_review_required\":true,\"proposed_resolution\":");
    push_string(
        &mut body,
        &format!(
            "Claim version {} anew, or let a human resolve the blocker.",
            blocker.version
        ),
    );
    body.push_str(",\"support_boundary\":");
    push_string(&mut body, SUPPORT_BOUNDARY);
    body.push_str(",\"related_message_ids\":[");
    push_string(&mut body, &blocker.message);
    body.push(',');
    push_string(&mut body, &blocker.winner);
    body.push_str("],\"resource\":");
    push_string(&mut body, &blocker.resource);
    body.push('}');
    let to = |id: String| heading(id, blocker.at, &blocker.loser, &blocker.conversation);
    let packet = Envelope::new("uai.agent.blocker.v1", body, to(blocker.id.to_string()));
    let mut ack = Ack::new(&blocker.message, "rejected", blocker.at);
    ack.reason = Some("memory_conflict_unresolved".into());
    let ack = ack.envelope(to(id("reject", &blocker.loser, &blocker.message)));
    let correlation = blocker.correlation.as_deref();
    [packet, ack]
        .into_iter()
        .filter_map(|packet| linked(packet, &blocker.message, correlation))
        .collect()
}

/// To whoever lost, when somebody else ended the conflict.
pub(super) fn resolved(blocker: &Blocker, header: &Header, now: Timestamp) -> Option<String> {
    let content = format!("{} resolved blocker {}.", header.sender, blocker.id);
    let own = id("resolved", &blocker.loser, &blocker.id);
    let heading = heading(own, now, &blocker.loser, &blocker.conversation);
    let message = Message::new("notification", &content).envelope(heading);
    linked(message, &blocker.message, blocker.correlation.as_deref())
}

/// The answer to an offer (UAI 9.6 K2).
pub(super) fn answered(header: &Header, offer: &Offer, now: Timestamp) -> Option<String> {
    let heading = heading(
        id("answer", &header.sender, &header.id),
        now,
        &header.sender,
        header.conversation.as_deref()?,
    );
    let answer = Envelope::new(
        "uai.capability.negotiation.v1",
        offer.answer.to_string(),
        heading,
    );
    linked(answer, &header.id, header.correlation.as_deref())
}

fn linked(envelope: Envelope, parent: &str, correlation: Option<&str>) -> Option<String> {
    let mut envelope = envelope.reply_to(parent);
    if let Some(correlation) = correlation {
        envelope = envelope.correlation(correlation);
    }
    envelope.write().ok()
}

fn heading(id: String, issued_at: Timestamp, to: &Party, conversation: &str) -> Heading {
    Heading {
        id,
        issued_at,
        source: agent(&Party::from_canonical(SERVICE)),
        target: agent(to),
        conversation: conversation.into(),
    }
}

/// A party in two parts; one without a kind is taken for an agent.
fn agent(party: &Party) -> Agent {
    match party.kind() {
        Some(kind) => Agent::new(kind, party.name()),
        None => Agent::new("agent", party.as_str()),
    }
}
