//! Envelopes in which an agent says what it can do: each dialect has some.
//!
//! | dialect | envelope | what is read |
//! |---|---|---|
//! | AEE | result or event of `aee.capability.list` | `intents` |
//! | AEP | `capabilities.declared`, `capabilities.changed`, `session.opened` with one of them | `skills`, `tools`, `intents`, `features`, `tags` |
//! | UAI-1 | `uai.capability.statement.v1` | `operations`, `profiles` |
//! | UAI-1 | `uai.agent.discovery.v1`, `announce` and `withdraw` | the sender's card in `agents` |
//!
//! It is read leniently: what cannot be read is left out, and never refuses the envelope.

use super::Card;
use crate::json::{Kind, Limits, Value, push_string, read};
use crate::{Act, DialectName, Header};

/// What an envelope says of its sender.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Announcement {
    /// What it can do, from now on.
    Card(Box<Card>),
    /// It takes back what it said.
    Withdrawn,
}

/// What an envelope says of its sender, when it is one that says such things. Envelopes of more than
/// `bytes_max` bytes say nothing.
#[must_use]
pub fn announcement(header: &Header, envelope: &[u8], bytes_max: usize) -> Option<Announcement> {
    if !may_announce(header) || envelope.len() > bytes_max {
        return None;
    }
    let document = read(envelope, Limits::default()).ok()?;
    let root = document.root();
    match header.dialect {
        DialectName::Aee => {
            let intents = root.get("payload")?.get("intents")?;
            let mut writer = Writer::new("aee");
            writer.words("intents", intents);
            writer.card()
        }
        DialectName::Aep => {
            let payload = root.get("payload")?;
            let inner = payload.get("capabilities");
            let inner = inner.filter(|inner| inner.kind() == Kind::Object);
            let payload = inner.unwrap_or(payload);
            let says = |name: &&str| payload.get(name).is_some();
            if &*header.kind == "session.opened" && !SAYING.iter().any(says) {
                return None;
            }
            let mut writer = Writer::new("aep");
            for name in ["intents", "features", "tags"] {
                if let Some(list) = payload.get(name) {
                    writer.words(name, list);
                }
            }
            writer.skills(["skills", "tools"].map(|name| payload.get(name)));
            writer.card()
        }
        DialectName::Uai if &*header.kind == STATEMENT => {
            let body = root.get("body")?;
            let mut writer = Writer::new("uai");
            for (name, from) in [("intents", "operations"), ("profiles", "profiles")] {
                if let Some(list) = body.get(from) {
                    writer.words(name, list);
                }
            }
            writer.card()
        }
        DialectName::Uai => discovery(header, root.get("body")?),
    }
}

const STATEMENT: &str = "uai.capability.statement.v1";
const DISCOVERY: &str = "uai.agent.discovery.v1";

/// Members that make the opening of a session an announcement.
const SAYING: [&str; 4] = ["skills", "tools", "intents", "tags"];

fn may_announce(header: &Header) -> bool {
    match header.dialect {
        DialectName::Aee => {
            header.intent.as_deref() == Some("aee.capability.list") && header.act != Act::Request
        }
        DialectName::Aep => matches!(
            &*header.kind,
            "capabilities.declared" | "capabilities.changed" | "session.opened"
        ),
        DialectName::Uai => matches!(&*header.kind, STATEMENT | DISCOVERY),
    }
}

fn discovery(header: &Header, body: Value<'_>) -> Option<Announcement> {
    let operation = body.get("operation")?.as_str()?;
    if operation == "withdraw" {
        return Some(Announcement::Withdrawn);
    }
    if operation != "announce" {
        return None;
    }
    let own = |agent: &Value<'_>| {
        let id = agent.get("agent_id").or_else(|| agent.get("id"));
        let id = id.and_then(Value::as_str);
        id.is_none_or(|id| id == header.sender.name() || id == header.sender.as_str())
    };
    let agent = body.get("agents")?.items().find(own)?;
    for name in ["agent_card", "card"] {
        if let Some(card) = agent.get(name)
            && let Ok(card) = Card::read(card.raw().as_bytes(), usize::MAX)
        {
            return Some(Announcement::Card(Box::new(card)));
        }
    }
    let mut writer = Writer::new("uai");
    for name in ["intents", "profiles", "features", "tags"] {
        if let Some(list) = agent.get(name) {
            writer.words(name, list);
        }
    }
    if let Some(label) = agent.get("label").and_then(Value::as_str) {
        writer.member("name");
        push_string(&mut writer.out, &label);
    }
    writer.skills([agent.get("skills"), None]);
    writer.card()
}

/// Writes a card of what could be read.
struct Writer {
    out: String,
}

impl Writer {
    fn new(dialect: &str) -> Self {
        Self {
            out: format!("{{\"dialects\":[\"{dialect}\"]"),
        }
    }

    fn member(&mut self, name: &str) {
        self.out.push(',');
        push_string(&mut self.out, name);
        self.out.push(':');
    }

    fn words(&mut self, name: &str, list: Value<'_>) {
        self.member(name);
        self.out.push('[');
        let texts = list.items().filter_map(Value::as_str);
        for (at, text) in texts.filter(|text| is_word(text)).take(1_000).enumerate() {
            if at > 0 {
                self.out.push(',');
            }
            push_string(&mut self.out, &text);
        }
        self.out.push(']');
    }

    /// Skills by name, or as objects with an id or a name.
    fn skills(&mut self, lists: [Option<Value<'_>>; 2]) {
        self.member("skills");
        self.out.push('[');
        let items = lists.into_iter().flatten().flat_map(Value::items);
        let mut count = 0;
        for item in items.take(1_000) {
            let text = |name: &str| item.get(name).and_then(Value::as_str);
            let id = item
                .as_str()
                .or_else(|| text("id"))
                .or_else(|| text("name"));
            let Some(id) = id.filter(|id| is_word(id)) else {
                continue;
            };
            if count > 0 {
                self.out.push(',');
            }
            count += 1;
            self.out.push_str("{\"id\":");
            push_string(&mut self.out, &id);
            if let Some(name) = text("name").filter(|name| is_word(name)) {
                self.member("name");
                push_string(&mut self.out, &name);
            }
            if let Some(description) = text("description") {
                self.member("description");
                push_string(&mut self.out, &description);
            }
            let schema = item.get("inputSchema");
            if let Some(schema) = schema.filter(|schema| schema.kind() == Kind::Object) {
                self.member("inputSchema");
                self.out.push_str(schema.raw());
            }
            if let Some(tags) = item.get("tags") {
                self.words("tags", tags);
            }
            self.out.push('}');
        }
        self.out.push(']');
    }

    fn card(mut self) -> Option<Announcement> {
        self.out.push('}');
        let card = Card::restore(&self.out).ok()?;
        Some(Announcement::Card(Box::new(card)))
    }
}

fn is_word(text: &str) -> bool {
    (1..=256).contains(&text.chars().count())
}
