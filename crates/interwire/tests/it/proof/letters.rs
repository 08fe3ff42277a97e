//! What the clients of these tests send, in all three dialects.

use super::witness::{header, now};
use protocol::dialect::aee::Aee;
use protocol::dialect::aep::Aep;
use protocol::dialect::uai::build::{Agent, Heading, Message as UaiMessage};
use protocol::{Priority, Timestamp};
use testkit::history::{Message, TaskStep, print};

/// How long a task may take, and how long some others are of use.
pub const TIMEOUT_MS: i64 = 2_000;

/// Kinds of letters; each number is of one.
const KINDS: usize = 10;

/// The letter of a number: what decides where it goes, and its bytes. `run` and `sender` make it
/// different from all others.
pub fn letter(run: &str, sender: usize, number: usize) -> (Message, String) {
    let at = Timestamp::from_millis(now());
    let id = format!("letter-{run}-{sender}-{number}");
    let conversation = format!("conversation-{run}-{}", (sender + number) % 6);
    let from = format!("agent:sender{sender}");
    let mut message = Message {
        sender: from.clone(),
        key: id.clone(),
        print: 0,
        targets: Vec::new(),
        topics: Vec::new(),
        conversation: Some(conversation.clone()),
        priority: 1,
        deadline: None,
        max_attempts: None,
        acknowledges: None,
        task: None,
    };
    let payload = format!("{{\"n\": {number},  \"text\":\"\\u00fc\", \"x\":1.50}}");
    let aee = |to: &str| {
        let event = Aee::event(&spell(&from), &spell(to), "test.thing.happened");
        event.corr(&conversation).payload_json(&payload)
    };
    let aep = |to: &str| {
        let event = Aep::event("state.snapshot.ready", &from).target(to);
        event.conversation(&conversation).payload_json(&payload)
    };
    let text = match number % KINDS {
        0 => {
            message.targets = vec!["agent:b".into(), "agent:c".into()];
            let heading = Heading {
                id: id.clone(),
                issued_at: at,
                source: agent(&from),
                target: agent("agent:b"),
                conversation: conversation.clone(),
            };
            let inform = UaiMessage::new("inform", &payload).envelope(heading);
            inform.also_to(agent("agent:c")).write().unwrap()
        }
        1 => {
            message.targets.push("bus:ops".into());
            aee("bus:ops").build(&id, at)
        }
        2 => {
            message.targets.push("agent:c".into());
            message.topics.push("ops.state".into());
            aep("agent:c").topic("ops.state").build(&id, at)
        }
        3 => {
            let deadline = at.plus_millis(TIMEOUT_MS);
            message.targets.push("agent:b".into());
            message.deadline = Some(deadline.as_millis());
            aep("agent:b").expires_at(deadline).build(&id, at)
        }
        4 => {
            message.targets.push("agent:c".into());
            message.max_attempts = Some(2);
            let retry = r#"{"mode":"at_least_once","retry":{"max_attempts":2}}"#;
            aep("agent:c").member_json("delivery", retry).build(&id, at)
        }
        5 => {
            message.targets.push("agent:b".into());
            message.task = Some(TaskStep::Opens(Some(TIMEOUT_MS)));
            message.deadline = Some(at.plus_millis(TIMEOUT_MS).as_millis());
            let requires = format!("{{\"timeout_ms\":{TIMEOUT_MS}}}");
            Aee::task(&spell(&from), "agent.b", "test.thing.do")
                .corr(&conversation)
                .requires(&requires)
                .payload_json(&payload)
                .build(&id, at)
        }
        6 => {
            message.targets.push("agent:b".into());
            message.priority = 3;
            aee("agent:b").priority(Priority::Urgent).build(&id, at)
        }
        7 => {
            message.targets.push("agent:c".into());
            aee("agent:c").build(&id, at)
        }
        _ => {
            message.targets.push("agent:b".into());
            aee("agent:b").build(&id, at)
        }
    };
    message.print = print(text.as_bytes());
    (message, text)
}

/// The result that a worker gives to a task; the same every time.
pub fn result(task: &[u8]) -> Option<(Message, String)> {
    let header = header(task);
    if !matches!(header.step, Some(protocol::task::Step::Open(_))) {
        return None;
    }
    let id = format!("result-{}", header.id);
    let text = Aee::result_of(&header)
        .payload_json("{\"done\": true}")
        .build(&id, Timestamp::from_millis(1_772_274_600_000));
    let message = Message {
        sender: header.recipients.first()?.to_string(),
        key: id,
        print: print(text.as_bytes()),
        targets: vec![header.sender.to_string()],
        topics: Vec::new(),
        conversation: header.conversation.as_deref().map(str::to_owned),
        priority: 1,
        deadline: None,
        max_attempts: None,
        acknowledges: Some(header.id.to_string()),
        task: Some(TaskStep::Ends(header.id.to_string())),
    };
    Some((message, text))
}

/// `agent.b` for `agent:b`.
fn spell(party: &str) -> String {
    party.replacen(':', ".", 1)
}

fn agent(party: &str) -> Agent {
    let (kind, name) = party.split_once(':').unwrap();
    Agent::new(kind, name)
}
