//! One envelope for each part of a document.

use crate::envelope::Envelope;
use crate::item::{Form, Item, Kind};
use crate::mark::{How, MEMBER, Mark, Moved, is_same};
use crate::read::read_document;
use crate::tree::{Tree, canonical};
use crate::{Format, LIMITS, RULE, Reading, ids, intent};
use protocol::{Code, Fault, Rejection, Timestamp, id, json};
use std::collections::HashMap;

/// How much of an envelope is written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tier {
    /// A log record, which is kept and never delivered: MVE-5 of both texts, with conversation, cause
    /// and payload.
    Mve5,
    /// All fourteen members, for work.
    #[default]
    Full,
}

impl Tier {
    /// The reverse of the word on every surface, `mve5` or `full`.
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        match word {
            "mve5" => Some(Self::Mve5),
            "full" => Some(Self::Full),
            _ => None,
        }
    }
}

/// What a document does not say.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// How much of an envelope is written.
    pub tier: Tier,
    /// Who speaks where the document names nobody: whose document it is. Without it `agent.<format>`.
    pub party: Option<String>,
    /// Who is spoken to, and who answers. Without it `service.tools` for calls, `human.user` for what is
    /// said in a chat, `service.<format>` for who runs agents, `bus.<format>` for who reads along.
    pub peer: Option<String>,
    /// The conversation. Without it the one that the document names, or the document's own id, or one
    /// that follows from its content.
    pub conversation: Option<String>,
    /// The name of the document, where several of one conversation have no id of their own. A document
    /// that grows keeps its name, and what was wrapped before is wrapped alike.
    pub document: Option<String>,
    /// The time of everything, whatever the document says.
    pub time: Option<Timestamp>,
}

/// The envelopes of a document of `format`, or of the one that it looks like. Where the document gives no
/// time, and neither do the options, it is the zero of time: a repeat is recognised by its bytes.
///
/// # Errors
/// Those of [`crate::read`]; `pattern_mismatch` for options that no envelope can hold.
pub fn wrap(
    text: &[u8],
    format: Option<Format>,
    options: &Options,
) -> Result<Vec<String>, Rejection> {
    check(options)?;
    let document = json::read(text, LIMITS)?;
    let reading = read_document(&document, format)?;
    let root = Tree::of(document.root());
    let plain = |text: &Option<String>| text.clone().filter(|text| id::is_plain(text));
    let corr = plain(&options.conversation)
        .or_else(|| plain(&reading.conversation))
        .or_else(|| plain(&reading.id))
        .unwrap_or_else(|| {
            let text = root.to_json();
            ids::of_document(canonical(&text).as_deref().unwrap_or(&text))
        });
    let name = reading.id.clone().or_else(|| options.document.clone());
    let name = name.unwrap_or_else(|| corr.clone());
    let wrapping = Wrapping::new(&reading, &root, options, corr, name);
    Ok(wrapping.envelopes())
}

fn check(options: &Options) -> Result<(), Fault> {
    let wrong = |what, wanted: &str| {
        let detail = format!("expected {what} {wanted}, got something else");
        Err(Fault::new(Code::PatternMismatch, "", RULE, detail))
    };
    let is_party = |text: &str| (1..=255).contains(&text.len()) && !text.contains(char::is_control);
    for party in [&options.party, &options.peer].into_iter().flatten() {
        if !is_party(party) {
            return wrong("a party", "of 1 to 255 bytes without control characters");
        }
    }
    if options
        .conversation
        .as_deref()
        .is_some_and(|corr| !id::is_plain(corr))
    {
        return wrong(
            "a conversation",
            "of 8 to 128 printable ASCII characters without space",
        );
    }
    Ok(())
}

struct Wrapping<'r> {
    reading: &'r Reading,
    root: &'r Tree,
    options: &'r Options,
    corr: String,
    document: String,
    /// Items by where they stand.
    by_place: HashMap<&'r str, usize>,
    /// The nearest item that holds each.
    holders: Vec<Option<usize>>,
    parts: Vec<Vec<usize>>,
    intents: HashMap<&'r str, String>,
}

impl<'r> Wrapping<'r> {
    fn new(
        reading: &'r Reading,
        root: &'r Tree,
        options: &'r Options,
        corr: String,
        document: String,
    ) -> Self {
        let items = &reading.items;
        let by_place: HashMap<_, _> = items
            .iter()
            .enumerate()
            .map(|(n, item)| (&*item.at, n))
            .collect();
        let mut parts = vec![Vec::new(); items.len()];
        let mut holders = Vec::with_capacity(items.len());
        for (number, item) in items.iter().enumerate() {
            let holder = above(&item.at).find_map(|place| by_place.get(place).copied());
            if let Some(parts) = holder.and_then(|holder| parts.get_mut(holder)) {
                parts.push(number);
            }
            holders.push(holder);
        }
        let intents = items.iter().filter_map(|item| match &item.kind {
            Kind::Call { id, name } => Some((&**id, intent::of_tool(name))),
            Kind::Result { .. } | Kind::Message { .. } | Kind::Document { .. } => None,
        });
        Self {
            intents: intents.collect(),
            reading,
            root,
            options,
            corr,
            document,
            by_place,
            holders,
            parts,
        }
    }

