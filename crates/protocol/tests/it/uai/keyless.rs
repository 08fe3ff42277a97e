//! The positional form (UAI 2 F2 to F8).

use interwire_protocol::dialect::uai::keyless::{to_keyed, to_keyless};
use interwire_protocol::json::{self, Limits};

use super::{agent, directive, edited, found, header, lenient, of, strict};

fn positional(keyed: &str) -> Result<String, Vec<String>> {
    let document = json::read(keyed.as_bytes(), Limits::default()).unwrap();
    to_keyless(document.root()).map_err(|faults| found(&faults))
}

fn changed(keyed: &str, edits: &[(&str, &str)]) -> Vec<String> {
    let mut envelope: serde_json::Value =
        serde_json::from_str(&positional(keyed).unwrap()).unwrap();
    for (pointer, value) in edits {
        *envelope.pointer_mut(pointer).unwrap() = serde_json::from_str(value).unwrap();
    }
    found(&lenient(&envelope.to_string()).faults)
}

#[test]
fn the_arrays_follow_the_tables() {
    let keyless = positional(&directive().write().unwrap()).unwrap();
    let (before, checksum) = keyless.split_once("sha256:").unwrap();
    let slots = [
        r#"["1.0","uai.agent.message.v1","msg_1","#,
        r#"["agent","a","a",null,null,null,null,null,null],"#,
        r#"["agent","b","b",null,null,null,null,null,null],"#,
        r#"["conv_1",null,null,null,"conv_1",null],"#,
        r#"["async","normal",null,null,false,null,"idempotent-msg_1",null,0,null,"raise_blocker",null,null,null,null],"#,
        r#"["internal","none","a",null,null,null],"#,
        r#"["directive","Look at it.",[],false,null,null],"#,
        r#"[null,"2026-07-01T12:00:00.000Z",null,null,null,null],"#,
        r#"["sha-256","RFC8785","#,
    ];
    assert_eq!(before, slots.concat() + "\"");
    assert!(checksum.ends_with(r#""],[]]"#));
}

#[test]
fn both_forms_are_the_same_message() {
    let keyed = directive().also_to(agent("c")).write().unwrap();
    let keyless = positional(&keyed).unwrap();
    assert_eq!(header(&keyless), header(&keyed));
    assert!(strict(&positional(&directive().write().unwrap()).unwrap()).is_valid());
}

#[test]
fn a_body_of_an_unknown_profile_stays_keyed() {
    let keyed = of("uai.somebody.else.v1", r#"{"z":[1,{"a":null}]}"#)
        .write()
        .unwrap();
    let keyless = positional(&keyed).unwrap();
    assert!(keyless.contains(r#"{"z":[1,{"a":null}]}"#));
    assert_eq!(header(&keyless), header(&keyed));
}

#[test]
fn every_array_has_exactly_its_slots() {
    let keyed = directive().write().unwrap();
    let agent = |slots: &str| format!(r#"["agent","b",{slots}]"#);
    let (short, long) = (agent("\"b\""), agent("\"b\",1,2,3,4,5,6,7"));
    assert_eq!(changed(&keyed, &[("/4", &short)]), ["keyless_shape /4"]);
    assert_eq!(changed(&keyed, &[("/4", &long)]), ["keyless_overflow /4"]);
    assert_eq!(
        changed(&keyed, &[("/4", "{}"), ("/5", "null")]),
        ["keyless_shape /4", "keyless_shape /5"]
    );
    assert_eq!(changed(&keyed, &[("/3/1", "null")]), ["keyless_shape /3/1"]);
    assert_eq!(changed(&keyed, &[("/2", "null")]), ["keyless_shape /2"]);
    assert_eq!(
        changed(&keyed, &[("/11", "[[1]]")]),
        ["keyless_shape /11/0"]
    );
    assert_eq!(changed(&keyed, &[("/11", "{}")]), ["keyless_shape /11"]);
    assert_eq!(changed(&keyed, &[("/8", "{}")]), ["keyless_shape /8"]);
    let thirteen = positional(&keyed).unwrap().replace(",[]]", ",[],1]");
    assert!(found(&lenient(&thirteen).faults).contains(&"keyless_overflow ".to_owned()));
}

#[test]
fn a_target_slot_is_one_agent_or_two_and_more() {
    let one = r#"["agent","b","b",null,null,null,null,null,null]"#;
    let keyed = directive().write().unwrap();
    assert_eq!(
        changed(&keyed, &[("/4", &format!("[{one}]"))]),
        ["keyless_shape /4"]
    );
    assert_eq!(
        changed(&keyed, &[("/4", &format!("[{one},3]"))]),
        ["keyless_shape /4/1"]
    );
    assert_eq!(changed(&keyed, &[("/4", "[]")]), ["keyless_shape /4"]);
}

#[test]
fn values_are_judged_as_in_the_keyed_form() {
    let keyed = directive().write().unwrap();
    assert_eq!(
        changed(&keyed, &[("/9/1", "\"yesterday\""), ("/4/1", "7")]),
        [
            "type_mismatch /target/id",
            "timestamp_not_utc /provenance/issued_at",
            "checksum_mismatch /integrity/checksum",
        ]
    );
}

#[test]
fn what_has_no_slot_is_never_dropped() {
    let keyed = directive().write().unwrap();
    let convert = |edits: &[(&str, &str)]| positional(&edited(&keyed, edits)).unwrap_err();
    assert_eq!(convert(&[("/note", "1")]), ["keyless_unmapped_field /note"]);
    assert_eq!(
        convert(&[("/body/a~b", "1")]),
        ["keyless_unmapped_field /body/a~0b"]
    );
    assert_eq!(
        convert(&[("/target/did", "null")]),
        ["keyless_null_value /target/did"]
    );
    assert_eq!(convert(&[("/target/id", "")]), ["keyless_shape /target/id"]);
    assert_eq!(convert(&[("/trust", "")]), ["keyless_shape /trust"]);
    assert_eq!(
        convert(&[("/additional_targets", "[]")]),
        ["keyless_shape /additional_targets"]
    );
}

#[test]
fn only_arrays_that_start_like_an_envelope_are_taken_for_one() {
    for text in [
        "[]",
        r#"["1.0"]"#,
        r#"["x","uai.a.b.v1"]"#,
        r#"["1.0","jai.a.b.v1"]"#,
    ] {
        assert_eq!(lenient(text).dialect, None, "{text}");
    }
    let document = json::read(b"[\"1.0\",\"uai.a.b.v1\"]", Limits::default()).unwrap();
    assert_eq!(
        found(&to_keyed(document.root()).unwrap_err()),
        ["keyless_shape "]
    );
}
