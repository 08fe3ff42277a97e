//! Documents out of envelopes: those that were wrapped as they were, the others written anew.

use crate::item::Kind;
use crate::mark::{MEMBER, Mark};
use crate::tree::{Tree, tokens};
use crate::write::{self, Said};
use crate::{Format, RULE, ids, intent};
use protocol::json::{self, Limits};
use protocol::{Act, Code, DialectName, Fault, Header, Rejection, Rules, Timestamp, translate};
use std::collections::BTreeMap;

/// The documents that envelopes were made of, in the order in which each was first met, as JSON texts.
/// What was never wrapped, and what was wrapped from another format than the one that is asked for, is
/// written in that format, together, at the place of the first of it. Envelopes of AEP and UAI-1 are
/// translated first. Of two envelopes of one part the later counts.
///
/// # Errors
/// Pointers count the envelopes as a list. Those of [`protocol::decode`] and of translation;
/// `missing_field` where the envelope of a part is not among them; `type_mismatch` for a mark that
/// cannot be read, `payload_invalid` where the payload contradicts it; `not_translatable` for what the
/// format has no word for, and when a format must be named.
pub fn unwrap(envelopes: &[&[u8]], format: Option<Format>) -> Result<Vec<String>, Rejection> {
    let mut places: Vec<Place> = Vec::new();
    let mut documents: BTreeMap<(String, Format, String), usize> = BTreeMap::new();
    let mut foreign: Option<usize> = None;
    for (number, envelope) in envelopes.iter().enumerate() {
        let read = Read::new(envelope).map_err(|refused| counted(refused, number))?;
        let wanted = |mark: &Mark| format.is_none_or(|format| format == mark.format);
        match &read.mark {
            Some(mark) if wanted(mark) => {
                let part = mark.restore(&read.payload);
                let part = part.map_err(|fault| counted(fault.into(), number))?;
                let key = (read.corr(), mark.format, mark.document.clone());
                let at = *documents.entry(key).or_insert_with(|| {
                    places.push(Place::Whole(BTreeMap::new()));
                    places.len() - 1
                });
                if let Some(Place::Whole(parts)) = places.get_mut(at) {
                    let below = mark.parts.iter().map(|below| format!("{}{below}", mark.at));
                    parts.insert(
                        mark.at.clone(),
                        Part {
                            number,
                            tree: part,
                            below: below.collect(),
                        },
                    );
                }
            }
            Some(_) | None => {
                let at = *foreign.get_or_insert_with(|| {
                    places.push(Place::Anew(Vec::new()));
                    places.len() - 1
                });
                if let Some(Place::Anew(said)) = places.get_mut(at) {
                    said.extend(read.said().map(|one| (number, one)));
                }
            }
        }
    }
    places
        .into_iter()
        .map(|place| place.written(format))
        .collect()
}

/// Like [`unwrap`], with everything written anew, whatever documents it was part of: for envelopes that
/// are not all of a document, such as those of one inbox.
///
/// # Errors
/// As [`unwrap`].
pub fn write_anew(envelopes: &[&[u8]], format: Format) -> Result<String, Rejection> {
    let mut said = Vec::with_capacity(envelopes.len());
    for (number, envelope) in envelopes.iter().enumerate() {
        let read = Read::new(envelope).map_err(|refused| counted(refused, number))?;
        said.extend(read.said().map(|one| (number, one)));
    }
    Place::Anew(said).written(Some(format))
}

enum Place {
    /// A document by its parts.
    Whole(BTreeMap<String, Part>),
    Anew(Vec<(usize, Said)>),
}

struct Part {
    number: usize,
    tree: Tree,
    /// Where parts of other envelopes stand in the document.
    below: Vec<String>,
}

impl Place {
    fn written(self, format: Option<Format>) -> Result<String, Rejection> {
        match (self, format) {
            (Self::Whole(parts), _) => Ok(whole(parts)?.to_json()),
            (Self::Anew(said), Some(format)) => Ok(write::write(&said, format)?.to_json()),
            (Self::Anew(said), None) => {
                let number = said.first().map_or(0, |(number, _)| *number);
                let detail = "expected the name of a format for what was never wrapped, got none";
                Err(Fault::new(Code::NotTranslatable, format!("/{number}"), RULE, detail).into())
            }
        }
    }
}

/// Puts a document together.
fn whole(mut parts: BTreeMap<String, Part>) -> Result<Tree, Fault> {
    let mut document = match parts.remove("") {
        Some(root) => {
            expect(&parts, &root)?;
            root.tree
        }
        None => Tree::List(vec![Tree::null(); top(&parts)?]),
    };
    for part in parts.values() {
        expect(&parts, part)?;
    }
    let mut order: Vec<(&String, &Part)> = parts.iter().collect();
    order.sort_by_key(|(at, _)| at.matches('/').count());
    for (at, part) in order {
        if document.replace(at, part.tree.clone()).is_none() {
            let detail = format!("expected a place at {at:?} in the document, got none");
            return Err(missing(part.number, detail));
        }
    }
    Ok(document)
}

