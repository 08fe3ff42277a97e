//! Playing a message again: a new envelope with the old payload, marked as what it is.
//!
//! A replay is no repeat: it has an id, a sender, a conversation and a time of its own, so no dedupe
//! takes it for the original, and whoever answers it answers the one who plays. The mark stands where
//! each dialect has room for what it does not know: AEE and AEP envelopes may have further members
//! (`interwire_replay`), UAI-1 has extension records (`urn:interwire:ext:replay`).
//!
//! An exchange gives a replay to its named recipients and to nobody else, and it moves no task, no
//! budget and no delivery.

use crate::dialect::uai::build::{Agent, Envelope, Heading};
use crate::json::{self, Value, push_string};
use crate::{Code, DialectName, Fault, Header, Intake, Party, Timestamp};

/// The member that marks a replay in AEE and AEP.
pub const MEMBER: &str = "interwire_replay";
/// The extension record that marks a replay in UAI-1.
pub const EXTENSION: &str = "urn:interwire:ext:replay";

/// How a message is played again.
#[derive(Clone, Copy, Debug)]
pub struct Replay<'r> {
    /// The new id.
    pub id: &'r str,
    /// Who plays.
    pub from: &'r Party,
    /// Who gets it.
    pub to: &'r Party,
    /// The conversation of everything that is played together.
    pub conversation: &'r str,
    /// The replay of its cause, when that is played, too.
    pub cause: Option<&'r str>,
    /// The present moment.
    pub at: Timestamp,
    /// The cursor of the original.
    pub of: &'r str,
    /// When the original was accepted.
    pub accepted_at: Timestamp,
}

/// The cursor of the message that this envelope plays again.
pub(crate) fn mark_of(doc: Value<'_>, dialect: DialectName) -> Option<Box<str>> {
    let mark = match dialect {
        DialectName::Aee | DialectName::Aep => doc.get(MEMBER),
        DialectName::Uai => {
            let mut records = doc.get("extensions").into_iter().flat_map(Value::items);
            let is_it = |record: &Value<'_>| {
                record
                    .get("namespace")
                    .is_some_and(|name| name.as_str().as_deref() == Some(EXTENSION))
            };
            records.find(is_it).and_then(|record| record.get("payload"))
        }
    };
    mark?.get("of")?.as_str().map(|of| Box::from(&*of))
}

/// Writes the replay of an envelope. Its payload (UAI-1: body) is the original's, byte for byte; only
/// a UAI-1 handoff names its new recipient in `target_agent_id`.
///
/// # Errors
/// The faults of reading the envelope; `log_tier_only` for an AEE record that can never be delivered;
/// `unsupported_form` for the keyless form of UAI-1.
pub fn compose(envelope: &[u8], header: &Header, replay: &Replay<'_>) -> Result<String, Fault> {
    let limits = json::Limits {
        bytes_max: usize::MAX,
        ..json::Limits::default()
    };
    let document = json::read(envelope, limits)?;
    let doc = document.root();
    let mark = mark(header, replay);
    match header.dialect {
        DialectName::Aee => aee(doc, header, replay, &mark),
        DialectName::Aep => Ok(aep(doc, header, replay, &mark)),
        DialectName::Uai => uai(doc, header, replay, &mark),
    }
}

fn mark(header: &Header, replay: &Replay<'_>) -> String {
    let mut mark = String::from("{\"of\":");
    push_string(&mut mark, replay.of);
    mark.push_str(",\"id\":");
    push_string(&mut mark, &header.id);
    mark.push_str(",\"from\":");
    push_string(&mut mark, header.sender.as_str());
    mark.push_str(",\"accepted_at\":");
    push_string(&mut mark, &replay.accepted_at.to_string());
    mark.push('}');
    mark
}

/// A member of the original: as it is, with another value, or not at all.
enum Fate {
    Kept,
    Set(String),
    Dropped,
}

fn text(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    push_string(&mut json, text);
    json
}

fn set(value: &str) -> Fate {
    Fate::Set(text(value))
}

/// The original's members in their order, then those it had not.
fn spliced(doc: Value<'_>, fate: impl Fn(&str) -> Fate, more: &[(&str, String)]) -> String {
    let mut out = String::from("{");
    let mut push = |name: &str, json: &str| {
        out.push_str(if out.len() > 1 { "," } else { "" });
        push_string(&mut out, name);
        out.push(':');
        out.push_str(json);
    };
    for (name, value) in doc.members() {
        let name = name.text();
        match fate(&name) {
            Fate::Kept => push(&name, value.raw()),
            Fate::Set(json) => push(&name, &json),
            Fate::Dropped => {}
        }
    }
    for (name, json) in more {
        if doc.get(name).is_none() || *name == MEMBER {
            push(name, json);
        }
    }
    out.push('}');
    out
}

