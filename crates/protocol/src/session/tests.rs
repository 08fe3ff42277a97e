use super::{Capabilities, Machine, Parked, Place, SessionState, Step};
use crate::json::{Limits, read};
use crate::{Rules, Timestamp, decode};
use proptest::prelude::*;

fn at(ms: i64) -> Timestamp {
    Timestamp::from_millis(1_772_274_600_000 + ms)
}

fn truth() -> Capabilities {
    Capabilities {
        transports: vec!["websocket"],
        payload_bytes_max: 1_024,
        ..Capabilities::default()
    }
}

fn machine() -> Machine {
    Machine::new(at(0), 7, truth(), 4)
}

fn event(kind: &str, payload: &str) -> String {
    format!(
        r#"{{"spec_version":"0.2","id":"evt_1","type":"{kind}","source":"agent:a","created_at":"2026-02-28T10:30:00Z","payload":{payload}}}"#
    )
}

/// Drives as a door would, without an exchange.
fn hear(machine: &mut Machine, ms: i64, text: &str) -> Vec<Step> {
    let reading = decode(text.as_bytes(), &Rules::at(at(ms)));
    let mut out = Vec::new();
    for step in machine.hear(at(ms), text.as_bytes(), reading) {
        match step {
            Step::Open {
                about,
                source,
                offer,
            } => {
                out.extend(machine.open(at(ms), &about, &source, &offer, None));
            }
            Step::Subscribe {
                about,
                subscription,
            } => {
                let place = Place {
                    sequence: 1,
                    cursor: "c-1".into(),
                };
                let text = machine.subscribed(at(ms), about.as_ref(), &subscription.id, place);
                out.extend(text.map(Step::Say));
            }
            other => out.push(other),
        }
    }
    out
}

fn said(steps: &[Step]) -> Vec<(String, String)> {
    let texts = steps.iter().filter_map(|step| match step {
        Step::Say(text) => Some(text.clone()),
        _ => None,
    });
    texts
        .map(|text| {
            let document = read(text.as_bytes(), Limits::default()).unwrap();
            let kind = document
                .root()
                .get("type")
                .unwrap()
                .as_str()
                .unwrap()
                .into_owned();
            (kind, text)
        })
        .collect()
}

fn kinds(steps: &[Step]) -> Vec<String> {
    said(steps).into_iter().map(|(kind, _)| kind).collect()
}

