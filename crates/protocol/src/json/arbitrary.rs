//! Values and texts for property tests.

use proptest::prelude::*;
use serde_json::{Number, Value};
use std::fmt::Write as _;

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-c]{0,2}",
        any::<String>(),
        // Both sides of the surrogates, quotes, control characters, pointer escapes.
        "[\u{d7ff}\u{e000}\u{fb33}\u{ffff}\u{10000}\u{1f600}\"\\\\/~\u{0}-\u{1f}\u{7f}\u{2028}]{0,4}",
    ]
}

/// Any value whose numbers are doubles or integers within 2^53 - 1.
pub(crate) fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::Bool),
        (-9_007_199_254_740_991_i64..=9_007_199_254_740_991).prop_map(Value::from),
        any::<f64>().prop_filter_map("finite", |n| Number::from_f64(n).map(Value::Number)),
        name().prop_map(Value::String),
    ];
    leaf.prop_recursive(6, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::Array),
            prop::collection::vec((name(), inner), 0..40)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

/// The same value with every string character escaped and space everywhere it may be.
pub(crate) fn loose(value: &Value) -> String {
    let mut out = String::from(" \n");
    write_loose(&mut out, value);
    out.push('\t');
    out
}

fn write_loose(out: &mut String, value: &Value) {
    match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => out.push_str(&value.to_string()),
        Value::String(text) => write_string(out, text),
        Value::Array(items) => {
            out.push_str("[ ");
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "\r, " } else { "" });
                write_loose(out, item);
            }
            out.push_str(" ]");
        }
        Value::Object(members) => {
            out.push_str("{ ");
            for (at, (name, value)) in members.iter().enumerate() {
                out.push_str(if at > 0 { " ,\n" } else { "" });
                write_string(out, name);
                out.push_str(" : ");
                write_loose(out, value);
            }
            out.push_str(" }");
        }
    }
}

fn write_string(out: &mut String, text: &str) {
    out.push('"');
    for unit in text.encode_utf16() {
        let _ = write!(out, "\\u{unit:04X}");
    }
    out.push('"');
}
