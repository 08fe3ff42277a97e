//! What must be in the journal at the end: every message once, each under its cause.

use serde_json::Value;
use std::collections::BTreeMap;

/// One expected message: what it is, from whom to whom, and the place of its cause in the list.
type Line = (&'static str, &'static str, &'static str, Option<usize>);

/// One conversation.
#[derive(Debug)]
pub struct Conversation {
    /// What people read above the tree.
    pub title: &'static str,
    /// Every message.
    pub lines: &'static [Line],
}

/// AEE.
pub const SCAN: Conversation = Conversation {
    title: "AEE: a security scan, delegated twice",
    lines: &[
        ("task", "human:adam", "agent:router", None),
        ("task", "agent:router", "agent:scanner", Some(0)),
        ("task", "agent:scanner", "service:cve_db", Some(1)),
        ("task", "agent:scanner", "service:cve_db", Some(1)),
        ("stream", "agent:scanner", "agent:router", Some(1)),
        ("stream", "agent:router", "human:adam", Some(0)),
        ("result", "service:cve_db", "agent:scanner", Some(2)),
        ("error", "service:cve_db", "agent:scanner", Some(3)),
        ("result", "agent:scanner", "agent:router", Some(1)),
        ("result", "agent:router", "human:adam", Some(0)),
    ],
};

/// AEP.
pub const CRAWL: Conversation = Conversation {
    title: "AEP: an asynchronous tool call, a new fact, a fresh context",
    lines: &[
        (
            "tool.call.requested",
            "agent:researcher",
            "tool:crawler",
            None,
        ),
        (
            "tool.call.accepted",
            "tool:crawler",
            "agent:researcher",
            Some(0),
        ),
        (
            "tool.call.progress",
            "tool:crawler",
            "agent:researcher",
            Some(0),
        ),
        (
            "tool.call.output",
            "tool:crawler",
            "agent:researcher",
            Some(0),
        ),
        (
            "tool.call.completed",
            "tool:crawler",
            "agent:researcher",
            Some(0),
        ),
        ("memory.fact.added", "memory:main", "", Some(3)),
        (
            "event.acknowledged",
            "agent:researcher",
            "memory:main",
            Some(5),
        ),
        (
            "context.invalidated",
            "context:main",
            "agent:researcher",
            Some(5),
        ),
        (
            "context.snapshot.requested",
            "agent:researcher",
            "context:main",
            Some(7),
        ),
        (
            "context.snapshot.ready",
            "context:main",
            "agent:researcher",
            Some(8),
        ),
    ],
};

/// UAI-1.
pub const HANDOFF: Conversation = Conversation {
    title: "UAI-1: one handoff to two workers",
    lines: &[
        (
            "uai.agent.handoff.v1",
            "agent:agt_manager",
            "agent:agt_worker1, agent:agt_worker2",
            None,
        ),
        (
            "uai.agent.ack.v1",
            "agent:agt_worker1",
            "agent:agt_manager",
            Some(0),
        ),
        (
            "uai.agent.final-report.v1",
            "agent:agt_worker1",
            "agent:agt_manager",
            Some(0),
        ),
        (
            "uai.agent.ack.v1",
            "agent:agt_worker2",
            "agent:agt_manager",
            Some(0),
        ),
        (
            "uai.agent.final-report.v1",
            "agent:agt_worker2",
            "agent:agt_manager",
            Some(0),
        ),
    ],
};

/// One message that is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Its id.
    pub id: String,
    /// Its type, profile or AEE type.
    pub kind: String,
    /// Who sent it.
    pub from: String,
    /// To whom, as the sender named them.
    pub to: String,
    /// The id of its cause.
    pub cause: Option<String>,
}