    /// In the order of the items. Ids of what holds others are needed first.
    fn envelopes(&self) -> Vec<String> {
        let mut order: Vec<usize> = (0..self.reading.items.len()).collect();
        let depth = |number: &usize| {
            self.item(*number)
                .map_or(0, |item| item.at.matches('/').count())
        };
        order.sort_by_key(depth);
        debug_assert_eq!(self.by_place.len(), order.len());
        let mut known = vec![String::new(); order.len()];
        let mut written = vec![String::new(); order.len()];
        for number in order {
            let Some(item) = self.item(number) else {
                continue;
            };
            let envelope = self.envelope(number, item, &known);
            let tier = self.options.tier;
            let id = match &item.kind {
                Kind::Call { id, .. } => ids::of_call(id, &self.corr),
                Kind::Result { .. } | Kind::Message { .. } | Kind::Document { .. } => {
                    ids::of_content(&envelope.write("", tier))
                }
            };
            if let Some(place) = written.get_mut(number) {
                *place = envelope.write(&id, tier);
            }
            if let Some(place) = known.get_mut(number) {
                *place = id;
            }
        }
        written
    }

    fn item(&self, number: usize) -> Option<&'r Item> {
        self.reading.items.get(number)
    }

    fn envelope(&self, number: usize, item: &Item, known: &[String]) -> Envelope {
        let (kind, intent, role) = match &item.kind {
            Kind::Call { name, .. } => ("task", intent::of_tool(name), None),
            Kind::Result {
                call,
                name,
                is_error,
            } => {
                let by_name = name.as_deref().map(intent::of_tool);
                let by_call = self.intents.get(&**call).cloned();
                let intent = by_call.or(by_name).unwrap_or_else(|| "tool.result".into());
                (if *is_error { "error" } else { "result" }, intent, None)
            }
            Kind::Message { role } => {
                let kind = if item.is_partial { "stream" } else { "event" };
                let family = if self.is_chat() { "llm" } else { "agent" };
                let intent = format!("{family}.message.{}", intent::segment(role));
                (kind, intent, Some(role.clone()))
            }
            Kind::Document { intent } => ("event", (*intent).to_owned(), None),
        };
        let reply_to = match &item.kind {
            Kind::Result { call, .. } => Some(ids::of_call(call, &self.corr)),
            Kind::Call { .. } | Kind::Message { .. } | Kind::Document { .. } => self
                .holder_that_says(number)
                .and_then(|holder| known.get(holder).cloned()),
        };
        let (payload, mark) = self.payload(number, item, role);
        let (from, to) = self.parties(item);
        let mut payload = payload;
        payload.push(MEMBER, mark.to_tree());
        let time = self.options.time.or(item.time).or(self.reading.time);
        Envelope {
            kind,
            from,
            to,
            intent,
            corr: self.corr.clone(),
            reply_to,
            ts: time.unwrap_or_default(),
            payload,
        }
    }

    fn is_chat(&self) -> bool {
        match self.reading.format {
            Format::OpenAi | Format::Anthropic | Format::Google | Format::LangChain => true,
            Format::LangGraph | Format::AutoGen | Format::CrewAi => false,
        }
    }

    /// What holds an item and was there before it: a result holds the words of its call.
    fn holder_that_says(&self, number: usize) -> Option<usize> {
        let mut holder = self.holders.get(number).copied().flatten();
        while let Some(at) = holder {
            match self.item(at)?.kind {
                Kind::Message { .. } | Kind::Document { .. } => return Some(at),
                Kind::Call { .. } | Kind::Result { .. } => {
                    holder = self.holders.get(at).copied().flatten();
                }
            }
        }
        None
    }

    fn parties(&self, item: &Item) -> (String, String) {
        let format = self.reading.format.as_str();
        let own = match (&item.speaker, &self.options.party) {
            (Some(speaker), _) if !self.is_chat() => intent::party(speaker),
            (_, Some(party)) => party.clone(),
            (Some(_) | None, None) => format!("agent.{format}"),
        };
        let peer = self
            .options
            .peer
            .clone()
            .unwrap_or_else(|| match &item.kind {
                Kind::Call { .. } if item.is_own => "service.tools".into(),
                Kind::Result { .. } if !item.is_own => "service.tools".into(),
                Kind::Message { .. } if self.is_chat() => "human.user".into(),
                Kind::Message { .. } | Kind::Document { .. } if item.is_own => {
                    format!("bus.{format}")
                }
                // Who runs the agents asks them, and hears what came of it.
                Kind::Call { .. }
                | Kind::Result { .. }
                | Kind::Message { .. }
                | Kind::Document { .. } => {
                    format!("service.{format}")
                }
            });
        match &item.kind {
            Kind::Message { .. } if !item.is_own && !self.is_chat() => {
                // Who is named in the document speaks; the party that it is of hears it.
                let party = self
                    .options
                    .party
                    .clone()
                    .unwrap_or_else(|| format!("agent.{format}"));
                let from = item.speaker.as_deref().map_or(peer, intent::party);
                (from, party)
            }
            Kind::Call { .. }
            | Kind::Result { .. }
            | Kind::Message { .. }
            | Kind::Document { .. } => {
                if item.is_own {
                    (own, peer)
                } else {
                    (peer, own)
                }
            }
        }
    }

    fn payload(&self, number: usize, item: &Item, role: Option<String>) -> (Tree, Mark) {
        let mut rest = self.root.at(&item.at).cloned().unwrap_or_else(Tree::null);
        let parts: Vec<String> = self
            .parts
            .get(number)
            .into_iter()
            .flatten()
            .filter_map(|part| self.item(*part)?.at.get(item.at.len()..).map(str::to_owned))
            .collect();
        for part in &parts {
            rest.replace(part, Tree::null());
        }
        let mut payload = Tree::object([]);
        let moved = self.content(item, &mut rest, &parts, &mut payload);
        let (call, name) = match &item.kind {
            Kind::Call { id, name } => (Some(id.clone()), Some(name.clone())),
            Kind::Result { call, name, .. } => (Some(call.clone()), name.clone()),
            Kind::Message { .. } | Kind::Document { .. } => (None, None),
        };
        let mark = Mark {
            format: self.reading.format,
            document: self.document.clone(),
            at: item.at.clone(),
            call,
            name,
            role,
            rest,
            moved,
            parts,
        };
        (payload, mark)
    }

    /// Moves the content of an item into the payload.
    fn content(
        &self,
        item: &Item,
        rest: &mut Tree,
        parts: &[String],
        payload: &mut Tree,
    ) -> Option<Moved> {
        if let Kind::Result { is_error: true, .. } = item.kind {
            payload.push("code", Tree::text("E_FAILED"));
        }
        let Some((from, form)) = &item.content else {
            if let Kind::Result { is_error: true, .. } = item.kind {
                payload.push("message", Tree::text("the tool failed"));
            }
            return None;
        };
        let mut content = rest.at(from)?.clone();
        let mut how = How::Value;
        let is_call = matches!(item.kind, Kind::Call { .. });
        if *form == Form::Text {
            let text = content.as_text()?;
            if let Some(parsed) = parsed(&text) {
                let is_canonical = canonical(&text).as_deref() == Some(&*text);
                how = if is_canonical { How::Json } else { How::Copy };
                debug_assert!(is_same(&text, &parsed));
                content = parsed;
            }
        }
        let gaps = gaps(from, parts, &content)?;
        if let (Tree::List(items), false) = (&mut content, gaps.is_empty()) {
            let mut number = 0;
            items.retain(|_| {
                number += 1;
                !gaps.contains(&(number - 1))
            });
        }
        if how != How::Copy {
            rest.replace(from, Tree::null());
        }
        let to = match (&item.kind, &content) {
            (Kind::Call { .. }, Tree::Object(members)) if content.get(MEMBER).is_none() => {
                for (name, tree) in members {
                    payload.push(name, tree.clone());
                }
                None
            }
            (Kind::Result { is_error: true, .. }, Tree::Scalar(text)) if text.starts_with('"') => {
                payload.push("message", content.clone());
                Some("message")
            }
            (Kind::Result { is_error: true, .. }, _) => {
                let told = content.get("error").filter(|told| told.as_text().is_some());
                let told = told
                    .cloned()
                    .unwrap_or_else(|| Tree::text("the tool failed"));
                payload.push("message", told);
                payload.push("content", content);
                Some("content")
            }
            _ => {
                let name = if is_call { "input" } else { "content" };
                payload.push(name, content);
                Some(name)
            }
        };
        Some(Moved {
            from: from.clone(),
            to: to.map(str::to_owned),
            how,
            gaps,
        })
    }
}

