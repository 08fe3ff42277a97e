//! The member of a payload that holds what AEE has no field for: where the part stood, what of it is
//! not said elsewhere, and what was moved.

use crate::tree::{Tree, canonical, tokens};
use crate::{Format, RULE};
use protocol::{Code, Fault};

/// The member of `payload` that holds it.
pub const MEMBER: &str = "interwire_format";

/// How a content was moved from the item into the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    /// It is there, and not in the rest.
    Value,
    /// It was the canonical text of what is there.
    Json,
    /// The rest holds the text of what is there, in a spelling of its own.
    Copy,
}

impl How {
    fn as_str(self) -> &'static str {
        match self {
            Self::Value => "value",
            Self::Json => "json",
            Self::Copy => "copy",
        }
    }
}

/// A content that was moved.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Moved {
    /// Counted from the item.
    pub(crate) from: String,
    /// The member of the payload, or all of it but the mark.
    pub(crate) to: Option<String>,
    pub(crate) how: How,
    /// Items of a list that are parts of their own.
    pub(crate) gaps: Vec<usize>,
}

/// What an envelope says of the part that it is.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Mark {
    pub(crate) format: Format,
    pub(crate) document: String,
    pub(crate) at: String,
    pub(crate) call: Option<String>,
    pub(crate) name: Option<String>,
    pub(crate) role: Option<String>,
    pub(crate) rest: Tree,
    pub(crate) moved: Option<Moved>,
    /// Where other envelopes' parts stand, counted from the item.
    pub(crate) parts: Vec<String>,
}

impl Mark {
    pub(crate) fn to_tree(&self) -> Tree {
        let mut mark = Tree::object([
            ("format", Tree::text(self.format.as_str())),
            ("document", Tree::text(&self.document)),
            ("at", Tree::text(&self.at)),
        ]);
        for (name, value) in [
            ("call", &self.call),
            ("name", &self.name),
            ("role", &self.role),
        ] {
            if let Some(value) = value {
                mark.push(name, Tree::text(value));
            }
        }
        if let Some(moved) = &self.moved {
            let mut tree = Tree::object([("from", Tree::text(&moved.from))]);
            if let Some(to) = &moved.to {
                tree.push("to", Tree::text(to));
            }
            tree.push("how", Tree::text(moved.how.as_str()));
            if !moved.gaps.is_empty() {
                let gaps = moved.gaps.iter().map(|gap| Tree::Scalar(gap.to_string()));
                tree.push("gaps", Tree::List(gaps.collect()));
            }
            mark.push("moved", tree);
        }
        if !self.parts.is_empty() {
            let parts = self.parts.iter().map(|part| Tree::text(part)).collect();
            mark.push("parts", Tree::List(parts));
        }
        mark.push("rest", self.rest.clone());
        mark
    }

    /// Reads it. Pointers of faults are counted from the envelope.
    pub(crate) fn read(tree: &Tree) -> Result<Self, Fault> {
        let text = |name: &str| tree.get(name).and_then(Tree::as_text);
        let need = |name: &str| text(name).ok_or_else(|| wrong(name, "a string"));
        let pointer = |name: &str, text: String| match tokens(&text) {
            Some(_) => Ok(text),
            None => Err(wrong(name, "a JSON pointer")),
        };
        let format = Format::parse(&need("format")?)
            .ok_or_else(|| wrong("format", "the name of a framework that is known"))?;
        let moved = tree.get("moved").map(Moved::read).transpose()?;
        let parts = match tree.get("parts") {
            None => Vec::new(),
            Some(Tree::List(parts)) => parts
                .iter()
                .map(|part| {
                    let text = part.as_text().ok_or_else(|| wrong("parts", "strings"))?;
                    pointer("parts", text)
                })
                .collect::<Result<_, _>>()?,
            Some(_) => return Err(wrong("parts", "an array")),
        };
        Ok(Self {
            format,
            document: need("document")?,
            at: pointer("at", need("at")?)?,
            call: text("call"),
            name: text("name"),
            role: text("role"),
            rest: tree
                .get("rest")
                .cloned()
                .ok_or_else(|| wrong("rest", "the rest of the part"))?,
            moved,
            parts,
        })
    }

