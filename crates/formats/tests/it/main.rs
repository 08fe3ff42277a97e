//! What holds for every document of every framework. The vectors are ours, in our own words; files that
//! the frameworks' packages wrote are tested by the program's tests.
#![expect(
    clippy::unwrap_used,
    clippy::indexing_slicing,
    reason = "a helper that fails fails its test"
)]

mod anew;
mod cards;
mod faults;
mod laws;
mod page;
mod vectors;

use protocol::json::{Limits, read};
use serde_json::Value;

/// The canonical text, for comparing.
fn canonical(text: &str) -> String {
    // Numbers beyond what everyone reads alike are in the vectors on purpose: they are compared as texts.
    let document = read(text.as_bytes(), Limits::default()).unwrap();
    protocol::canonical::canonicalize(document.root(), &[]).unwrap_or_else(|_| {
        let value: Value = serde_json::from_str(text).unwrap();
        value.to_string()
    })
}

fn slices(texts: &[String]) -> Vec<&[u8]> {
    texts.iter().map(String::as_bytes).collect()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}
