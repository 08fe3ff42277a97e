//! The envelopes that clients send: a number decides everything about one.

use crate::history::{Message, TaskStep, print};
use bytes::Bytes;
use protocol::dialect::aee::Aee;
use protocol::dialect::aep::Aep;
use protocol::dialect::uai::build::{Agent, Heading, Message as UaiMessage};
use protocol::{Priority, Rules, Timestamp};

/// Parties that have inboxes.
pub(super) const PARTIES: [&str; 4] = ["agent:a", "agent:b", "agent:c", "human:h"];
/// When every run begins.
pub(super) const START: Timestamp = Timestamp::from_millis(1_772_274_600_000);

const SENDERS: [&str; 2] = ["agent:a", "agent:b"];
const CHANNEL: &str = "bus:ops";
const CONVERSATIONS: [&str; 3] = ["conversation-1", "conversation-2", "conversation-3"];
/// Kinds of messages; each number is of one.
const KINDS: u64 = 16;

/// The envelope of that number. A `variant` has the same sender and id and other bytes.
pub(super) fn message(number: u64, is_variant: bool) -> (Message, Bytes) {
    let id = format!("message-{number:04}");
    let sender = pick(&SENDERS, number / 7);
    let payload = format!("{{\"n\": {number},  \"variant\":{is_variant}, \"x\":1.50}}");
    let mut message = Message {
        sender: sender.into(),
        key: id.clone(),
        print: 0,
        targets: Vec::new(),
        topics: Vec::new(),
        conversation: Some(pick(&CONVERSATIONS, number / 3).into()),
        priority: 1,
        deadline: None,
        max_attempts: None,
        acknowledges: None,
        task: None,
    };
    let party = pick(&PARTIES, number);
    let text = match number % KINDS {
        kind @ (0 | 1 | 5 | 6) => {
            if kind > 0 {
                message.targets.push(party.into());
            }
            if kind < 2 {
                message.topics.push("ops.state".into());
            }
            message.deadline = (kind == 5).then(|| {
                let after = i64::try_from(number % 7).unwrap_or(0) * 15_000;
                START.plus_millis(after).as_millis()
            });
            message.max_attempts = (kind == 6).then_some(2);
            aep(&message, &payload)
        }
        2 => {
            message.targets = vec!["agent:b".into(), "agent:c".into()];
            uai(&message, &payload)
        }
        // Answers the task before it; whichever comes first is its end.
        kind @ (11 | 12) => {
            let (task, envelope) = self::message(number - (kind - 10), false);
            let [asked] = task.targets.as_slice() else {
                unreachable!("a task has one recipient")
            };
            message.sender.clone_from(asked);
            message.targets.push(task.sender);
            message.conversation = task.conversation;
            message.acknowledges = Some(task.key.clone());
            message.task = Some(TaskStep::Ends(task.key));
            let header = protocol::decode(&envelope, &Rules::at(START)).header;
            let Some(header) = header else {
                unreachable!("a task is valid")
            };
            let answer = match kind {
                11 => Aee::result_of(&header).payload_json(&payload),
                _ => Aee::error_of(&header, "E_INTERNAL", &payload),
            };
            answer.build(&id, START)
        }
        kind => {
            message.targets.push(match kind {
                3 => CHANNEL.into(),
                4 => "agent:*".into(),
                _ => party.into(),
            });
            message.priority = match kind {
                7 => 3,
                8 => 0,
                _ => 1,
            };
            if kind == 10 {
                let is_timed = (number / KINDS).is_multiple_of(2);
                message.task = Some(TaskStep::Opens(is_timed.then_some(20_000)));
                // Nobody needs to be asked for what must be over by then.
                message.deadline = is_timed.then(|| START.plus_millis(20_000).as_millis());
            }
            aee(&message, &payload)
        }
    };
    message.print = print(text.as_bytes());
    (message, Bytes::from(text))
}

fn aep(message: &Message, payload: &str) -> String {
    let mut event = Aep::event("state.snapshot.ready", &message.sender).payload_json(payload);
    for target in &message.targets {
        event = event.target(target);
    }
    for topic in &message.topics {
        event = event.topic(topic);
    }
    if let Some(conversation) = &message.conversation {
        event = event.conversation(conversation);
    }
    if let Some(deadline) = message.deadline {
        event = event.expires_at(Timestamp::from_millis(deadline));
    }
    if let Some(attempts) = message.max_attempts {
        let retry =
            format!("{{\"mode\":\"at_least_once\",\"retry\":{{\"max_attempts\":{attempts}}}}}");
        event = event.member_json("delivery", &retry);
    }
    event.build(&message.key, START)
}

fn uai(message: &Message, payload: &str) -> String {
    let agent = |party: &str| {
        let (kind, name) = party.split_once(':').unwrap_or_default();
        Agent::new(kind, name)
    };
    let mut targets = message.targets.iter();
    let heading = Heading {
        id: message.key.clone(),
        issued_at: START,
        source: agent(&message.sender),
        target: agent(targets.next().map_or("", String::as_str)),
        conversation: message.conversation.clone().unwrap_or_default(),
    };
    let mut envelope = UaiMessage::new("inform", payload).envelope(heading);
    for target in targets {
        envelope = envelope.also_to(agent(target));
    }
    envelope.write().unwrap_or_default()
}

fn aee(message: &Message, payload: &str) -> String {
    let spell = |party: &str| party.replacen(':', ".", 1);
    let from = spell(&message.sender);
    let to = spell(message.targets.first().map_or("", String::as_str));
    let envelope = match &message.task {
        Some(TaskStep::Opens(Some(ms))) => {
            Aee::task(&from, &to, "test.thing.do").requires(&format!("{{\"timeout_ms\":{ms}}}"))
        }
        Some(_) => Aee::task(&from, &to, "test.thing.do"),
        None => Aee::event(&from, &to, "test.thing.happened"),
    };
    let priority = match message.priority {
        0 => Priority::Low,
        1 => Priority::Normal,
        2 => Priority::High,
        _ => Priority::Urgent,
    };
    envelope
        .corr(message.conversation.as_deref().unwrap_or_default())
        .priority(priority)
        .payload_json(payload)
        .build(&message.key, START)
}

fn pick<'a>(from: &[&'a str], number: u64) -> &'a str {
    let at = usize::try_from(number).unwrap_or(0) % from.len();
    from.get(at).copied().unwrap_or_default()
}