    /// The part as it was, with null where other envelopes' parts stand. `payload` has the mark in it.
    pub(crate) fn restore(&self, payload: &Tree) -> Result<Tree, Fault> {
        let mut part = self.rest.clone();
        let Some(moved) = &self.moved else {
            return Ok(part);
        };
        let content = match &moved.to {
            None => payload.clone().without(MEMBER),
            Some(name) => payload.get(name).cloned().ok_or_else(|| {
                let detail =
                    format!("expected `{name}`, which holds a part of the document, got nothing");
                Fault::new(Code::MissingField, format!("/payload/{name}"), RULE, detail)
            })?,
        };
        let old = match moved.how {
            How::Value => part.replace(&moved.from, filled(content, &moved.gaps)?),
            How::Json => {
                let text = canonical(&content.to_json());
                let text =
                    text.ok_or_else(|| wrong("moved", "numbers that everyone reads alike"))?;
                part.replace(&moved.from, Tree::text(&text))
            }
            How::Copy => {
                let kept = part.at(&moved.from).and_then(Tree::as_text);
                let is_it = kept.as_deref().is_some_and(|kept| is_same(kept, &content));
                if !is_it {
                    let detail = "expected the arguments that the text in `rest` holds, got others";
                    return Err(Fault::new(Code::PayloadInvalid, "/payload", RULE, detail));
                }
                return Ok(part);
            }
        };
        match old {
            Some(_) => Ok(part),
            None => Err(wrong("moved", "a place in `rest`")),
        }
    }
}

impl Moved {
    fn read(tree: &Tree) -> Result<Self, Fault> {
        let text = |name: &str| tree.get(name).and_then(Tree::as_text);
        let from = text("from").filter(|from| tokens(from).is_some());
        let how = text("how").and_then(|how| {
            [How::Value, How::Json, How::Copy]
                .into_iter()
                .find(|one| one.as_str() == how)
        });
        let gaps = match tree.get("gaps") {
            None => Some(Vec::new()),
            Some(Tree::List(gaps)) => gaps
                .iter()
                .map(|gap| match gap {
                    Tree::Scalar(text) => text.parse().ok(),
                    Tree::List(_) | Tree::Object(_) => None,
                })
                .collect(),
            Some(_) => None,
        };
        match (from, how, gaps) {
            (Some(from), Some(how), Some(gaps)) => Ok(Self {
                from,
                to: text("to"),
                how,
                gaps,
            }),
            _ => Err(wrong(
                "moved",
                "an object with `from`, `how` and perhaps `to` and `gaps`",
            )),
        }
    }
}

/// The list with null in its gaps.
fn filled(content: Tree, gaps: &[usize]) -> Result<Tree, Fault> {
    if gaps.is_empty() {
        return Ok(content);
    }
    let Tree::List(mut items) = content else {
        return Err(wrong("moved", "an array as the content"));
    };
    for gap in gaps {
        if *gap > items.len() {
            return Err(wrong("moved", "gaps in ascending order within the content"));
        }
        items.insert(*gap, Tree::null());
    }
    Ok(Tree::List(items))
}

/// Whether a JSON text says what a tree says.
pub(crate) fn is_same(text: &str, tree: &Tree) -> bool {
    match (canonical(text), canonical(&tree.to_json())) {
        (Some(one), Some(other)) => one == other,
        // Numbers that have no canonical form are compared as they are written.
        (None, None) => protocol::json::read(text.as_bytes(), crate::LIMITS)
            .is_ok_and(|document| Tree::of(document.root()) == *tree),
        (Some(_), None) | (None, Some(_)) => false,
    }
}

fn wrong(name: &str, wanted: &str) -> Fault {
    let pointer = format!("/payload/{MEMBER}/{name}");
    let detail = format!("expected {wanted}, got something else");
    Fault::new(Code::TypeMismatch, pointer, RULE, detail)
}
