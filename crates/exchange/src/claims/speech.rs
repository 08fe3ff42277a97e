//! What the exchange says about claims and conflicts. Ids follow from the message that is spoken of,
//! and everything else from the state, so that a word that is said again is a duplicate.

use super::blocker::{Blocker, id};
use super::{Gain, hears, origin};
use protocol::dialect::uai::build::{Ack, Agent, Envelope, Heading, Message};
use protocol::json::push_string;
use protocol::task::SERVICE;
use protocol::{Header, Party, Timestamp};

/// Says for every packet of the exchange what it is and is not.
const SUPPORT_BOUNDARY: &str =
    "Record only: the exchange orders claims; the receiving runtime decides under its own policy.";

/// An acknowledgement to whoever has the resources now. Of a message that asks others for work it is
/// `received` and not `accepted`: the work is theirs to accept.
pub(super) fn won(header: &Header, gains: &[Gain], at: Timestamp) -> Option<String> {
    let key = header.idempotency_key.as_deref().unwrap_or(origin(header));
    let heading = heading(
        id("claim", &header.sender, key),
        at,
        &header.sender,
        header.conversation.as_deref()?,
    );
    let status = match header.step {
        Some(_) => "received",
        None => "accepted",
    };
    let mut ack = Ack::new(&header.id, status, at);
    let mut reason = String::from("the claim is accepted: ");
    for (at, gain) in gains.iter().enumerate() {
        reason.push_str(if at > 0 { ", " } else { "" });
        reason.push_str(&gain.resource);
        reason.push_str(match gain.is_release {
            true => " is released at version ",
            false => " is at version ",
        });
        reason.push_str(&gain.version);
    }
    ack.reason = Some(reason);
    let correlation = header.correlation.as_deref();
    linked(ack.envelope(heading), &header.id, correlation)
}

/// The acknowledgement that rejects the message, and the blocker (UAI 9.8 X2). In this order: whoever
/// finds the blocker in the journal finds both.
pub(super) fn lost(blocker: &Blocker) -> Vec<String> {
    let to = |id: String| heading(id, blocker.at, &blocker.loser, &blocker.conversation);
    let mut ack = Ack::new(&blocker.message, "rejected", blocker.at);
    ack.reason = Some("memory_conflict_unresolved".into());
    let ack = ack.envelope(to(id("reject", &blocker.loser, &blocker.key)));
    let packet = Envelope::new(
        "uai.agent.blocker.v1",
        body(blocker),
        to(blocker.id.to_string()),
    );
    let correlation = blocker.correlation.as_deref();
    [ack, packet]
        .into_iter()
        .filter_map(|packet| linked(packet, &blocker.message, correlation))
        .collect()
}

fn body(blocker: &Blocker) -> String {
    let (resource, base) = (&blocker.resource, &blocker.base);
    let wish = match blocker.is_release {
        true => "release",
        false => "claim",
    };
    let (mut sentence, proposal) = match &blocker.held {
        Some(held) => (
            format!(
                "{resource} is at version {}, since message {} of {}; the {wish} was based on version {base}.",
                held.version, held.message, held.by
            ),
            format!(
                "Claim version {} anew, correct the message, or let a human resolve the blocker.",
                held.version
            ),
        ),
        None => (
            format!("{resource} was never claimed; the {wish} was based on version {base}."),
            "Claim it first.".into(),
        ),
    };
    if !blocker.has_word {
        sentence.insert_str(0, "conflict: ");
    }
    let word = if blocker.has_word {
        "conflict"
    } else {
        "other"
    };
    let mut out = String::from("{\"blocker_id\":");
    push_string(&mut out, &blocker.id);
    for (name, text) in [
        ("blocker_type", word),
        ("description", &*sentence),
        ("proposed_resolution", &proposal),
        ("support_boundary", SUPPORT_BOUNDARY),
        ("resource", resource),
    ] {
        out.push_str(",\"");
        out.push_str(name);
        out.push_str("\":");
        push_string(&mut out, text);
    }
    out.push_str(",\"human_review_required\":true,\"related_message_ids\":[");
    push_string(&mut out, &blocker.message);
    if let Some(held) = &blocker.held {
        out.push(',');
        push_string(&mut out, &held.message);
    }
    out.push_str("]}");
    out
}

