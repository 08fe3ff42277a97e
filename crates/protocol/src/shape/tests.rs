use super::{Clock, Grammar, Shape, Want, check, check_lenient, optional, required};
use crate::json::{Limits, read};
use crate::{Code, Fault};

static LOWER: Grammar = Grammar {
    expected: "a lower-case word",
    code: Code::IdentityMalformed,
    fits: |text| !text.is_empty() && text.bytes().all(|c| c.is_ascii_lowercase()),
};

static AGENT: Shape = Shape::closed(&[
    required("id", Want::Text(&LOWER)),
    optional("label", Want::Str { min: 1, max: 4 }),
]);

static TASK: Shape = Shape::open(&[
    required("reason", Want::NON_EMPTY),
    required("parent", Want::STRING).or_null(),
    required("key", Want::STRING).missing_as(Code::IdempotencyKeyMissing),
    optional("ok", Want::Bool),
    optional("ratio", Want::Num { min: 0.0, max: 1.0 }),
    optional("count", Want::Int { min: 1, max: 10 }),
    optional("any_count", Want::COUNT),
    optional("word", Want::Enum(&["low", "high"])),
    optional("at", Want::Time(Clock::Rfc3339)),
    optional("at_z", Want::Time(Clock::UtcZ)),
    optional("open", Want::Object),
    optional(
        "list",
        Want::Array {
            min: 1,
            max: 3,
            item: &Want::NON_EMPTY,
        },
    ),
    optional("agent", Want::Nested(&AGENT)),
    optional("agents", Want::list(&Want::Nested(&AGENT))),
    optional(
        "topic",
        Want::OneOf(&[Want::NON_EMPTY, Want::list(&Want::NON_EMPTY)]),
    ),
    optional(
        "fact",
        Want::OneOf(&[
            Want::Nested(&AGENT),
            Want::Nested(&Shape::open(&[required("fact", Want::STRING)])),
        ]),
    ),
    optional("free", Want::Any),
    optional("a/b~", Want::Bool),
]);

fn faults_of(shape: &Shape, text: &str) -> Vec<Fault> {
    let document = read(text.as_bytes(), Limits::default()).unwrap();
    let (mut faults, mut pointer) = (Vec::new(), String::from("/payload"));
    check(shape, document.root(), &mut pointer, "AEP 2", &mut faults);
    assert_eq!(pointer, "/payload");
    faults
}

