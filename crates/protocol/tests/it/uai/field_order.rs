//! The order tables as data: ours can be written and read back, others take their place.

use interwire_protocol::dialect::uai::field_order::FieldOrder;
use interwire_protocol::dialect::uai::keyless::{to_keyed_in, to_keyless_in};
use interwire_protocol::json::{self, Limits};
use interwire_protocol::{Code, canonical};

use super::directive;
use super::rows::shared;

#[test]
fn our_tables_read_back_as_they_were_written() {
    let ours = FieldOrder::ours();
    let read = FieldOrder::read(ours.write().as_bytes()).unwrap();
    assert_eq!(&read, ours);
    assert_eq!(read.version(), "ours-1");
    assert_eq!(read.profiles().count(), 18);
}

#[test]
fn the_recorded_tables_are_ours() {
    let Some(text) = shared("uai-field-order.json") else {
        return;
    };
    assert_eq!(
        &FieldOrder::read(text.as_bytes()).unwrap(),
        FieldOrder::ours()
    );
}

#[test]
fn a_loaded_order_moves_slots_and_keeps_the_canonical_hash() {
    let registry = r#"{"version":"theirs-7","compact_field_order_maps":{
        "agent":{"ordered_fields":["label","id","type"],"required_indexes":[0,1,2]}}}"#;
    let order = FieldOrder::read(registry.as_bytes()).unwrap();
    let text = directive().write().unwrap();
    let document = json::read(text.as_bytes(), Limits::default()).unwrap();
    let keyless = to_keyless_in(document.root(), &order).unwrap();
    let array = json::read(keyless.as_bytes(), Limits::default()).unwrap();
    let source = array.root().items().nth(3).unwrap();
    assert_eq!(source.raw(), r#"["a","a","agent"]"#);
    let keyed = to_keyed_in(array.root(), &order).unwrap();
    let keyed = json::read(keyed.as_bytes(), Limits::default()).unwrap();
    assert_eq!(
        canonical::canonical_hash(keyed.root()).unwrap(),
        canonical::canonical_hash(document.root()).unwrap()
    );
    assert_eq!(order.version(), "theirs-7");
}

#[test]
fn a_broken_registry_says_where_it_is_broken() {
    for (registry, code, pointer) in [
        ("[", Code::MalformedJson, ""),
        ("{}", Code::MissingField, "/version"),
        (
            r#"{"version":"1"}"#,
            Code::MissingField,
            "/compact_field_order_maps",
        ),
        (
            r#"{"version":"1","compact_field_order_maps":{"a":{"ordered_fields":["x","x"],"required_indexes":[]}}}"#,
            Code::KeylessShape,
            "/compact_field_order_maps/a/ordered_fields/1",
        ),
        (
            r#"{"version":"1","compact_field_order_maps":{"a":{"ordered_fields":["x"],"required_indexes":[1]}}}"#,
            Code::KeylessShape,
            "/compact_field_order_maps/a/required_indexes/0",
        ),
        (
            r#"{"version":"1","compact_field_order_maps":{"envelope":{"ordered_fields":["x"],"required_indexes":[]}}}"#,
            Code::KeylessShape,
            "/compact_field_order_maps/envelope",
        ),
    ] {
        let fault = FieldOrder::read(registry.as_bytes()).unwrap_err();
        assert_eq!(fault.code, code, "{registry}");
        if code != Code::MalformedJson {
            assert_eq!(fault.pointer, pointer, "{registry}");
        }
    }
}
