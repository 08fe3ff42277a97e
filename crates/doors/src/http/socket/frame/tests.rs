use super::{FrameLimits, Incoming, Operation, plain, read};
use broker::{From, Mode, OnGap, PlaceName};
use protocol::{DialectName, Party, Rules, Timestamp};
use std::time::Duration;

fn frame(text: &str) -> Incoming {
    let limits = FrameLimits {
        frame_bytes_max: 400,
        pull_max: 100,
        pull_wait_ms_max: 1_000,
    };
    let mut rules = Rules::at(Timestamp::default());
    rules.envelope_bytes_max = 100;
    read(text, &rules, &limits)
}

fn refusal(text: &str) -> (String, String) {
    let refused = frame(text).operation.expect_err(text);
    (refused.code().to_string(), refused.first().pointer.clone())
}

#[test]
fn the_reference_is_echoed_as_written() {
    let incoming = frame(r#"{"op":"ping","ref":"a\u0062\"c"}"#);
    assert!(matches!(incoming.operation, Ok(Operation::Ping)));
    assert_eq!(
        plain("pong", &incoming.reference),
        r#"{"op":"pong","ref":"a\u0062\"c"}"#
    );
    assert_eq!(
        plain("pong", &frame(r#"{"op":"ping"}"#).reference),
        r#"{"op":"pong"}"#
    );
}

#[test]
fn an_envelope_is_taken_exactly_as_it_stands_in_the_frame() {
    let text = "{ \"envelope\" :  {\"n\": 9007199254740993,\n \"f\":1.10 }  ,\"op\":\"publish\"}";
    let Ok(Operation::Publish { envelope, .. }) = frame(text).operation else {
        panic!("expected a publish");
    };
    assert_eq!(&envelope[..], b"{\"n\": 9007199254740993,\n \"f\":1.10 }");
}

#[test]
fn readers_are_live_or_durable() {
    let Ok(Operation::Follow {
        filter,
        from,
        follow,
        wanted: None,
    }) =
        frame(r#"{"op":"subscribe","filter":{"type":"task.*"},"from":"earliest","on_gap":"fail"}"#)
            .operation
    else {
        panic!("expected a live reader");
    };
    assert_eq!((follow.on_gap, follow.mode), (OnGap::Fail, Mode::Complete));
    assert_eq!(filter.to_json(), r#"{"type":["task.*"]}"#);
    assert_eq!(from, From::Earliest);
    let Ok(Operation::Consume {
        place,
        consumer,
        in_flight_max,
        wanted: None,
    }) = frame(r#"{"op":"subscribe","inbox":"agent.b","max_in_flight":3,"consumer":"w1"}"#)
        .operation
    else {
        panic!("expected a durable reader");
    };
    assert_eq!(
        (place, consumer.as_deref(), in_flight_max),
        (PlaceName::Inbox(Party::parse("agent:b")), Some("w1"), 3)
    );
    let Ok(Operation::Pull(pull, Some(DialectName::Uai))) =
        frame(r#"{"op":"pull","subscription":"s","wait_ms":250,"as":"uai"}"#).operation
    else {
        panic!("expected a pull");
    };
    assert_eq!(
        (pull.max, pull.wait, pull.consumer),
        (16, Duration::from_millis(250), None)
    );
}

#[test]
fn a_receipt_is_asked_for_once_or_watched() {
    let Ok(Operation::Receipt {
        id,
        sender,
        is_watched: true,
    }) = frame(r#"{"op":"watch","id":"m-1","sender":"agent.a"}"#).operation
    else {
        panic!("expected a watcher");
    };
    assert_eq!((&*id, sender), ("m-1", Some(Party::parse("agent:a"))));
    let once = frame(r#"{"op":"receipt","id":"m-1"}"#).operation;
    assert!(matches!(
        once,
        Ok(Operation::Receipt {
            is_watched: false,
            ..
        })
    ));
}

#[test]
fn bad_frames_are_named_and_pointed_at() {
    let long = format!(r#"{{"op":"publish","envelope":"{}"}}"#, "x".repeat(120));
    let longer = format!(r#"{{"op":"ping","ref":"{}"}}"#, "x".repeat(500));
    let cases = [
        ("nonsense", "malformed_json", ""),
        ("[]", "bad_frame", ""),
        ("{}", "bad_frame", "/op"),
        (r#"{"op":1}"#, "bad_frame", "/op"),
        (r#"{"op":"shout"}"#, "bad_frame", "/op"),
        (r#"{"op":"ping","ref":1}"#, "bad_frame", "/ref"),
        (r#"{"op":"ping","extra":1}"#, "bad_frame", "/extra"),
        (r#"{"op":"publish"}"#, "bad_frame", "/envelope"),
        (r#"{"op":"pull"}"#, "bad_frame", ""),
        (
            r#"{"op":"pull","inbox":"a","max":101}"#,
            "bad_frame",
            "/max",
        ),
        (
            r#"{"op":"pull","inbox":"a","subscription":"b"}"#,
            "bad_frame",
            "",
        ),
        (
            r#"{"op":"subscribe","filter":{"typ":"x"}}"#,
            "filter_malformed",
            "/filter/typ",
        ),
        (
            r#"{"op":"subscribe","inbox":"a","from":"latest"}"#,
            "bad_frame",
            "/from",
        ),
        (
            r#"{"op":"subscribe","mode":"newest"}"#,
            "bad_frame",
            "/mode",
        ),
        (
            r#"{"op":"subscribe","inbox":"a","on_gap":"skip"}"#,
            "bad_frame",
            "/on_gap",
        ),
        (r#"{"op":"watch"}"#, "bad_frame", "/id"),
        (
            r#"{"op":"subscribe","consumer":"w"}"#,
            "bad_frame",
            "/consumer",
        ),
        (
            r#"{"op":"pull","inbox":"a","consumer":"a b"}"#,
            "bad_frame",
            "/consumer",
        ),
        (
            r#"{"op":"reject","deliveries":["1.1.1"],"retry_after_ms":1}"#,
            "bad_frame",
            "/retry_after_ms",
        ),
        (
            r#"{"op":"subscribe","max_in_flight":1}"#,
            "bad_frame",
            "/max_in_flight",
        ),
        (
            r#"{"op":"ack","deliveries":[]}"#,
            "bad_frame",
            "/deliveries",
        ),
        (
            r#"{"op":"publish","envelope":{"a":"\ud800"}}"#,
            "invalid_unicode",
            "/envelope/a",
        ),
        (&long, "too_large", "/envelope"),
        (&longer, "too_large", ""),
    ];
    for (text, code, pointer) in cases {
        assert_eq!(
            refusal(text),
            (code.to_owned(), pointer.to_owned()),
            "{text}"
        );
    }
}
