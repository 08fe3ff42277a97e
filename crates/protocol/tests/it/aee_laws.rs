//! Laws of the AEE dialect that hold for every envelope.

use interwire_protocol::dialect::aee::{Aee, Builder};
use interwire_protocol::{AeePolicy, Code, Intake, Mode, Priority, Rules, Timestamp, decode};
use proptest::prelude::*;

const NAMES: [&str; 14] = [
    "v", "id", "ts", "type", "from", "to", "intent", "corr", "reply_to", "trace", "priority",
    "requires", "payload", "sig",
];
const POLICIES: [AeePolicy; 5] = [
    AeePolicy::Repo,
    AeePolicy::Seed,
    AeePolicy::Both,
    AeePolicy::Either,
    AeePolicy::Log,
];

fn rules() -> Rules {
    Rules::at(Timestamp::from_millis(1_772_274_600_000))
}

fn entity() -> impl Strategy<Value = String> {
    (
        "(human|agent|service|bus)",
        "[A-Za-z0-9_-]{1,12}(\\.[A-Za-z0-9_-]{1,8}){0,2}",
    )
        .prop_map(|(kind, name)| format!("{kind}.{name}"))
}

fn ulid() -> impl Strategy<Value = String> {
    "[0-7][0-9A-HJKMNP-TV-Z]{25}"
}

fn priority() -> impl Strategy<Value = Priority> {
    prop_oneof![
        Just(Priority::Low),
        Just(Priority::Normal),
        Just(Priority::High),
        Just(Priority::Urgent)
    ]
}

/// A payload object whose members hold arbitrary text.
fn payload() -> impl Strategy<Value = String> {
    proptest::collection::btree_map("[a-z]{1,6}", ".{0,20}", 0..4)
        .prop_map(|map| serde_json::to_string(&map).unwrap())
}

fn task() -> impl Strategy<Value = Builder> {
    (
        entity(),
        entity(),
        "x[a-z]{0,5}(\\.[a-z][a-z0-9_]{0,5}){1,3}",
        ulid(),
        priority(),
        payload(),
    )
        .prop_map(|(from, to, intent, corr, priority, payload)| {
            Aee::task(&from, &to, &intent)
                .corr(&corr)
                .priority(priority)
                .payload_json(&payload)
                .requires(r#"{"timeout_ms":30000}"#)
                .trace("4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7")
        })
}

fn moment() -> impl Strategy<Value = Timestamp> {
    (0_i64..4_000_000_000_000).prop_map(Timestamp::from_millis)
}

/// Any value that a careless or hostile peer may put into a member.
fn any_value() -> impl Strategy<Value = String> {
    let words = [
        "null",
        "true",
        "0",
        "-1.5",
        "\"\"",
        "\"1\"",
        "\"task\"",
        "\"result\"",
        "\"agent.*\"",
        "[]",
        "[{}]",
        "{}",
        r#"{"trace_id":1}"#,
        r#"{"references":[1,{"id":2}]}"#,
        "\"high\"",
        r#"{"timeout_ms":1e400}"#,
        r#""2026-02-28T10:30:00Z""#,
        "\"ops.network.port.probe\"",
        "\"aee.status.ping\"",
        r#"{"decision_evidence":{"confidence":"x"}}"#,
        "\"\\ud83c\\udf78\"",
    ];
    prop_oneof![
        proptest::sample::select(words.to_vec()).prop_map(String::from),
        ulid().prop_map(|id| format!("\"{id}\""))
    ]
}

/// Objects with some of the fourteen members, in any order. Most hold what is right for them, so that
/// every tier and policy is met now and then.
fn any_object() -> impl Strategy<Value = Vec<(String, String)>> {
    let member = |name: &'static str| {
        let right = match name {
            "v" => "\"1\"",
            "id" | "corr" => "\"01KJHX7SJ00000000000000000\"",
            "ts" => "\"2026-02-28T10:30:00Z\"",
            "type" => "\"result\"",
            "from" | "to" => "\"agent.a\"",
            "intent" => "\"demo.work\"",
            "reply_to" => "\"01KJHX7SJ00000000000000001\"",
            "priority" => "\"low\"",
            _ => "{}",
        };
        let value = prop_oneof![30 => Just(right.to_string()), 1 => any_value()];
        (proptest::bool::weighted(0.9), value)
            .prop_map(move |(is_there, value)| is_there.then(|| (name.to_string(), value)))
    };
    NAMES
        .map(member)
        .prop_map(|members| members.into_iter().flatten().collect::<Vec<_>>())
        .prop_shuffle()
}

fn write(members: &[(String, String)]) -> String {
    let members: Vec<_> = members
        .iter()
        .map(|(name, value)| format!("\"{name}\":{value}"))
        .collect();
    format!("{{{}}}", members.join(","))
}

/// The members of an envelope, each as it is written.
fn members_of(text: &str) -> Vec<(String, String)> {
    let document =
        interwire_protocol::json::read(text.as_bytes(), Default::default()).expect("JSON");
    document
        .root()
        .members()
        .map(|(key, value)| (key.text().into_owned(), value.raw().to_string()))
        .collect()
}

