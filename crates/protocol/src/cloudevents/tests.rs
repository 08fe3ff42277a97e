//! Laws of the mapping.

use super::{
    Context, Data, DataForm, agrees, binary, decode_header, encode_header, structured, write,
};
use crate::json::{Limits, read};
use crate::{Header, Rules, Timestamp, decode};
use proptest::prelude::*;

const AEE: &str = r#"{"v":"1","id":"01JFX7K2M4N8P1Q3R5S7T9V0W2","ts":"2026-02-28T10:30:00Z","type":"task","from":"human.adam","to":"agent.sentinel","intent":"quox.security.scan","corr":"CONV_01JFX7K0A2B4C6D8E0F2G4H6J8","reply_to":null,"trace":null,"priority":"high","requires":null,"payload":{"n":1.50,  "e":"\u00fc"},"sig":null}"#;

fn header(envelope: &[u8]) -> Header {
    let rules = Rules::at(Timestamp::from_millis(1_772_274_600_000));
    decode(envelope, &rules).into_result().unwrap().0
}

fn event(envelope: &str, form: DataForm) -> String {
    let mut out = Vec::new();
    let context = Context {
        cursor: "1c6a33f0-1-7".into(),
        attempt: Some(2),
        ..Context::default()
    };
    write(
        &mut out,
        &header(AEE.as_bytes()),
        &context,
        envelope.as_bytes(),
        form,
    );
    String::from_utf8(out).unwrap()
}

fn back(text: &str) -> Vec<u8> {
    let document = read(text.as_bytes(), Limits::default()).unwrap();
    let (event, data) = structured(document.root()).unwrap();
    agrees(&event, &header(AEE.as_bytes())).unwrap();
    match data {
        Data::Inside(range) => text.as_bytes()[range].to_vec(),
        Data::Decoded(bytes) => bytes,
    }
}

#[test]
fn an_event_says_what_the_header_says() {
    let text = event(AEE, DataForm::Json);
    assert!(text.starts_with(
        r#"{"specversion":"1.0","id":"01JFX7K2M4N8P1Q3R5S7T9V0W2","source":"human:adam","type":"aee.task","#
    ), "{text}");
    assert!(
        text.contains(r#""interwireattempt":2,"data":{"v":"1""#),
        "{text}"
    );
    assert!(
        text.contains(r#""partitionkey":"CONV_01JFX7K0A2B4C6D8E0F2G4H6J8""#),
        "{text}"
    );
}

#[test]
fn every_byte_comes_back_in_both_forms_also_space_around_it() {
    for envelope in [
        AEE.to_owned(),
        format!("\n {AEE} \n"),
        AEE.replace(',', ",\r\n"),
    ] {
        for form in [DataForm::Json, DataForm::Base64] {
            assert_eq!(back(&event(&envelope, form)), envelope.as_bytes());
        }
    }
}

#[test]
fn every_fault_has_a_pointer_into_the_event() {
    let pointers = |text: &str| -> Vec<String> {
        let document = read(text.as_bytes(), Limits::default()).unwrap();
        let refused = structured(document.root()).unwrap_err();
        refused.all().map(|fault| fault.pointer.clone()).collect()
    };
    assert_eq!(pointers("[]"), [""]);
    assert_eq!(
        pointers("{}"),
        ["/specversion", "/id", "/source", "/type", "/data"]
    );
    assert_eq!(
        pointers(
            r#"{"specversion":"0.3","id":"","source":"a","type":[],"Bad~":1,"n":1.5,"time":"now",
                "datacontenttype":"text/plain","data":1,"data_base64":"x"}"#
        ),
        [
            "/type",
            "/Bad~0",
            "/n",
            "/specversion",
            "/id",
            "/type",
            "/time",
            "/datacontenttype",
            "/data_base64"
        ]
    );
}

#[test]
fn attributes_that_name_another_message_are_refused() {
    let event = |id: &str, source: &str, kind: &str| {
        let pairs = [
            ("specversion", "1.0"),
            ("id", id),
            ("source", source),
            ("type", kind),
        ];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let event = binary(pairs.to_vec(), "application/json").unwrap();
        agrees(&event, &header(AEE.as_bytes()))
    };
    let id = "01JFX7K2M4N8P1Q3R5S7T9V0W2";
    for source in ["human:adam", "human.adam", "human%3Aadam"] {
        event(id, source, "aee.task").unwrap();
        event(id, source, "task").unwrap();
    }
    let refused = event("x", "human:eve", "aee.result").unwrap_err();
    let pointers: Vec<_> = refused.all().map(|fault| &*fault.pointer).collect();
    assert_eq!(pointers, ["/id", "/source", "/type"]);
}

#[test]
fn headers_follow_the_binding() {
    // From the HTTP binding 3.1.3.2.
    assert_eq!(
        encode_header("Euro \u{20ac} \u{1f600}"),
        "Euro%20%E2%82%AC%20%F0%9F%98%80"
    );
    assert_eq!(
        decode_header(br#""a \"b\" %20""#).as_deref(),
        Some("a \"b\"  ")
    );
    assert_eq!(decode_header(b"%zz"), None);
    assert_eq!(decode_header(b"%C3"), None);
}

proptest! {
    #[test]
    fn any_text_travels_in_a_header(text in ".*") {
        let written = encode_header(&text);
        prop_assert!(written.bytes().all(|byte| (b'!'..=b'~').contains(&byte)));
        prop_assert_eq!(decode_header(written.as_bytes()), Some(text));
    }
}