impl Seen {
    /// A node of a trace.
    pub fn from_node(node: &Value) -> Self {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let member = |name: &str| node.get(name).unwrap_or(&Value::Null);
        let to = member("to").as_array().map_or(&[][..], Vec::as_slice);
        let to: Vec<String> = to.iter().map(text).collect();
        Self {
            id: text(member("id")),
            kind: text(member("type")),
            from: text(member("from")),
            to: to.join(", "),
            cause: member("cause")
                .get("id")
                .and_then(Value::as_str)
                .map(Into::into),
        }
    }
}

/// What is wrong with a conversation: one sentence per missing, doubled or unexpected message.
pub fn differences(script: &Conversation, found: &[Seen]) -> Vec<String> {
    let mut balance: BTreeMap<String, i64> = BTreeMap::new();
    for at in 0..script.lines.len() {
        *balance.entry(expected_path(script, at)).or_default() -= 1;
    }
    for message in found {
        *balance.entry(found_path(message, found)).or_default() += 1;
    }
    let word = |(path, difference): (String, i64)| match difference {
        0 => None,
        missing if missing < 0 => Some(format!("missing {} times: {path}", -missing)),
        extra => Some(format!("{extra} too many: {path}")),
    };
    balance.into_iter().filter_map(word).collect()
}

/// The message with its causes before it, as one text.
fn expected_path(script: &Conversation, at: usize) -> String {
    let mut path = Vec::new();
    let mut next = script.lines.get(at);
    while let Some((kind, from, to, cause)) = next {
        path.push(format!("{kind} {from} > {to}"));
        // A cause is earlier in the list, so this ends.
        next = cause.and_then(|cause| script.lines.get(cause));
    }
    path.reverse();
    path.join(" / ")
}

fn found_path(message: &Seen, all: &[Seen]) -> String {
    let mut path = Vec::new();
    let mut next = Some(message);
    // A circle of causes cannot be longer than the conversation.
    while let Some(message) = next.filter(|_| path.len() <= all.len()) {
        let Seen { kind, from, to, .. } = message;
        path.push(format!("{kind} {from} > {to}"));
        next = message.cause.as_ref().and_then(|cause| {
            let found = all.iter().find(|one| one.id == *cause);
            if found.is_none() {
                path.push(format!("unknown cause {cause}"));
            }
            found
        });
    }
    path.reverse();
    path.join(" / ")
}

#[cfg(test)]
mod tests {
    use super::{HANDOFF, Seen, differences};
    use crate::demo::roles::{Message, Role, uai};
    use protocol::Timestamp;

    fn seen(message: &Message) -> Seen {
        let header = &message.header;
        let to: Vec<_> = header.recipients.iter().map(ToString::to_string).collect();
        Seen {
            id: header.id.to_string(),
            kind: header.kind.to_string(),
            from: header.sender.to_string(),
            to: to.join(", "),
            cause: header.cause.as_deref().map(Into::into),
        }
    }

    fn played() -> Vec<Seen> {
        let now = Timestamp::from_millis(1_772_274_600_000);
        let handoff = Role::Manager.opening("grp_1", now).unwrap().unwrap();
        let handoff = Message::read(handoff.as_bytes()).unwrap();
        let mut all = vec![seen(&handoff)];
        for role in [Role::Worker1, Role::Worker2] {
            for step in uai::work(role, &handoff).unwrap() {
                all.push(seen(&Message::read(step.envelope.as_bytes()).unwrap()));
            }
        }
        all
    }

    #[test]
    fn the_played_handoff_is_what_the_script_says() {
        assert_eq!(differences(&HANDOFF, &played()), Vec::<String>::new());
    }

    #[test]
    fn a_missing_and_a_doubled_message_are_both_named() {
        let mut all = played();
        all.remove(4);
        all.push(all[1].clone());
        let found = differences(&HANDOFF, &all);
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(
            found
                .iter()
                .any(|one| one.contains("missing") && one.contains("agt_worker2"))
        );
        assert!(
            found
                .iter()
                .any(|one| one.contains("too many") && one.contains("agt_worker1"))
        );
    }
}
