//! What must hold for every text.

use super::{Kind, Limits, Value, arbitrary, push_escaped, push_string, read};
use crate::{Code, Fault};
use proptest::prelude::*;
use serde_json::Value as Tree;
use std::fmt::Write as _;

/// The tree of an indexed value, by way of its accessors.
fn tree(value: Value<'_>) -> Tree {
    match value.kind() {
        Kind::Null => Tree::Null,
        Kind::Bool => Tree::Bool(value.as_bool().unwrap()),
        Kind::Number => serde_json::from_str(value.raw()).unwrap(),
        Kind::String => Tree::String(value.as_str().unwrap().into_owned()),
        Kind::Array => Tree::Array(value.items().map(tree).collect()),
        Kind::Object => Tree::Object(
            value
                .members()
                .map(|(key, value)| (key.text().into_owned(), tree(value)))
                .collect(),
        ),
    }
}

/// Pointers of everything in a tree, the deepest first, with what stands there.
fn places<'t>(tree: &'t Tree, pointer: &str, found: &mut Vec<(String, &'t Tree)>) {
    match tree {
        Tree::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                places(item, &format!("{pointer}/{at}"), found);
            }
        }
        Tree::Object(members) => {
            for (name, value) in members {
                let mut below = format!("{pointer}/");
                push_escaped(&mut below, name);
                places(value, &below, found);
            }
        }
        Tree::Null | Tree::Bool(_) | Tree::Number(_) | Tree::String(_) => {}
    }
    found.push((pointer.to_owned(), tree));
}

fn is_pointer(text: &str) -> bool {
    (text.is_empty() || text.starts_with('/'))
        && text
            .split('~')
            .skip(1)
            .all(|part| part.starts_with(['0', '1']))
}

/// Accepts what serde_json accepts, but for the differences that the reader promises.
fn agrees_with_serde_json(bytes: &[u8]) -> Result<(), TestCaseError> {
    let ours = read(
        bytes,
        Limits {
            bytes_max: 1 << 20,
            depth_max: 100,
        },
    );
    let theirs: Result<Tree, _> = serde_json::from_slice(bytes);
    match (ours, theirs) {
        (Ok(document), Ok(expected)) => prop_assert_eq!(tree(document.root()), expected),
        (Ok(_), Err(error)) => prop_assert!(
            error.to_string().starts_with("number out of range"),
            "only we accept {:?}: {}",
            String::from_utf8_lossy(bytes),
            error
        ),
        (Err(fault), theirs) => {
            prop_assert!(is_pointer(&fault.pointer), "{}", fault);
            prop_assert!(!fault.detail.is_empty() && !fault.detail.ends_with('.'));
            let is_stricter = matches!(
                fault.code,
                Code::DuplicateKey | Code::InvalidUnicode | Code::TooDeep | Code::ByteOrderMark
            );
            prop_assert!(
                is_stricter || theirs.is_err(),
                "only we refuse {:?}: {}",
                String::from_utf8_lossy(bytes),
                fault
            );
        }
    }
    Ok(())
}

/// What happens to one byte of a text.
#[derive(Clone, Debug)]
enum Change {
    Set(u8),
    Insert(u8),
    Remove,
    Cut,
    Repeat,
}

fn change() -> impl Strategy<Value = (prop::sample::Index, Change)> {
    let byte = prop_oneof![
        any::<u8>(),
        prop::sample::select(
            b"{}[],:\"\\/u0123456789abdeEfnrt+-. \n\t\x00\x1f\x7f\xc3\xed\xa0\xff".to_vec()
        ),
    ];
    let change = prop_oneof![
        byte.clone().prop_map(Change::Set),
        byte.prop_map(Change::Insert),
        Just(Change::Remove),
        Just(Change::Cut),
        Just(Change::Repeat),
    ];
    (any::<prop::sample::Index>(), change)
}