fn aee(doc: Value<'_>, header: &Header, replay: &Replay<'_>, mark: &str) -> Result<String, Fault> {
    if header.intake == Intake::Log {
        let detail = "expected an envelope that can be delivered, got a record of the log intake";
        return Err(Fault::new(Code::LogTierOnly, "", "AEE 2.3", detail));
    }
    let fate = |name: &str| match name {
        "id" => set(replay.id),
        "ts" => set(&replay.at.to_string()),
        "from" => set(&replay.from.to_aee()),
        "to" => set(&replay.to.to_aee()),
        "corr" => set(replay.conversation),
        "reply_to" => match (replay.cause, &*header.kind) {
            (Some(cause), _) => set(cause),
            // They must answer something, and this is what they answered.
            (None, "result" | "error") => Fate::Kept,
            (None, _) => Fate::Set("null".into()),
        },
        // It proved other bytes.
        "sig" => Fate::Set("null".into()),
        MEMBER => Fate::Dropped,
        _ => Fate::Kept,
    };
    Ok(spliced(doc, fate, &[(MEMBER, mark.into())]))
}

fn aep(doc: Value<'_>, header: &Header, replay: &Replay<'_>, mark: &str) -> String {
    let fate = |name: &str| match name {
        "id" => set(replay.id),
        "source" => set(replay.from.as_str()),
        "target" => set(replay.to.as_str()),
        "created_at" => set(&replay.at.to_string()),
        "conversation_id" | "correlation_id" => set(replay.conversation),
        "causation_id" => replay.cause.map_or(Fate::Dropped, set),
        "expires_at" => header.deadline.map_or(Fate::Kept, |deadline| {
            set(&moved(deadline, replay).to_string())
        }),
        // It goes to one party, in no session, and costs nothing again.
        "topic" | "session_id" | "budget_cost" | MEMBER => Fate::Dropped,
        _ => Fate::Kept,
    };
    let mut more = vec![
        ("target", text(replay.to.as_str())),
        ("conversation_id", text(replay.conversation)),
    ];
    more.extend(replay.cause.map(|cause| ("causation_id", text(cause))));
    more.push((MEMBER, mark.into()));
    spliced(doc, fate, &more)
}

fn uai(doc: Value<'_>, header: &Header, replay: &Replay<'_>, mark: &str) -> Result<String, Fault> {
    let Some(body) = doc.get("body") else {
        let detail = "expected a keyed envelope, got another form";
        return Err(Fault::new(Code::UnsupportedForm, "", "UAI 2", detail));
    };
    let body = if &*header.kind == "uai.agent.handoff.v1" {
        let fate = |name: &str| match name {
            "target_agent_id" => set(replay.to.name()),
            _ => Fate::Kept,
        };
        spliced(body, fate, &[])
    } else {
        body.raw().to_owned()
    };
    let heading = Heading {
        id: replay.id.into(),
        issued_at: replay.at,
        source: agent(replay.from),
        target: agent(replay.to),
        conversation: replay.conversation.into(),
    };
    let delivery = doc.get("delivery");
    let asks = delivery.and_then(|delivery| delivery.get("ack_required")?.as_bool());
    let mut envelope = Envelope::new(&header.kind, body, heading)
        .priority(header.priority)
        .ack_required(asks.unwrap_or(false))
        .extension(EXTENSION, mark);
    if let Some(cause) = replay.cause {
        envelope = envelope.reply_to(cause);
    }
    if let Some(task) = &header.task {
        envelope = envelope.task_ref(task);
    }
    if let Some(deadline) = header.deadline {
        envelope = envelope.expires_at(moved(deadline, replay));
    }
    envelope.write()
}

/// A deadline as far after the replay as it was after the original.
fn moved(deadline: Timestamp, replay: &Replay<'_>) -> Timestamp {
    let left = deadline.as_millis() - replay.accepted_at.as_millis();
    replay.at.plus_millis(left)
}

/// A party in two parts; one without a kind is taken for an agent.
fn agent(party: &Party) -> Agent {
    let (kind, id) = party
        .as_str()
        .split_once(':')
        .unwrap_or(("agent", party.as_str()));
    Agent::new(kind, id)
}
