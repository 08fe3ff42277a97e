//! Reading a document: which calls, results and messages it holds, and everything that is wrong.

mod anthropic;
mod autogen;
mod crewai;
mod google;
mod langchain;
mod langgraph;
mod openai;

pub(crate) use google::{is_declaration, is_declared};
pub(crate) use langchain::body as langchain_body;

use crate::item::{Item, Kind};
use crate::node::Node;
use crate::{Format, LIMITS, detect};
use protocol::json::{self, Document, Value};
use protocol::{Code, Fault, Rejection, Timestamp};
use std::collections::{HashMap, HashSet, VecDeque};

/// Faults that one document is told about.
const FAULTS_MAX: usize = 100;

/// What a document holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reading {
    /// Whose form it is.
    pub format: Format,
    /// Its parts.
    pub items: Vec<Item>,
    /// The document's own id, where it has one.
    pub id: Option<String>,
    /// The conversation that it says it is of.
    pub conversation: Option<String>,
    /// When it was made, where it says so.
    pub time: Option<Timestamp>,
}

/// Reads a document of `format`, or of the one that it looks like.
///
/// # Errors
/// Those of JSON (16 MiB, depth 56); `type_mismatch` for what no known framework writes, `missing_field`,
/// `enum_unknown`, each with its pointer; all of them, up to a hundred.
pub fn read(text: &[u8], format: Option<Format>) -> Result<Reading, Rejection> {
    read_document(&json::read(text, LIMITS)?, format)
}

pub(crate) fn read_document(
    document: &Document<'_>,
    format: Option<Format>,
) -> Result<Reading, Rejection> {
    let root = Node::root(document.root());
    let format = match format {
        Some(format) => format,
        None => detect(root.value).ok_or_else(|| unknown(&root))?,
    };
    let mut reader = Reader::default();
    match format {
        Format::OpenAi => openai::read(&mut reader, &root),
        Format::Anthropic => anthropic::read(&mut reader, &root),
        Format::Google => google::read(&mut reader, &root),
        Format::LangChain => langchain::read(&mut reader, &root),
        Format::LangGraph => langgraph::read(&mut reader, &root),
        Format::AutoGen => autogen::read(&mut reader, &root),
        Format::CrewAi => crewai::read(&mut reader, &root),
    }
    if reader.faults.is_empty() && reader.items.is_empty() {
        let detail = "expected at least one message, call or result, got none";
        reader.note(root.fault(Code::TooShort, detail));
    }
    match Rejection::from_faults(reader.faults) {
        Some(refused) => Err(refused),
        None => Ok(Reading {
            format,
            items: reader.items,
            id: reader.id,
            conversation: reader.conversation,
            time: reader.time,
        }),
    }
}

fn unknown(root: &Node<'_>) -> Fault {
    let names: Vec<_> = root
        .value
        .members()
        .take(8)
        .map(|(key, _)| format!("{:?}", key.text().chars().take(32).collect::<String>()))
        .collect();
    let got = if names.is_empty() {
        root.value.kind().as_str().to_owned()
    } else {
        format!("an object with {}", names.join(", "))
    };
    let detail = format!(
        "expected what openai, anthropic, google, langchain, langgraph, autogen or crewai writes, got {got}"
    );
    root.fault(Code::TypeMismatch, detail)
}

/// What has been found so far.
#[derive(Default)]
struct Reader {
    items: Vec<Item>,
    faults: Vec<Fault>,
    id: Option<String>,
    conversation: Option<String>,
    time: Option<Timestamp>,
    /// Who made each call, where the document says so.
    calls: HashMap<String, Option<String>>,
    results: HashSet<String>,
    /// Calls without an id of their own, by name: how many there were, and which have no result yet.
    unnamed: HashMap<String, (usize, VecDeque<String>)>,
}

impl Reader {
    fn note(&mut self, fault: Fault) {
        if self.faults.len() < FAULTS_MAX {
            self.faults.push(fault);
        }
    }

    /// Notes what went wrong.
    fn ok<T>(&mut self, result: Result<T, Fault>) -> Option<T> {
        result.map_err(|fault| self.note(fault)).ok()
    }

    fn push(&mut self, item: Item) {
        self.items.push(item);
    }

    fn document(&mut self, node: &Node<'_>, intent: &'static str) {
        let time = self.time;
        self.push(Item::new(&node.pointer, Kind::Document { intent }).time(time));
    }

    /// The id of a call: its own, or its name and how many calls of that name had none before it.
    fn call_id(&mut self, own: Option<String>, name: &str) -> String {
        own.filter(|id| !id.is_empty()).unwrap_or_else(|| {
            let (count, open) = self.unnamed.entry(name.to_owned()).or_default();
            let id = format!("{name}#{count}");
            *count += 1;
            open.push_back(id.clone());
            id
        })
    }

    /// The id of the call that a result is of.
    fn result_of(&mut self, own: Option<String>, name: &str) -> String {
        own.filter(|id| !id.is_empty()).unwrap_or_else(|| {
            let (count, open) = self.unnamed.entry(name.to_owned()).or_default();
            open.pop_front().unwrap_or_else(|| {
                // Its call is in another document.
                let id = format!("{name}#{count}");
                *count += 1;
                id
            })
        })
    }

    /// A call, unless it was made before: what is asked twice under one id is asked once, and the copy
    /// stays in what holds it.
    fn call(&mut self, item: Item) -> bool {
        let Kind::Call { id, .. } = &item.kind else {
            return false;
        };
        let is_new = !self.calls.contains_key(id);
        if is_new {
            self.calls.insert(id.clone(), item.speaker.clone());
            self.items.push(item);
        }
        is_new
    }

    /// A result, unless that call has one already.
    /// It is for who made the call, unless it says for whom it is.
    fn result(&mut self, mut item: Item) -> bool {
        let Kind::Result { call, .. } = &item.kind else {
            return false;
        };
        let is_new = self.results.insert(call.clone());
        if is_new {
            let caller = self.calls.get(call).cloned().flatten();
            item.speaker = item.speaker.or(caller);
            self.items.push(item);
        }
        is_new
    }

    /// A call or a result that is a whole item of a list: a repeat is something said.
    fn whole(&mut self, item: Item, role: &str) {
        let again = Item {
            kind: Kind::Message { role: role.into() },
            ..item.clone()
        };
        let is_new = match &item.kind {
            Kind::Call { .. } => self.call(item),
            Kind::Result { .. } => self.result(item),
            Kind::Message { .. } | Kind::Document { .. } => false,
        };
        if !is_new {
            self.push(again);
        }
    }
}

/// A time as texts say it, or as seconds.
fn time(node: Option<Node<'_>>) -> Option<Timestamp> {
    let value: Value<'_> = node?.value;
    if let Some(text) = value.as_str() {
        // Without a zone it is UTC: that is what these frameworks write.
        let zoned = format!("{text}Z");
        return Timestamp::parse_rfc3339(&text)
            .or_else(|| Timestamp::parse_rfc3339(&zoned))
            .map(|(time, _)| time);
    }
    let seconds = value.as_f64().filter(|s| (0.0..1e11).contains(s))?;
    Some(Timestamp::from_millis((seconds * 1_000.0) as i64))
}