proptest! {
    #[test]
    fn every_value_reads_back_equal(value in arbitrary::value()) {
        let texts = [
            value.to_string(),
            serde_json::to_string_pretty(&value).unwrap(),
            arbitrary::loose(&value),
        ];
        for text in texts {
            let document = read(text.as_bytes(), Limits::default()).unwrap();
            prop_assert_eq!(tree(document.root()), tree_of(&text));
            prop_assert_eq!(document.text(), &text);
            let mut found = Vec::new();
            let expected = tree_of(&text);
            places(&expected, "", &mut found);
            for (pointer, place) in found {
                let value = document.root().at(&pointer);
                prop_assert!(value.is_some(), "nothing at {:?} in {}", pointer, text);
                prop_assert_eq!(&tree_of(value.unwrap().raw()), place);
                prop_assert_eq!(&text[value.unwrap().range()], value.unwrap().raw());
            }
        }
    }

    #[test]
    fn any_bytes_are_judged_as_serde_json_does(bytes in prop::collection::vec(any::<u8>(), 0..60)) {
        agrees_with_serde_json(&bytes)?;
    }

    #[test]
    fn any_tokens_are_judged_as_serde_json_does(
        parts in prop::collection::vec(prop::sample::select(vec![
            "{", "}", "[", "]", ",", ":", "\"a\"", "\"b\"", "\"\\ud83c", "\\udf78\"", "\"\\u00", "e9\"",
            "0", "-", "1", ".5", "e", "E+3", "e-999", "1e400", "true", "false", "null", " ", "\"", "\\", "\u{1f378}",
        ]), 0..24)
    ) {
        agrees_with_serde_json(parts.concat().as_bytes())?;
    }

    #[test]
    fn changed_texts_are_judged_as_serde_json_does(
        value in arbitrary::value(),
        is_loose in any::<bool>(),
        changes in prop::collection::vec(change(), 1..4),
    ) {
        let mut bytes = if is_loose { arbitrary::loose(&value) } else { value.to_string() }.into_bytes();
        for (index, change) in changes {
            if bytes.is_empty() {
                break;
            }
            let at = index.index(bytes.len());
            match change {
                Change::Set(byte) => bytes[at] = byte,
                Change::Insert(byte) => bytes.insert(at, byte),
                Change::Remove => drop(bytes.remove(at)),
                Change::Cut => bytes.truncate(at),
                Change::Repeat => bytes.extend_from_within(at..),
            }
        }
        agrees_with_serde_json(&bytes)?;
    }

    #[test]
    fn a_broken_value_is_reported_where_it_stands(
        value in arbitrary::value(),
        index in any::<prop::sample::Index>(),
        broken in prop::sample::select(vec!["tru", "01", "'x'", "-", "\"\\x\"", "\"\\ud800\"", "[1,,2]", "\"\u{1}\""]),
    ) {
        let mut text = value.to_string();
        let (range, pointer) = {
            let document = read(text.as_bytes(), Limits::default()).unwrap();
            let expected = tree_of(&text);
            let mut found = Vec::new();
            places(&expected, "", &mut found);
            let (pointer, _) = &found[index.index(found.len())];
            (document.root().at(pointer).unwrap().range(), pointer.clone())
        };
        text.replace_range(range, broken);
        let fault = read(text.as_bytes(), Limits::default()).map(|_| ()).unwrap_err();
        let expected = if broken == "[1,,2]" { format!("{pointer}/1") } else { pointer };
        prop_assert_eq!(fault.pointer, expected);
    }

    #[test]
    fn written_strings_read_back_equal(text in any::<String>()) {
        let mut written = String::new();
        push_string(&mut written, &text);
        let document = read(written.as_bytes(), Limits::default()).unwrap();
        prop_assert_eq!(document.root().as_str().unwrap(), text.clone());
        prop_assert_eq!(serde_json::from_str::<String>(&written).unwrap(), text);
    }

    #[test]
    fn the_end_of_a_string_is_found_at_every_offset(before in "[a-z\u{e9}\u{80}\u{ff}\u{7f}]{0,40}", after in "[ -~]{0,20}") {
        let text = format!("\"{before}\"");
        let document = read(text.as_bytes(), Limits::default()).unwrap();
        prop_assert_eq!(document.root().as_str().unwrap(), before.clone());
        let control = format!("\"{before}\u{1f}{after}\"");
        let fault: Fault = read(control.as_bytes(), Limits::default()).map(|_| ()).unwrap_err();
        let expected = format!("at byte {}", before.len() + 1);
        prop_assert!(fault.detail.ends_with(&expected), "{}", fault);
    }
}

