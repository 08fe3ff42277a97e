use super::{canonical_hash, canonicalize, canonicalize_where, utf16_order};
use crate::Code;
use crate::json::{Kind, Limits, arbitrary, read};
use proptest::prelude::*;

fn canonical(text: &str) -> String {
    let document = read(text.as_bytes(), Limits::default()).unwrap();
    canonicalize(document.root(), &[]).unwrap()
}

fn refused(text: &str) -> (Code, String) {
    let document = read(text.as_bytes(), Limits::default()).unwrap();
    let fault = canonicalize(document.root(), &[]).unwrap_err();
    (fault.code, fault.pointer)
}

#[test]
fn the_sample_of_rfc_8785_comes_out_as_printed() {
    let text = r#"{
        "numbers": [333333333.33333329, 1E30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": "\u20ac$\u000F\u000aA'\u0042\u0022\u005c\\\"\/",
        "literals": [null, true, false]
    }"#;
    assert_eq!(
        canonical(text),
        "{\"literals\":[null,true,false],\
         \"numbers\":[333333333.3333333,1e+30,4.5,0.002,1e-27],\
         \"string\":\"\u{20ac}$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\"}"
    );
}

#[test]
fn names_are_sorted_by_utf_16_code_units_after_unescaping() {
    let text =
        r#"{"\u20ac":1,"\r":2,"\ufb33":3,"1":4,"\ud83d\ude00":5,"\u0080":6,"\u00f6":7,"":8}"#;
    assert_eq!(
        canonical(text),
        "{\"\":8,\"\\r\":2,\"1\":4,\"\u{80}\":6,\"\u{f6}\":7,\"\u{20ac}\":1,\"\u{1f600}\":5,\"\u{fb33}\":3}"
    );
}

#[test]
fn numbers_are_written_as_ecmascript_does() {
    let cases = [
        ("0", "0"),
        ("-0", "0"),
        ("-0.0", "0"),
        ("0e5", "0"),
        ("1.0", "1"),
        ("1e21", "1e+21"),
        ("1e20", "100000000000000000000"),
        ("1e-6", "0.000001"),
        ("1e-7", "1e-7"),
        ("5e-324", "5e-324"),
        ("1.7976931348623157e308", "1.7976931348623157e+308"),
        ("9007199254740991", "9007199254740991"),
        ("-9007199254740991", "-9007199254740991"),
        ("9007199254740993.0", "9007199254740992"),
        ("295147905179352830000.0", "295147905179352830000"),
        ("1e-400", "0"),
    ];
    for (text, expected) in cases {
        assert_eq!(canonical(text), expected, "{text}");
    }
}

#[test]
fn numbers_that_readers_may_take_differently_are_refused_where_they_stand() {
    let code = Code::NumberNotInteroperable;
    assert_eq!(refused("9007199254740992"), (code, String::new()));
    assert_eq!(
        refused(r#"{"a":[1,-9007199254740993]}"#),
        (code, "/a/1".into())
    );
    assert_eq!(refused(r#"{"x/~":{"":1e400}}"#), (code, "/x~1~0/".into()));
    assert_eq!(
        refused(&format!("[{}]", "9".repeat(5_000))),
        (code, "/0".into())
    );
}

#[test]
fn named_members_are_left_out_and_not_looked_into() {
    let text =
        r#"{"sig":{"n":1e400},"b":[{"sig":1},2],"integrity":{"checksum":"x","algorithm":"y"}}"#;
    let document = read(text.as_bytes(), Limits::default()).unwrap();
    assert_eq!(
        canonicalize(document.root(), &["/sig", "/integrity/checksum", "/absent"]).unwrap(),
        r#"{"b":[{"sig":1},2],"integrity":{"algorithm":"y"}}"#
    );
}

#[test]
fn items_are_left_out_by_what_they_hold() {
    let text = r#"{"extensions":[{"ns":"a"},{"ns":"sig","v":1},{"ns":"b"}],"z":[{"ns":"sig"}]}"#;
    let document = read(text.as_bytes(), Limits::default()).unwrap();
    let kept = canonicalize_where(document.root(), |pointer, value| {
        let is_record = pointer.starts_with("/extensions/") && value.kind() == Kind::Object;
        !(is_record
            && value
                .get("ns")
                .is_some_and(|ns| ns.as_str().as_deref() == Some("sig")))
    });
    assert_eq!(
        kept.unwrap(),
        r#"{"extensions":[{"ns":"a"},{"ns":"b"}],"z":[{"ns":"sig"}]}"#
    );
    let none = canonicalize_where(document.root(), |_, _| false);
    assert_eq!(none.unwrap(), "{}");
}

#[test]
fn nesting_costs_no_stack() {
    let depth = 100_000;
    let text = format!("{}1{}", r#"{"k":["#.repeat(depth), "]}".repeat(depth));
    let limits = Limits {
        depth_max: depth * 2,
        ..Limits::default()
    };
    let document = read(text.as_bytes(), limits).unwrap();
    assert_eq!(canonicalize(document.root(), &["/absent"]).unwrap(), text);
}

#[test]
fn the_hash_covers_the_canonical_text() {
    let document = read(br#"{ "b":1, "a":"\u0041" }"#, Limits::default()).unwrap();
    let hash = canonical_hash(document.root()).unwrap();
    assert_eq!(hash, crate::digest(br#"{"a":"A","b":1}"#));
}

proptest! {
    #[test]
    fn the_canonical_text_is_what_another_writer_gives(value in arbitrary::value()) {
        let expected = serde_json_canonicalizer::to_string(&value).unwrap();
        prop_assert_eq!(canonical(&value.to_string()), expected.clone());
        prop_assert_eq!(canonical(&arbitrary::loose(&value)), expected.clone());
        // A large double without a fraction is written as an integer that is then refused.
        let document = read(expected.as_bytes(), Limits::default()).unwrap();
        match canonicalize(document.root(), &[]) {
            Ok(again) => prop_assert_eq!(again, expected),
            Err(fault) => prop_assert_eq!(fault.code, Code::NumberNotInteroperable),
        }
    }

    #[test]
    fn byte_order_with_two_ranks_is_utf_16_order(a in any::<String>(), b in any::<String>()) {
        prop_assert_eq!(utf16_order(&a, &b), a.encode_utf16().cmp(b.encode_utf16()));
    }

    #[test]
    fn doubles_are_written_as_another_writer_does(bits in any::<u64>()) {
        let number = f64::from_bits(bits);
        prop_assume!(number.is_finite());
        let expected = serde_json_canonicalizer::to_string(&number).unwrap();
        prop_assert_eq!(canonical(&format!("{number:e}")), expected);
    }
}