/// The object in a JSON text.
fn parsed(text: &str) -> Option<Tree> {
    let document = json::read(text.as_bytes(), LIMITS).ok()?;
    let tree = Tree::of(document.root());
    matches!(tree, Tree::Object(_)).then_some(tree)
}

/// Which items of a content are parts of their own; `None` when it cannot be told without them.
fn gaps(from: &str, parts: &[String], content: &Tree) -> Option<Vec<usize>> {
    let inside: Vec<&str> = parts
        .iter()
        .filter_map(|part| {
            let below = part.strip_prefix(from)?;
            (below.is_empty() || below.starts_with('/')).then_some(below)
        })
        .collect();
    if inside.is_empty() {
        return Some(Vec::new());
    }
    let Tree::List(items) = content else {
        return None;
    };
    let mut gaps = inside
        .iter()
        .map(|below| below.strip_prefix('/')?.parse().ok())
        .collect::<Option<Vec<usize>>>()?;
    gaps.sort_unstable();
    (gaps.len() < items.len()).then_some(gaps)
}

/// The places that hold a place, the nearest first.
fn above(place: &str) -> impl Iterator<Item = &str> {
    let mut rest = Some(place);
    std::iter::from_fn(move || {
        let (above, _) = rest?.rsplit_once('/')?;
        rest = Some(above);
        rest
    })
}