fn tree_of(text: &str) -> Tree {
    serde_json::from_str(text).unwrap()
}

/// Room for the large texts below.
const ROOM: Limits = Limits {
    bytes_max: 1 << 26,
    depth_max: 64,
};

#[test]
fn a_hundred_thousand_members_are_read_and_a_late_repeat_is_found() {
    let mut text = String::from("{");
    for i in 0..100_000 {
        let _ = write!(text, "\"\\u006b{i}\":{i},");
    }
    let good = format!("{text}\"last\":true}}");
    let document = read(good.as_bytes(), ROOM).unwrap();
    assert_eq!(document.root().members().count(), 100_001);
    assert_eq!(
        document.root().get("k99999").unwrap().as_i64(),
        Some(99_999)
    );
    let bad = format!("{text}\"k77777\":true}}");
    let fault = read(bad.as_bytes(), ROOM).unwrap_err();
    assert_eq!(
        (fault.code, fault.pointer.as_str()),
        (Code::DuplicateKey, "/k77777")
    );
}

#[test]
fn a_hundred_thousand_items_are_read() {
    let text = format!("[{}0]", "{\"a\":[]},".repeat(100_000));
    let document = read(text.as_bytes(), ROOM).unwrap();
    assert_eq!(document.root().items().count(), 100_001);
    assert_eq!(document.root().at("/100000").unwrap().raw(), "0");
}

#[test]
fn long_escaped_strings_are_read_once() {
    let text = format!("[\"{}\"]", "\\ud83c\\udf78\\n".repeat(400_000));
    let document = read(text.as_bytes(), ROOM).unwrap();
    assert_eq!(
        document.root().at("/0").unwrap().as_str().unwrap().len(),
        5 * 400_000
    );
    let names = format!(
        "{{{}\"z\":0}}",
        (0..23)
            .map(|i| format!("\"{}{i}\":0,", "\\u0061".repeat(20_000)))
            .collect::<String>()
    );
    assert_eq!(
        read(names.as_bytes(), ROOM)
            .unwrap()
            .root()
            .members()
            .count(),
        24
    );
}

#[test]
fn a_raised_depth_limit_costs_no_stack() {
    let depth = 1_000_000;
    let text = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
    let limits = Limits {
        bytes_max: 1 << 26,
        depth_max: depth,
    };
    assert_eq!(
        read(text.as_bytes(), limits).unwrap().root().raw().len(),
        2 * depth
    );
    let cut = &text[..depth];
    let fault = read(cut.as_bytes(), limits).unwrap_err();
    assert_eq!(fault.code, Code::MalformedJson);
    assert_eq!(fault.pointer, "/0".repeat(depth));
}

#[test]
fn pointers_follow_rfc_6901() {
    let text = br#"{"":1,"a/b":2,"m~n":3,"~1":4,"list":[5,{"":6}],"01":7}"#;
    let document = read(text, Limits::default()).unwrap();
    let at = |pointer: &str| document.root().at(pointer).and_then(Value::as_i64);
    for (pointer, value) in [
        ("/", 1),
        ("/a~1b", 2),
        ("/m~0n", 3),
        ("/~01", 4),
        ("/list/0", 5),
        ("/list/1/", 6),
        ("/01", 7),
    ] {
        assert_eq!(at(pointer), Some(value), "{pointer}");
    }
    for pointer in [
        "a",
        "/a/b",
        "/list/00",
        "/list/+0",
        "/list/-",
        "/list/2",
        "/list/",
        "/m~2n",
        "/m~",
        "/list/0/0",
    ] {
        assert!(document.root().at(pointer).is_none(), "{pointer}");
    }
    assert_eq!(document.root().at("").unwrap().raw().len(), text.len());
}
