//! A JSON value that can be taken apart and put together: parts are cut out, and put back.
//!
//! Members are in the order of their names and strings have one spelling, so that documents which only
//! look different give the same envelopes. Numbers keep the text that they arrived in.

use protocol::json::{Kind, Value, push_string};

/// One JSON value.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Tree {
    /// null, a boolean, a number or a string, as JSON text.
    Scalar(String),
    List(Vec<Tree>),
    Object(Vec<(String, Tree)>),
}

impl Tree {
    /// The text was read with a limited depth, so this may recurse.
    pub(crate) fn of(value: Value<'_>) -> Self {
        match value.kind() {
            Kind::Null | Kind::Bool | Kind::Number => Self::Scalar(value.raw().to_owned()),
            Kind::String => Self::text(&value.as_str().unwrap_or_default()),
            Kind::Array => Self::List(value.items().map(Self::of).collect()),
            Kind::Object => {
                let mut members: Vec<_> = value
                    .members()
                    .map(|(key, value)| (key.text().into_owned(), Self::of(value)))
                    .collect();
                members.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
                Self::Object(members)
            }
        }
    }

    pub(crate) fn null() -> Self {
        Self::Scalar("null".into())
    }

    pub(crate) fn text(text: &str) -> Self {
        let mut json = String::with_capacity(text.len() + 2);
        push_string(&mut json, text);
        Self::Scalar(json)
    }

    pub(crate) fn flag(flag: bool) -> Self {
        Self::Scalar(flag.to_string())
    }

    pub(crate) fn object<const N: usize>(members: [(&str, Self); N]) -> Self {
        Self::Object(members.map(|(name, tree)| (name.to_owned(), tree)).into())
    }

    pub(crate) fn is_null(&self) -> bool {
        matches!(self, Self::Scalar(text) if text == "null")
    }

    /// The text of a string.
    pub(crate) fn as_text(&self) -> Option<String> {
        match self {
            Self::Scalar(json) if json.starts_with('"') => {
                let document = protocol::json::read(json.as_bytes(), crate::LIMITS).ok()?;
                document.root().as_str().map(std::borrow::Cow::into_owned)
            }
            Self::Scalar(_) | Self::List(_) | Self::Object(_) => None,
        }
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members.iter().find(|(key, _)| key == name).map(|(_, t)| t),
            Self::Scalar(_) | Self::List(_) => None,
        }
    }

    /// Adds a member at the end, to an object.
    pub(crate) fn push(&mut self, name: &str, tree: Self) {
        if let Self::Object(members) = self {
            members.push((name.to_owned(), tree));
        }
    }

    /// The object without a member.
    pub(crate) fn without(mut self, name: &str) -> Self {
        if let Self::Object(members) = &mut self {
            members.retain(|(key, _)| key != name);
        }
        self
    }

    /// What stands at a pointer.
    pub(crate) fn at(&self, pointer: &str) -> Option<&Self> {
        tokens(pointer)?
            .iter()
            .try_fold(self, |tree, token| match tree {
                Self::List(items) => items.get(index(token)?),
                Self::Object(_) => tree.get(token),
                Self::Scalar(_) => None,
            })
    }

    /// Puts `tree` where something stands already, and gives that back.
    pub(crate) fn replace(&mut self, pointer: &str, tree: Self) -> Option<Self> {
        let mut place = self;
        for token in tokens(pointer)? {
            place = match place {
                Self::List(items) => items.get_mut(index(&token)?)?,
                Self::Object(members) => {
                    let found = members.iter_mut().find(|(key, _)| *key == token);
                    &mut found?.1
                }
                Self::Scalar(_) => return None,
            };
        }
        Some(std::mem::replace(place, tree))
    }

    /// Its compact JSON text.
    pub(crate) fn to_json(&self) -> String {
        let mut out = String::new();
        self.write(&mut out);
        out
    }

    pub(crate) fn write(&self, out: &mut String) {
        match self {
            Self::Scalar(text) => out.push_str(text),
            Self::List(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Self::Object(members) => {
                out.push('{');
                for (at, (name, tree)) in members.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    push_string(out, name);
                    out.push(':');
                    tree.write(out);
                }
                out.push('}');
            }
        }
    }
}

/// The tokens of a pointer; `None` when it is none.
pub(crate) fn tokens(pointer: &str) -> Option<Vec<String>> {
    if pointer.is_empty() {
        return Some(Vec::new());
    }
    let tokens = pointer.strip_prefix('/')?.split('/');
    Some(
        tokens
            .map(|token| token.replace("~1", "/").replace("~0", "~"))
            .collect(),
    )
}

fn index(token: &str) -> Option<usize> {
    let is_plain = token == "0" || !token.starts_with(['0', '+']);
    token.parse().ok().filter(|_| is_plain)
}

/// The canonical text of a JSON text, when it has one.
pub(crate) fn canonical(json: &str) -> Option<String> {
    let document = protocol::json::read(json.as_bytes(), crate::LIMITS).ok()?;
    protocol::canonical::canonicalize(document.root(), &[]).ok()
}
