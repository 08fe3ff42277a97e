//! Members of request objects, read strictly and with every fault: bodies of routes and operations
//! of the socket have one reader.

use super::consumers;
use broker::PlaceName;
use protocol::json::{Kind, Value, push_escaped};
use protocol::{Code, Fault, Party, Rejection};
use std::borrow::Cow;
use std::ops::RangeInclusive;
use std::sync::Arc;

/// One request object and the faults found in it so far.
pub(crate) struct Members<'d> {
    object: Value<'d>,
    code: Code,
    faults: Vec<Fault>,
}

impl<'d> Members<'d> {
    /// Begins; `code` is what faults are called: `bad_request` or `bad_frame`.
    pub(crate) fn of(object: Value<'d>, code: Code) -> Self {
        let mut members = Self {
            object,
            code,
            faults: Vec::new(),
        };
        if object.kind() != Kind::Object {
            members.refuse(
                "",
                format!("expected an object, got {}", object.kind().as_str()),
            );
        }
        members
    }

    /// Refuses members that are not in `names`.
    pub(crate) fn only(mut self, names: &[&str]) -> Self {
        for (key, _) in self.object.members() {
            let name = key.text();
            if !names.contains(&&*name) {
                let mut pointer = String::from("/");
                push_escaped(&mut pointer, &name);
                let detail = format!("expected only {}, got {name:?}", names.join(", "));
                self.faults
                    .push(Fault::new(self.code, pointer, "OPENAPI", detail));
            }
        }
        self
    }

    /// A member that may be absent; null counts as absent.
    pub(crate) fn get(&self, name: &str) -> Option<Value<'d>> {
        self.object.get(name).filter(|value| !value.is_null())
    }

    /// A text.
    pub(crate) fn text(&mut self, name: &str) -> Option<Cow<'d, str>> {
        let value = self.get(name)?;
        let text = value.as_str();
        if text.is_none() {
            self.refuse_kind(name, "a string", value);
        }
        text
    }

    /// A whole number in a range.
    pub(crate) fn number(&mut self, name: &str, allowed: RangeInclusive<i64>) -> Option<i64> {
        let value = self.get(name)?;
        let number = value.as_i64().filter(|number| allowed.contains(number));
        if number.is_none() {
            let wanted = format!(
                "a whole number from {} to {}",
                allowed.start(),
                allowed.end()
            );
            self.refuse_kind(name, &wanted, value);
        }
        number
    }

    /// A whole number of `unit` in a range.
    pub(crate) fn quantity(
        &mut self,
        name: &str,
        unit: &str,
        allowed: RangeInclusive<i64>,
    ) -> Option<i64> {
        let value = self.get(name)?;
        let number = value.as_i64().filter(|number| allowed.contains(number));
        if number.is_none() {
            let (least, most) = (allowed.start(), allowed.end());
            let wanted = format!("a whole number of {unit} from {least} to {most}");
            self.refuse_kind(name, &wanted, value);
        }
        number
    }

    /// The name of a consumer.
    pub(crate) fn consumer(&mut self) -> Option<Arc<str>> {
        let text = self.text("consumer")?;
        let name = consumers::parse(&text);
        if name.is_none() {
            self.refuse("consumer", consumers::expected(&text));
        }
        name
    }

    /// `inbox` or `subscription`.
    pub(crate) fn place(&mut self) -> Option<PlaceName> {
        let inbox = self.text("inbox");
        let subscription = self.text("subscription");
        match (inbox, subscription) {
            (Some(party), None) => Some(PlaceName::Inbox(Party::parse(&party))),
            (None, Some(name)) => Some(PlaceName::Subscription(name.into())),
            (None, None) => None,
            (Some(_), Some(_)) => {
                let detail = "expected either `inbox` or `subscription`, got both";
                self.refuse("", detail.into());
                None
            }
        }
    }

    /// A list of 1 to `max` texts; refused when absent.
    pub(crate) fn texts(&mut self, name: &str, max: usize) -> Vec<Cow<'d, str>> {
        let Some(list) = self.get(name).filter(|value| value.kind() == Kind::Array) else {
            self.refuse(name, format!("expected `{name}` to be a list of strings"));
            return Vec::new();
        };
        let texts: Option<Vec<_>> = list.items().map(Value::as_str).collect();
        match texts {
            Some(texts) if (1..=max).contains(&texts.len()) => texts,
            Some(texts) => {
                let count = texts.len();
                self.refuse(
                    name,
                    format!("expected 1 to {max} items in `{name}`, got {count}"),
                );
                Vec::new()
            }
            None => {
                self.refuse(
                    name,
                    format!("expected every item of `{name}` to be a string"),
                );
                Vec::new()
            }
        }
    }

    /// Notes a fault at a member; the whole object when `name` is empty.
    pub(crate) fn refuse(&mut self, name: &str, detail: String) {
        let pointer = if name.is_empty() {
            String::new()
        } else {
            format!("/{name}")
        };
        self.faults
            .push(Fault::new(self.code, pointer, "OPENAPI", detail));
    }

    /// Every fault, if there was one.
    pub(crate) fn finish(self) -> Result<(), Rejection> {
        Rejection::from_faults(self.faults).map_or(Ok(()), Err)
    }

    /// Notes that a member is not what was wanted.
    pub(crate) fn refuse_kind(&mut self, name: &str, wanted: &str, got: Value<'_>) {
        let got = match got.kind() {
            Kind::Number => got.raw(),
            Kind::Null | Kind::Bool | Kind::String | Kind::Array | Kind::Object => {
                got.kind().as_str()
            }
        };
        let got: String = got.chars().take(32).collect();
        self.refuse(name, format!("expected `{name}` to be {wanted}, got {got}"));
    }
}

#[cfg(test)]
mod tests {
    use super::Members;
    use protocol::json::{Limits, read};
    use protocol::{Code, Rejection};

    fn faults(text: &str) -> Vec<String> {
        let document = read(text.as_bytes(), Limits::default()).unwrap();
        let mut members = Members::of(document.root(), Code::BadRequest).only(&["a", "n", "list"]);
        members.text("a");
        members.number("n", 0..=9);
        members.texts("list", 2);
        let refused = members.finish().err();
        refused
            .iter()
            .flat_map(Rejection::all)
            .map(|fault| fault.pointer.clone())
            .collect()
    }

    #[test]
    fn a_good_object_passes_and_every_fault_is_listed() {
        assert!(faults(r#"{"a":"x","n":3,"list":["y"]}"#).is_empty());
        assert!(faults(r#"{"a":null,"list":["y","z"]}"#).is_empty());
        assert_eq!(
            faults(r#"{"b/c":1,"a":1,"n":10,"list":[]}"#),
            ["/b~1c", "/a", "/n", "/list"]
        );
        assert_eq!(faults(r#"{"n":1.5,"list":["y",1]}"#), ["/n", "/list"]);
        assert_eq!(faults(r#"{"list":["1","2","3"]}"#), ["/list"]);
        assert_eq!(faults("[]"), ["", "/list"]);
    }
}
