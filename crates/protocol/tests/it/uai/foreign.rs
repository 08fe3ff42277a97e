//! Formats that share the name, and other versions.

use interwire_protocol::dialect::uai::{look_alike, look_alike_bytes};
use interwire_protocol::json::{self, Limits};
use interwire_protocol::{Code, DialectName};

use super::{directive, edited, found, lenient};

fn named(text: &str) -> Option<(Code, String)> {
    let document = json::read(text.as_bytes(), Limits::default()).unwrap();
    look_alike(document.root()).map(|fault| (fault.code, fault.detail))
}

#[test]
fn look_alikes_are_named() {
    for (text, who) in [
        (r#"{"spec":"UAI-1","title":"page"}"#, "Protocol5 page"),
        ("[1,63403,7]", "radix"),
        (
            r#"{"uai_version":"UAI-1","profile":"jai.iota-1.message.v1"}"#,
            "JustAnIota",
        ),
        (
            r#"["jai.iota-1.message.v1","UAI-1","en","ltr","NFC","r",["a","b"]]"#,
            "JustAnIota",
        ),
        (r#"{"uai_version":"0.1","id":"did:uai:abc"}"#, "did:uai"),
        (r#"{"code":"ok","url":"https://a/b"}"#, "GET action"),
    ] {
        let (code, detail) = named(text).expect(text);
        assert_eq!(code, Code::ForeignFormat, "{text}");
        assert!(detail.contains(who), "{text}: {detail}");
    }
}

#[test]
fn ordinary_json_is_nobody_s_look_alike() {
    let ours = directive().write().unwrap();
    for text in [
        &ours,
        "{}",
        "[]",
        "[1,2]",
        "[1,2,-3]",
        r#"{"code":1,"url":"x"}"#,
        "1",
        r#""UAI-1""#,
    ] {
        assert_eq!(named(text), None, "{text}");
    }
}

#[test]
fn the_first_draft_is_told_what_replaced_it() {
    let draft = r#"{"uaix_version":"0.1","source":"a","profile":"uai.intent.request.v1"}"#;
    let reading = lenient(draft);
    assert_eq!(reading.dialect, Some(DialectName::Uai));
    assert_eq!(
        found(&reading.faults),
        ["superseded_draft_shape /uaix_version"]
    );
}

#[test]
fn files_that_are_no_json_are_named() {
    let named = |bytes: &[u8]| look_alike_bytes(bytes).map(|fault| fault.detail);
    assert!(named(b"PK\x03\x04rest").is_some_and(|detail| detail.contains("ZIP")));
    let memory = b"Totem\n\nPurpose: keep the goal in sight\n";
    assert!(named(memory).is_some_and(|detail| detail.contains("memory record")));
    assert_eq!(named(b"{\n\"a\": 1,\nPurpose: x"), None);
    assert_eq!(named(b"plain text"), None);
    assert_eq!(named(b"\xff\xfe"), None);
}

#[test]
fn another_version_is_not_judged_by_the_rules_of_this_one() {
    let text = edited(
        &directive().write().unwrap(),
        &[("/uai_version", "\"2.0\""), ("/body", "1")],
    );
    assert_eq!(
        found(&lenient(&text).faults),
        ["unsupported_version /uai_version"]
    );
}