proptest! {
    #[test]
    fn what_is_built_is_whole_and_valid_in_strict_mode(
        task in task(), id in ulid(), ts in moment(), reply_id in ulid(), more in payload()
    ) {
        let text = task.build(&id, ts);
        for policy in [AeePolicy::Repo, AeePolicy::Seed, AeePolicy::Both, AeePolicy::Either] {
            let reading = decode(text.as_bytes(), &rules().mode(Mode::Strict).policy(policy));
            prop_assert!(reading.is_valid(), "{text}\n{reading:#?}");
            prop_assert!(reading.tiers.unwrap().full14);
        }
        let names: Vec<_> = members_of(&text).into_iter().map(|(name, _)| name).collect();
        prop_assert_eq!(names, NAMES);

        let cause = decode(text.as_bytes(), &rules()).header.unwrap();
        let replies = [
            Aee::result_of(&cause).payload_json(&more),
            Aee::stream_of(&cause).payload_json(&more),
            Aee::error_of(&cause, "E_TIMEOUT", &more),
        ];
        for reply in replies {
            let text = reply.build(&reply_id, ts);
            let reading = decode(text.as_bytes(), &rules().mode(Mode::Strict));
            prop_assert!(reading.is_valid(), "{text}\n{reading:#?}");
            let reply = reading.header.unwrap();
            prop_assert_eq!(&reply.sender, &cause.recipients[0]);
            prop_assert_eq!(&reply.recipients[0], &cause.sender);
            prop_assert_eq!(&reply.conversation, &cause.conversation);
            prop_assert_eq!(&reply.intent, &cause.intent);
            prop_assert_eq!(reply.priority, cause.priority);
            prop_assert_eq!(reply.cause.as_deref(), Some(&*cause.id));
            prop_assert_eq!(reply.task, cause.task.clone());
        }
    }

    #[test]
    fn unknown_members_never_change_a_verdict(
        mut members in any_object(),
        extra in proptest::collection::btree_map("x_[a-z]{1,6}", any_value(), 1..4),
        at in any::<prop::sample::Index>(),
    ) {
        let plain = write(&members);
        let at = at.index(members.len() + 1);
        members.splice(at..at, extra);
        let more = write(&members);
        for policy in POLICIES {
            for mode in [Mode::Strict, Mode::Lenient] {
                let rules = rules().mode(mode).policy(policy);
                let [a, b] = [&plain, &more].map(|text| decode(text.as_bytes(), &rules));
                prop_assert_eq!(a.faults, b.faults);
                prop_assert_eq!(a.warnings, b.warnings);
                prop_assert_eq!(a.tiers, b.tiers);
                prop_assert_eq!(a.header.is_some(), b.header.is_some());
            }
        }
    }

    #[test]
    fn without_one_of_the_ten_the_schema_is_not_met(
        task in task(), id in ulid(), ts in moment(),
        name in proptest::sample::select(vec![
            "v", "id", "ts", "type", "from", "to", "intent", "corr", "priority", "payload",
        ])
    ) {
        let mut members = members_of(&task.build(&id, ts));
        members.retain(|(member, _)| member != name);
        let reading = decode(write(&members).as_bytes(), &rules().policy(AeePolicy::Repo));
        prop_assert_eq!(reading.faults.len(), 1);
        prop_assert_eq!(reading.faults[0].code, Code::MissingField);
        prop_assert_eq!(&reading.faults[0].pointer, &format!("/{name}"));
        prop_assert!(!reading.tiers.unwrap().repo10);
    }

    #[test]
    fn either_takes_what_one_of_the_two_takes_and_both_what_both_take(members in any_object()) {
        let text = write(&members);
        let is_valid = |policy, mode| {
            decode(text.as_bytes(), &rules().mode(mode).policy(policy)).is_valid()
        };
        for mode in [Mode::Strict, Mode::Lenient] {
            let (repo, seed) = (is_valid(AeePolicy::Repo, mode), is_valid(AeePolicy::Seed, mode));
            prop_assert_eq!(is_valid(AeePolicy::Both, mode), repo && seed);
            prop_assert!(is_valid(AeePolicy::Either, mode) || !(repo || seed));
        }
    }

    #[test]
    fn a_reading_has_a_header_or_faults_and_strict_is_never_laxer(members in any_object()) {
        let text = write(&members);
        for policy in POLICIES {
            let [strict, lenient] = [Mode::Strict, Mode::Lenient]
                .map(|mode| decode(text.as_bytes(), &rules().mode(mode).policy(policy)));
            for reading in [&strict, &lenient] {
                prop_assert_eq!(reading.header.is_some(), reading.faults.is_empty(), "{}", text);
            }
            prop_assert!(lenient.is_valid() || !strict.is_valid());
            prop_assert_eq!(strict.tiers, lenient.tiers);
        }
    }

    #[test]
    fn what_is_accepted_fills_a_tier_of_its_policy(members in any_object()) {
        let text = write(&members);
        for policy in POLICIES {
            let reading = decode(text.as_bytes(), &rules().policy(policy));
            let Some(header) = reading.header else { continue };
            let tiers = reading.tiers.unwrap();
            let is_record = tiers.repo5 || tiers.seed5;
            let fills = match policy {
                AeePolicy::Repo => tiers.repo10,
                AeePolicy::Seed => tiers.seed10,
                AeePolicy::Both => tiers.repo10 && tiers.seed10,
                AeePolicy::Either if header.intake == Intake::Work => tiers.repo10 || tiers.seed10,
                AeePolicy::Either | AeePolicy::Log => is_record,
            };
            prop_assert!(fills, "{text} {tiers:?}");
            let may_be_logged = matches!(policy, AeePolicy::Either | AeePolicy::Log);
            prop_assert!(may_be_logged || header.intake == Intake::Work);
            prop_assert!(policy != AeePolicy::Log || header.intake == Intake::Log);
        }
    }
}