/// To whoever lost, when somebody ended the conflict.
pub(super) fn ended(
    blocker: &Blocker,
    by: &Party,
    granted: Option<&str>,
    now: Timestamp,
) -> Option<String> {
    let id_and_resource = format!("blocker {} over {}", blocker.id, blocker.resource);
    let content = match granted {
        Some(version) => format!(
            "{by} granted the claim of {id_and_resource}: it is yours, at version {version}."
        ),
        None => format!("{by} resolved {id_and_resource}."),
    };
    tell(
        blocker,
        id("resolved", &blocker.loser, &blocker.id),
        &content,
        now,
    )
}

/// To whoever waits for a resource that was given up. The conflict stays open until it claims anew.
pub(super) fn released(blocker: &Blocker, header: &Header, now: Timestamp) -> Option<String> {
    if hears(header, &blocker.loser) {
        return None;
    }
    let content = format!("{} released {}.", header.sender, blocker.resource);
    let of = format!("{}\n{}\n{}", blocker.id, header.sender, origin(header));
    tell(blocker, id("released", &blocker.loser, &of), &content, now)
}

fn tell(blocker: &Blocker, id: String, content: &str, now: Timestamp) -> Option<String> {
    let heading = heading(id, now, &blocker.loser, &blocker.conversation);
    let message = Message::new("notification", content).envelope(heading);
    linked(message, &blocker.message, blocker.correlation.as_deref())
}

/// To the human who ended a conflict.
pub(super) fn resolved(
    header: &Header,
    blocker: &Blocker,
    granted: Option<&str>,
    now: Timestamp,
) -> Option<String> {
    let mut result = String::from("{\"blocker_id\":");
    push_string(&mut result, &blocker.id);
    result.push_str(",\"resource\":");
    push_string(&mut result, &blocker.resource);
    result.push_str(",\"decision\":");
    push_string(
        &mut result,
        if granted.is_some() { "grant" } else { "keep" },
    );
    if let Some(version) = granted {
        result.push_str(",\"version\":");
        result.push_str(version);
    }
    result.push('}');
    let said = match granted {
        Some(version) => format!(
            "{} has {} at version {version}.",
            blocker.loser, blocker.resource
        ),
        None => format!("blocker {} is resolved.", blocker.id),
    };
    answer(header, "completed", &result, &said, now)
}

/// To a human who named no open conflict.
pub(super) fn no_such_blocker(header: &Header, id: &str, now: Timestamp) -> Option<String> {
    let short: String = id.chars().take(128).collect();
    let said = format!("expected the id of an open blocker, got {short:?}");
    answer(header, "rejected", "null", &said, now)
}

/// A response to a request that was asked of the exchange; of any other message only a note, since a
/// response would end what was asked of others.
fn answer(
    header: &Header,
    status: &str,
    result: &str,
    said: &str,
    now: Timestamp,
) -> Option<String> {
    let heading = heading(
        id("resolution", &header.sender, &header.id),
        now,
        &header.sender,
        header.conversation.as_deref()?,
    );
    let is_asked = &*header.kind == "uai.intent.request.v1"
        && header.recipients.iter().any(|to| to.as_str() == SERVICE);
    let envelope = if is_asked {
        let mut body = String::from("{\"status\":");
        push_string(&mut body, status);
        body.push_str(",\"request_message_id\":");
        push_string(&mut body, &header.id);
        if result != "null" {
            body.push_str(",\"result\":");
            body.push_str(result);
        }
        body.push_str(",\"notices\":[");
        push_string(&mut body, said);
        body.push_str("]}");
        Envelope::new("uai.intent.response.v1", body, heading)
    } else {
        Message::new("notification", said).envelope(heading)
    };
    linked(envelope, &header.id, header.correlation.as_deref())
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
