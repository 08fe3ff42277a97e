//! A value with its place, for readers that say exactly what is wrong where.

use crate::RULE;
use protocol::json::{Kind, Value, push_escaped};
use protocol::{Code, Fault};

/// Items of one list that are looked into.
pub(crate) const PARTS_MAX: usize = 100_000;

/// One value of the document that is read.
#[derive(Clone, Debug)]
pub(crate) struct Node<'d> {
    pub(crate) value: Value<'d>,
    pub(crate) pointer: String,
}

impl<'d> Node<'d> {
    pub(crate) fn root(value: Value<'d>) -> Self {
        Self {
            value,
            pointer: String::new(),
        }
    }

    fn below(&self, token: &str, value: Value<'d>) -> Self {
        let mut pointer = self.pointer.clone();
        pointer.push('/');
        push_escaped(&mut pointer, token);
        Self { value, pointer }
    }

    /// A member that is there and not null.
    pub(crate) fn get(&self, name: &str) -> Option<Self> {
        let value = self.value.get(name).filter(|value| !value.is_null())?;
        Some(self.below(name, value))
    }

    /// The first of several spellings that is there and not null.
    pub(crate) fn any(&self, names: &[&str]) -> Option<Self> {
        names.iter().find_map(|name| self.get(name))
    }

    pub(crate) fn need(&self, name: &str) -> Result<Self, Fault> {
        if self.value.kind() != Kind::Object {
            return Err(self.wrong("an object"));
        }
        self.get(name).ok_or_else(|| {
            let mut pointer = format!("{}/", self.pointer);
            push_escaped(&mut pointer, name);
            let got = self.value.get(name).map_or("nothing", |_| "null");
            let detail = format!("expected `{name}`, got {got}");
            Fault::new(Code::MissingField, pointer, RULE, detail)
        })
    }

    /// Its text, when it is a string.
    pub(crate) fn text(&self) -> Result<String, Fault> {
        let text = self.value.as_str();
        text.map(std::borrow::Cow::into_owned)
            .ok_or_else(|| self.wrong("a string"))
    }

    pub(crate) fn need_text(&self, name: &str) -> Result<String, Fault> {
        self.need(name)?.text()
    }

    /// A text that may be absent or null.
    pub(crate) fn text_of(&self, name: &str) -> Option<String> {
        self.get(name)?.text().ok()
    }

    pub(crate) fn is_text(&self, name: &str, word: &str) -> bool {
        self.text_of(name).as_deref() == Some(word)
    }

    pub(crate) fn is_object(&self) -> bool {
        self.value.kind() == Kind::Object
    }

    pub(crate) fn is_list(&self) -> bool {
        self.value.kind() == Kind::Array
    }

    pub(crate) fn items(&self) -> Result<Vec<Self>, Fault> {
        if !self.is_list() {
            return Err(self.wrong("an array"));
        }
        if self.value.items().nth(PARTS_MAX).is_some() {
            let detail = format!("expected at most {PARTS_MAX} items, got more");
            return Err(self.fault(Code::TooLong, detail));
        }
        Ok(self.children())
    }

    /// Its items or its members' values, the first of very many.
    pub(crate) fn children(&self) -> Vec<Self> {
        match self.value.kind() {
            Kind::Array => self
                .value
                .items()
                .take(PARTS_MAX)
                .enumerate()
                .map(|(at, item)| self.below(&at.to_string(), item))
                .collect(),
            Kind::Object => self
                .value
                .members()
                .take(PARTS_MAX)
                .map(|(key, value)| self.below(&key.text(), value))
                .collect(),
            Kind::Null | Kind::Bool | Kind::Number | Kind::String => Vec::new(),
        }
    }

    pub(crate) fn wrong(&self, wanted: &str) -> Fault {
        let got = self.value.kind().as_str();
        Fault::new(
            Code::TypeMismatch,
            self.pointer.clone(),
            RULE,
            format!("expected {wanted}, got {got}"),
        )
    }

    pub(crate) fn fault(&self, code: Code, detail: impl Into<String>) -> Fault {
        Fault::new(code, self.pointer.clone(), RULE, detail)
    }
}