#[test]
fn both_spellings_of_the_handshake_are_answered() {
    let mut machine = machine();
    let steps = hear(&mut machine, 0, &event("capabilities.requested", "{}"));
    assert_eq!(kinds(&steps), ["capabilities.declared"]);
    assert_eq!(machine.state(), SessionState::Created);
    let open = event("session.opened", r#"{"session_id":"s","version":"0.1"}"#);
    let steps = hear(&mut machine, 0, &open);
    assert_eq!(kinds(&steps), ["session.ready"]);
    assert!(said(&steps)[0].1.contains(r#""transports":["websocket"]"#));
    assert_eq!(machine.state(), SessionState::Ready);
    assert_eq!(kinds(&hear(&mut machine, 0, &open)), ["event.rejected"]);
    let steps = hear(&mut machine, 0, &event("session.closed", "{}"));
    assert_eq!(kinds(&steps), ["event.acknowledged", "session.closed"]);
    assert_eq!(machine.state(), SessionState::Closed);
    assert_eq!(kinds(&hear(&mut machine, 0, &open)), ["session.ready"]);
}

#[test]
fn a_required_profile_that_is_missing_ends_the_session_and_is_named() {
    let mut machine = machine();
    let payload =
        r#"{"session_id":"s","required_profiles":["harmovela.core.v1","harmovela.security.v1"]}"#;
    let steps = hear(&mut machine, 0, &event("session.opened", payload));
    assert_eq!(kinds(&steps), ["session.error"]);
    let text = &said(&steps)[0].1;
    assert!(text.contains(r#""code":"unsupported_profile""#), "{text}");
    assert!(
        text.contains(r#""required":["harmovela.security.v1"]"#),
        "{text}"
    );
    assert!(matches!(steps.last(), Some(Step::End(_))));
    assert_eq!(
        machine.state(),
        SessionState::Created
            .after(super::SessionMove::Fail)
            .unwrap()
    );
}

#[test]
fn profiles_are_the_intersection_and_a_foreign_version_is_refused() {
    let mut one = machine();
    let payload = r#"{"session_id":"s","profiles":["harmovela.core.v1","x.y.v1"]}"#;
    let steps = hear(&mut one, 0, &event("session.opened", payload));
    assert!(
        said(&steps)[0]
            .1
            .contains(r#""profiles":["harmovela.core.v1"]}"#)
    );
    let mut two = machine();
    let steps = hear(
        &mut two,
        0,
        &event("session.opened", r#"{"version":"9.9"}"#),
    );
    assert_eq!(kinds(&steps), ["session.error"]);
    assert!(said(&steps)[0].1.contains("unsupported_version"));
}

#[test]
fn heartbeats_go_out_and_three_missed_ones_are_the_end() {
    let mut machine = machine();
    let open = event(
        "session.opened",
        r#"{"session_id":"s","heartbeat_interval_ms":1000}"#,
    );
    hear(&mut machine, 0, &open);
    assert_eq!(machine.due(), Some(at(1_000)));
    assert_eq!(kinds(&machine.tick(at(999))), [""; 0]);
    assert_eq!(kinds(&machine.tick(at(1_000))), ["session.heartbeat"]);
    assert!(hear(&mut machine, 2_900, &event("session.heartbeat", "{}")).is_empty());
    assert_eq!(kinds(&machine.tick(at(5_899))), ["session.heartbeat"]);
    let steps = machine.tick(at(5_900));
    assert_eq!(kinds(&steps), ["session.error"]);
    assert!(said(&steps)[0].1.contains("last_heartbeat_at"));
    assert_eq!(machine.state(), SessionState::Error);
    assert!(machine.park().is_some(), "it may come back");
}

#[test]
fn a_session_comes_back_with_its_subscriptions_behind_what_was_acknowledged() {
    let mut first = machine();
    let open = event("session.opened", r#"{"session_id":"s"}"#);
    hear(&mut first, 0, &open);
    let wish = event(
        "subscription.requested",
        r#"{"types":"task.*","delivery_mode":"replayable"}"#,
    );
    assert_eq!(kinds(&hear(&mut first, 0, &wish)), ["subscription.created"]);
    let place = |sequence: u64| Place {
        sequence,
        cursor: format!("c-{sequence}").into(),
    };
    first.sent("sub_0001", place(9));
    first.acknowledged(&place(5));
    first.acknowledged(&place(4));
    let parked: Parked = first.park().unwrap();
    assert_eq!(first.state(), SessionState::Closed);
    let mut second = machine();
    let reading = decode(open.as_bytes(), &Rules::at(at(0)));
    let steps = second.hear(at(0), open.as_bytes(), reading);
    let [
        Step::Open {
            about,
            source,
            offer,
        },
    ] = &steps[..]
    else {
        panic!("{steps:?}")
    };
    let steps = second.open(at(0), about, source, offer, Some(parked));
    assert!(said(&steps)[0].1.contains(r#""resumed":true"#));
    let from = steps.iter().find_map(|step| match step {
        Step::Subscribe { subscription, .. } => subscription.from.clone(),
        _ => None,
    });
    assert_eq!(from.as_deref(), Some("c-5"));
    assert_eq!(
        kinds(&hear(&mut second, 0, &wish)),
        ["subscription.created"]
    );
    assert_eq!(second.subscriptions().count(), 1, "asked again, not twice");
}

#[test]
fn answers_to_answers_end() {
    let mut machine = machine();
    let steps = hear(&mut machine, 0, &event("session.ready", "{}"));
    let text = &said(&steps)[0].1;
    let document = read(text.as_bytes(), Limits::default()).unwrap();
    let id = document
        .root()
        .get("id")
        .unwrap()
        .as_str()
        .unwrap()
        .into_owned();
    let ack = event(
        "event.acknowledged",
        &format!(r#"{{"acknowledged_event_id":"{id}"}}"#),
    );
    assert!(hear(&mut machine, 0, &ack).is_empty());
    let other = event("event.acknowledged", r#"{"acknowledged_event_id":"evt_9"}"#);
    assert!(!hear(&mut machine, 0, &other).is_empty());
}

#[test]
fn what_is_no_message_is_refused_in_band() {
    let mut machine = machine();
    for text in [
        "",
        "{",
        "[]",
        "null",
        "{\"id\":\"x\",\"type\":\"task.done\"}",
    ] {
        assert_eq!(
            kinds(&hear(&mut machine, 0, text)),
            ["event.rejected"],
            "{text}"
        );
    }
    let steps = hear(&mut machine, 0, &event("subscription.requested", "{}"));
    assert_eq!(kinds(&steps), ["subscription.rejected"]);
}

fn any_text() -> impl Strategy<Value = String> {
    let kind = prop_oneof![
        Just("session.opened"),
        Just("session.closed"),
        Just("session.heartbeat"),
        Just("session.error"),
        Just("session.ready"),
        Just("capabilities.requested"),
        Just("capabilities.declared"),
        Just("subscription.requested"),
        Just("subscription.cancelled"),
        Just("event.acknowledged"),
        Just("event.redelivered"),
        Just("event.rejected"),
        Just("task.submitted"),
        Just("no.such.type"),
    ];
    let payload = prop_oneof![
        Just("{}"),
        Just("[]"),
        Just("null"),
        Just(r#"{"session_id":"s","version":"0.2"}"#),
        Just(r#"{"session_id":"t","version":9}"#),
        Just(r#"{"heartbeat_interval_ms":100,"session_id":"s"}"#),
        Just(r#"{"heartbeat_interval_ms":-1e300}"#),
        Just(r#"{"required_profiles":["x"]}"#),
        Just(r#"{"profiles":{"required":[1,null]}}"#),
        Just(r#"{"types":"*"}"#),
        Just(r#"{"types":["task.*"],"delivery_mode":"replayable"}"#),
        Just(r#"{"types":"*","expires_at":"2026-02-28T10:30:01Z"}"#),
        Just(r#"{"subscription_id":"sub_0001"}"#),
        Just(r#"{"acknowledged_event_id":"evt_1"}"#),
        Just(r#"{"original_event_id":"evt_1"}"#),
    ];
    prop_oneof![
        9 => (kind, payload).prop_map(|(kind, payload)| event(kind, payload)),
        1 => ".{0,40}",
    ]
}

proptest! {
    #[test]
    fn no_sequence_of_events_panics_and_states_only_move_as_the_table_says(
        texts in prop::collection::vec((any_text(), 0_i64..400), 0..40)
    ) {
        let mut machine = machine();
        let mut now = 0;
        let mut is_over = false;
        for (text, wait) in texts {
            now += wait;
            let before = machine.state();
            let mut steps = machine.tick(at(now));
            steps.extend(hear(&mut machine, now, &text));
            // Every word of ours is itself a valid event.
            for (_, text) in said(&steps) {
                let reading = decode(text.as_bytes(), &Rules::at(at(now)));
                prop_assert!(reading.is_valid(), "{text}: {:?}", reading.faults);
            }
            if before.is_terminal() && machine.state() != before {
                prop_assert!(text.contains("session.opened"), "{before:?} after {text}");
            }
            prop_assert!(machine.subscriptions().count() <= 4);
            let ends = steps.iter().filter(|step| matches!(step, Step::End(_))).count();
            is_over |= ends > 0;
            if is_over {
                prop_assert!(machine.state().is_terminal());
                break;
            }
            prop_assert!(machine.state() != SessionState::Opened, "an opening is finished at once");
        }
    }
}