/// How long the list is whose items have no common holder.
fn top(parts: &BTreeMap<String, Part>) -> Result<usize, Fault> {
    let mut numbers: Vec<usize> = Vec::new();
    for at in parts.keys() {
        let tokens = tokens(at).unwrap_or_default();
        if let [token] = tokens.as_slice()
            && let Ok(number) = token.parse()
        {
            numbers.push(number);
        }
    }
    numbers.sort_unstable();
    numbers.dedup();
    let lost = numbers
        .iter()
        .enumerate()
        .find(|(at, number)| at != *number);
    let first = parts.values().next().map_or(0, |part| part.number);
    if numbers.is_empty() {
        let detail = "expected the envelope of the whole document, got none".to_owned();
        return Err(missing(first, detail));
    }
    match lost {
        Some((at, _)) => Err(missing(first, gone(&format!("/{at}")))),
        None => Ok(numbers.len()),
    }
}

fn expect(parts: &BTreeMap<String, Part>, part: &Part) -> Result<(), Fault> {
    match part.below.iter().find(|below| !parts.contains_key(*below)) {
        Some(below) => Err(missing(part.number, gone(below))),
        None => Ok(()),
    }
}

fn gone(at: &str) -> String {
    format!("expected the envelope of the part {at:?} of the document as well, got none")
}

fn missing(number: usize, detail: String) -> Fault {
    Fault::new(Code::MissingField, format!("/{number}"), RULE, detail)
}

fn counted(refused: Rejection, number: usize) -> Rejection {
    let faults: Vec<_> = refused
        .all()
        .map(|fault| Fault {
            pointer: format!("/{number}{}", fault.pointer),
            ..fault.clone()
        })
        .collect();
    Rejection::from_faults(faults).unwrap_or(refused)
}

/// One envelope that was read.
struct Read {
    header: Header,
    payload: Tree,
    mark: Option<Mark>,
    ts: String,
}

impl Read {
    fn new(envelope: &[u8]) -> Result<Self, Rejection> {
        let rules = Rules {
            // A document in it may be there as text and read.
            envelope_bytes_max: crate::LIMITS.bytes_max * 4,
            ..Rules::at(Timestamp::from_millis(i64::MIN))
        };
        let (header, _) = protocol::decode(envelope, &rules).into_result()?;
        if header.dialect != DialectName::Aee {
            let text = translate::translate(envelope, DialectName::Aee)?;
            return Self::new(text.as_bytes());
        }
        let limits = Limits {
            bytes_max: rules.envelope_bytes_max,
            depth_max: rules.depth_max,
        };
        let document = json::read(envelope, limits)?;
        let root = document.root();
        let payload = root
            .get("payload")
            .map(Tree::of)
            .unwrap_or_else(|| Tree::object([]));
        let mark = payload.get(MEMBER).map(Mark::read).transpose()?;
        let ts = root.get("ts").and_then(json::Value::as_str);
        Ok(Self {
            ts: ts.map(std::borrow::Cow::into_owned).unwrap_or_default(),
            header,
            payload,
            mark,
        })
    }

    fn corr(&self) -> String {
        self.header
            .conversation
            .as_deref()
            .unwrap_or_default()
            .to_owned()
    }

    /// What it says, in no framework's words; nothing when it only held what other envelopes say.
    fn said(&self) -> Option<Said> {
        let intent = self.header.intent.as_deref().unwrap_or_default();
        let marked = |get: fn(&Mark) -> &Option<String>| {
            self.mark.as_ref().and_then(|mark| get(mark).clone())
        };
        let name = marked(|mark| &mark.name).unwrap_or_else(|| intent::tool_of(intent));
        let named = marked(|mark| &mark.call);
        let cause = self.header.cause.as_deref().unwrap_or_default();
        let is_error = self.header.kind.as_ref() == "error";
        let kind = match self.header.kind.as_ref() {
            "task" => Kind::Call {
                id: named.unwrap_or_else(|| ids::call_of(&self.header.id)),
                name,
            },
            "result" | "error" => Kind::Result {
                call: named.unwrap_or_else(|| ids::call_of(cause)),
                name: Some(name),
                is_error,
            },
            _ => Kind::Message {
                role: marked(|mark| &mark.role).unwrap_or_else(|| self.role()),
            },
        };
        let payload = self.payload.clone().without(MEMBER);
        let is_message = matches!(kind, Kind::Message { .. });
        if is_message && self.mark.is_some() && payload == Tree::object([]) {
            return None;
        }
        let to = self
            .mark
            .as_ref()
            .and_then(|mark| mark.moved.as_ref()?.to.clone());
        let content = match (&kind, &payload) {
            (Kind::Call { .. }, _) => match to.and_then(|to| payload.get(&to).cloned()) {
                Some(input) => Tree::object([("input", input)]),
                None => payload,
            },
            (Kind::Result { is_error: true, .. }, _) => {
                payload.get("message").cloned().unwrap_or(payload)
            }
            // What says nothing but its content is that content.
            (_, Tree::Object(members)) => match (members.as_slice(), payload.get("content")) {
                ([_], Some(content)) => content.clone(),
                _ => payload,
            },
            (_, Tree::Scalar(_) | Tree::List(_)) => payload,
        };
        Some(Said {
            kind,
            content,
            sender: self.header.sender.to_aee(),
            id: self.header.id.to_string(),
            ts: self.ts.clone(),
        })
    }

    fn role(&self) -> String {
        let is_human = self.header.sender.kind() == Some("human");
        let is_told = matches!(self.header.act, Act::Control);
        if is_human || is_told {
            "user"
        } else {
            "assistant"
        }
        .into()
    }
}