/// The faults of one member inside an otherwise complete object.
fn member(text: &str) -> Vec<(Code, String)> {
    faults_of(
        &TASK,
        &format!(r#"{{"reason":"r","parent":null,"key":"k",{text}}}"#),
    )
    .into_iter()
    .map(|fault| (fault.code, fault.pointer))
    .collect()
}

#[test]
fn a_complete_object_has_no_faults() {
    let good = [
        r#""ok":true,"ratio":0.5,"count":10,"any_count":1e300,"word":"low""#,
        r#""ratio":1e-400,"count":1.0,"at":"2026-02-28T10:30:00+02:00","at_z":"2026-02-28T10:30:00.5Z""#,
        r#""open":{"x":1},"list":["a","b"],"agent":{"id":"a","label":"\ud83c\udf78bcd"},"agents":[]"#,
        r#""topic":"t""#,
        r#""topic":["t","u"]"#,
        r#""fact":{"id":"a"}"#,
        r#""fact":{"fact":"f","id":7}"#,
        r#""free":null,"undeclared":null"#,
    ];
    for text in good {
        let expected = if text.contains("1e300") {
            vec![(Code::OutOfRange, "/payload/any_count".into())]
        } else {
            vec![]
        };
        assert_eq!(member(text), expected, "{text}");
    }
}

#[test]
fn every_kind_of_difference_has_its_code_and_pointer() {
    let bad: [(&str, Code, &str); 28] = [
        (r#""ok":1"#, Code::TypeMismatch, "/ok"),
        (r#""ok":null"#, Code::NullNotAllowed, "/ok"),
        (r#""ratio":1.01"#, Code::OutOfRange, "/ratio"),
        (r#""ratio":1e400"#, Code::OutOfRange, "/ratio"),
        (r#""ratio":"0.5""#, Code::TypeMismatch, "/ratio"),
        (r#""count":0"#, Code::OutOfRange, "/count"),
        (r#""count":11"#, Code::OutOfRange, "/count"),
        (r#""count":1.5"#, Code::TypeMismatch, "/count"),
        (
            r#""count":1.00000000000000000001"#,
            Code::TypeMismatch,
            "/count",
        ),
        (
            r#""count":18446744073709551616"#,
            Code::OutOfRange,
            "/count",
        ),
        (r#""word":"mid""#, Code::EnumUnknown, "/word"),
        (r#""word":"Low""#, Code::EnumUnknown, "/word"),
        (r#""word":[]"#, Code::TypeMismatch, "/word"),
        (r#""at":"yesterday""#, Code::TimestampMalformed, "/at"),
        (
            r#""at_z":"2026-02-28T10:30:00+00:00""#,
            Code::TimestampNotUtc,
            "/at_z",
        ),
        (
            r#""at_z":"2026-02-30T10:30:00Z""#,
            Code::TimestampMalformed,
            "/at_z",
        ),
        (r#""open":[]"#, Code::TypeMismatch, "/open"),
        (r#""list":[]"#, Code::TooShort, "/list"),
        (r#""list":["a","b","c","d"]"#, Code::TooLong, "/list"),
        (r#""list":["a",""]"#, Code::TooShort, "/list/1"),
        (r#""list":[null]"#, Code::TypeMismatch, "/list/0"),
        (
            r#""agent":{"id":"A"}"#,
            Code::IdentityMalformed,
            "/agent/id",
        ),
        (
            r#""agent":{"id":"a","label":"abcde"}"#,
            Code::TooLong,
            "/agent/label",
        ),
        (
            r#""agent":{"id":"a","x/y":1}"#,
            Code::UndeclaredField,
            "/agent/x~1y",
        ),
        (
            r#""agents":[{"id":"a"},{}]"#,
            Code::MissingField,
            "/agents/1/id",
        ),
        (r#""topic":5"#, Code::TypeMismatch, "/topic"),
        (r#""topic":["t",""]"#, Code::TooShort, "/topic/1"),
        (r#""a\u002fb~":0"#, Code::TypeMismatch, "/a~1b~0"),
    ];
    for (text, code, pointer) in bad {
        assert_eq!(
            member(text),
            [(code, format!("/payload{pointer}"))],
            "{text}"
        );
    }
}

#[test]
fn all_faults_come_in_document_order_then_what_is_missing() {
    let faults = faults_of(
        &TASK,
        r#"{"word":"x","ok":null,"agent":{"z":1},"reason":""}"#,
    );
    let found: Vec<_> = faults
        .iter()
        .map(|f| (f.code, f.pointer.as_str()))
        .collect();
    assert_eq!(
        found,
        [
            (Code::EnumUnknown, "/payload/word"),
            (Code::NullNotAllowed, "/payload/ok"),
            (Code::UndeclaredField, "/payload/agent/z"),
            (Code::MissingField, "/payload/agent/id"),
            (Code::TooShort, "/payload/reason"),
            (Code::MissingField, "/payload/parent"),
            (Code::IdempotencyKeyMissing, "/payload/key"),
        ]
    );
    assert!(faults.iter().all(|fault| fault.rule == "AEP 2"));
}

#[test]
fn sentences_say_what_was_expected_and_what_came() {
    let says = |text: &str| faults_of(&TASK, text).remove(0).detail;
    let with = |text: &str| {
        says(&format!(
            r#"{{{text},"reason":"r","parent":null,"key":"k"}}"#
        ))
    };
    assert_eq!(says("[]"), "expected an object, got an array");
    assert_eq!(
        says(r#"{"parent":"p","key":"k"}"#),
        "expected a string of at least 1 character, got nothing"
    );
    assert_eq!(
        with(r#""word":"mid""#),
        "expected one of `low`, `high`, got \"mid\""
    );
    assert_eq!(
        with(r#""count":0"#),
        "expected an integer from 1 to 10, got 0"
    );
    assert_eq!(with(r#""list":[]"#), "expected at least 1 item, got 0");
    assert_eq!(
        with(r#""list":7"#),
        "expected an array of 1 to 3 items, got a number"
    );
    assert_eq!(
        with(r#""topic":7"#),
        "expected a string of at least 1 character or an array, got a number"
    );
    assert_eq!(
        with(r#""agent":{"id":"A"}"#),
        "expected a lower-case word, got \"A\""
    );
    assert_eq!(with(r#""ok":null"#), "expected a boolean, got null");
    let long = with(&format!(r#""word":"{}""#, "\u{e9}".repeat(200)));
    assert!(
        long.ends_with("\u{e9}...") && long.chars().count() < 90,
        "{long}"
    );
}

#[test]
fn a_lenient_check_keeps_undeclared_members_and_warns() {
    let document = read(br#"{"id":"a","more":1,"label":""}"#, Limits::default()).unwrap();
    let (mut faults, mut warnings) = (Vec::new(), Vec::new());
    check_lenient(
        &AGENT,
        document.root(),
        &mut String::new(),
        "UAI 1.2",
        &mut faults,
        &mut warnings,
    );
    assert_eq!(
        faults.iter().map(|f| f.code).collect::<Vec<_>>(),
        [Code::TooShort]
    );
    let kept: Vec<_> = warnings
        .iter()
        .map(|f| (f.code, f.pointer.as_str()))
        .collect();
    assert_eq!(kept, [(Code::UndeclaredFieldKept, "/more")]);
}

#[test]
fn a_choice_reports_as_its_first_fitting_form_and_leaves_no_trace_of_the_others() {
    static CHOICE: Shape = Shape::open(&[optional(
        "c",
        Want::OneOf(&[Want::Bool, Want::Nested(&AGENT), Want::Object]),
    )]);
    let document = read(br#"{"c":{"id":"A","more":1}}"#, Limits::default()).unwrap();
    let (mut faults, mut warnings) = (Vec::new(), Vec::new());
    check_lenient(
        &CHOICE,
        document.root(),
        &mut String::new(),
        "UAI 3",
        &mut faults,
        &mut warnings,
    );
    assert_eq!((faults.len(), warnings.len()), (0, 0));
}
