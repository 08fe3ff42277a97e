//! Changes to one member of an object that leave every other byte as it came.

use protocol::json::Value;
use std::ops::Range;

/// `text` with the member `name` of `object`, an object in it, set to the JSON `value`. A member that
/// is not there becomes the last one.
pub(crate) fn set(text: &str, object: Value<'_>, name: &str, value: &str) -> String {
    match object.get(name) {
        Some(old) => splice(text, old.range(), value),
        None => {
            let comma = if object.members().next().is_some() {
                ","
            } else {
                ""
            };
            let end = object.range().end.saturating_sub(1);
            splice(text, end..end, &format!("{comma}\"{name}\":{value}"))
        }
    }
}

/// `text` with one more item at the end of `array`, an array in it.
pub(crate) fn push(text: &str, array: Value<'_>, item: &str) -> String {
    let comma = if array.items().next().is_some() {
        ","
    } else {
        ""
    };
    let end = array.range().end.saturating_sub(1);
    splice(text, end..end, &format!("{comma}{item}"))
}

fn splice(text: &str, range: Range<usize>, with: &str) -> String {
    let before = text.get(..range.start).unwrap_or_default();
    let after = text.get(range.end..).unwrap_or_default();
    [before, with, after].concat()
}

#[cfg(test)]
mod tests {
    use super::{push, set};
    use protocol::json::{self, Limits};

    #[test]
    fn only_the_member_changes() {
        let text = r#" {"a": 1.50 ,"sig":null, "b":[ ] } "#;
        let document = json::read(text.as_bytes(), Limits::default()).unwrap();
        let root = document.root();
        let whole = set(text, root, "sig", "{}");
        assert_eq!(whole, r#" {"a": 1.50 ,"sig":{}, "b":[ ] } "#);
        assert_eq!(
            set(text, root, "c", "2"),
            r#" {"a": 1.50 ,"sig":null, "b":[ ] ,"c":2} "#
        );
        assert_eq!(
            push(text, root.get("b").unwrap(), "7"),
            r#" {"a": 1.50 ,"sig":null, "b":[ 7] } "#
        );
        let document = json::read(b"{}", Limits::default()).unwrap();
        assert_eq!(set("{}", document.root(), "a", "1"), r#"{"a":1}"#);
    }
}
