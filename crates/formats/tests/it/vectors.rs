//! What becomes of each vector, in one line an envelope.

use super::json;
use interwire_formats::{Format, Options, wrap};
use serde_json::Value;

/// One document and what is expected of it.
#[derive(Clone, Debug)]
pub(super) struct Vector {
    pub(super) name: String,
    pub(super) format: Format,
    /// As it stands in the file.
    pub(super) document: String,
    says: Vec<String>,
}

const FILE: &str = include_str!("../vectors/documents.ndjson");

pub(super) fn all() -> Vec<Vector> {
    FILE.lines().map(vector).collect()
}

fn vector(line: &str) -> Vector {
    let document =
        protocol::json::read(line.as_bytes(), protocol::json::Limits::default()).unwrap();
    let root = document.root();
    let text = |name: &str| root.get(name).unwrap().as_str().unwrap().into_owned();
    let says = root.get("says").unwrap().items();
    Vector {
        name: text("name"),
        format: Format::parse(&text("format")).unwrap(),
        document: root.get("document").unwrap().raw().to_owned(),
        says: says.map(|one| one.as_str().unwrap().into_owned()).collect(),
    }
}

fn line(envelope: &str) -> String {
    let envelope = json(envelope);
    let text = |name: &str| envelope[name].as_str().unwrap_or("-").to_owned();
    let id = match envelope["type"].as_str() {
        Some("task") => text("id"),
        _ => "*".into(),
    };
    let cause = match envelope["type"].as_str() {
        Some("result" | "error") => text("reply_to"),
        _ if envelope["reply_to"].is_null() => "-".into(),
        _ => "*".into(),
    };
    let mut payload = envelope["payload"].clone();
    payload.as_object_mut().unwrap().remove("interwire_format");
    format!(
        "{} {} {}>{} {id} <{cause} {payload}",
        text("type"),
        text("intent"),
        text("from"),
        text("to"),
    )
}

#[test]
fn each_vector_says_what_it_should() {
    let mut wrong = Vec::new();
    for vector in all() {
        let envelopes = wrap(vector.document.as_bytes(), None, &Options::default()).unwrap();
        let says: Vec<_> = envelopes.iter().map(|one| line(one)).collect();
        if says != vector.says {
            wrong.push(format!(
                "{} {}: {:#?}",
                vector.format.as_str(),
                vector.name,
                says
            ));
        }
    }
    if let Ok(path) = std::env::var("INTERWIRE_WRITE_VECTORS") {
        std::fs::write(path, written()).unwrap();
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The file with what is said now: for looking at it before it is believed.
fn written() -> String {
    let mut out = String::new();
    for (old, vector) in FILE.lines().zip(all()) {
        let envelopes = wrap(vector.document.as_bytes(), None, &Options::default()).unwrap();
        let says: Vec<Value> = envelopes.iter().map(|one| line(one).into()).collect();
        let at = old.rfind(", \"says\":").unwrap();
        out.push_str(&format!(
            "{}, \"says\": {}}}\n",
            &old[..at],
            Value::from(says)
        ));
    }
    out
}

#[test]
fn each_format_is_told_by_its_content() {
    for vector in all() {
        let document = protocol::json::read(
            vector.document.as_bytes(),
            protocol::json::Limits::default(),
        );
        let found = interwire_formats::detect(document.unwrap().root());
        assert_eq!(found, Some(vector.format), "{}", vector.name);
    }
}
