//! Laws that hold for all events.

use std::collections::BTreeMap;

use interwire_protocol::dialect::aep::Aep;
use interwire_protocol::dialect::aep::conformance::{Engine, Subject};
use interwire_protocol::{Code, Timestamp, decode};
use proptest::prelude::*;

use super::{NOW, lenient, strict};

const TASK_WORDS: [&str; 11] = [
    "submitted",
    "accepted",
    "started",
    "blocked",
    "progress",
    "output",
    "completed",
    "failed",
    "cancelled",
    "timed_out",
    "cancel.requested",
];

/// A model that is as plain as the text: every open task, its state, its parent; every ended one.
#[derive(Default)]
struct Model {
    open: BTreeMap<u8, (&'static str, Option<u8>)>,
    ended: Vec<u8>,
    /// Cancelled with an ancestor and not yet reported.
    owed: Vec<u8>,
}

fn is_end(word: &str) -> bool {
    matches!(word, "completed" | "failed" | "cancelled" | "timed_out")
}

/// The table of AEP 5, written down a second time.
fn is_legal(from: &str, to: &str) -> bool {
    let always = ["failed", "cancelled", "timed_out"];
    let more: &[&str] = match from {
        "submitted" => &["accepted", "started"],
        "accepted" => &["started"],
        "blocked" => &["started", "progress"],
        _ => &["blocked", "progress", "output", "completed"],
    };
    from == to || always.contains(&to) || more.contains(&to)
}

impl Model {
    fn children(&self, task: u8) -> Vec<u8> {
        let of =
            |(id, (_, parent)): (&u8, &(_, Option<u8>))| (*parent == Some(task)).then_some(*id);
        self.open.iter().filter_map(of).collect()
    }

    fn cancel_below(&mut self, task: u8) {
        for child in self.children(task) {
            self.open.remove(&child);
            self.owed.push(child);
            self.ended.push(child);
            self.cancel_below(child);
        }
    }

    fn accept(&mut self, task: u8, word: &'static str, parent: Option<u8>) -> bool {
        let state = self.open.get(&task).map(|(state, _)| *state);
        match (word, state) {
            ("submitted", None) if !self.ended.contains(&task) => {
                let parent = parent.filter(|parent| self.open.contains_key(parent));
                self.open.insert(task, ("submitted", parent));
                true
            }
            ("cancelled", None) if self.owed.contains(&task) => {
                self.owed.retain(|owed| *owed != task);
                true
            }
            ("submitted", Some(_)) | (_, None) => false,
            ("cancel.requested", Some(_)) => true,
            (_, Some(from)) => {
                let held = is_end(word) && word != "cancelled" && !self.children(task).is_empty();
                if !is_legal(from, word) || held {
                    return false;
                }
                if is_end(word) {
                    self.cancel_below(task);
                    self.open.remove(&task);
                    self.ended.push(task);
                } else if let Some((state, _)) = self.open.get_mut(&task) {
                    *state = word;
                }
                true
            }
        }
    }
}

fn task_event(task: u8, word: &str, parent: Option<u8>) -> String {
    let event = Aep::event(&format!("task.{word}"), "agent:a").task(&format!("t{task}"));
    match parent {
        Some(parent) => event.parent_task(&format!("t{parent}")),
        None => event,
    }
    .build("e", NOW)
}

fn words() -> impl Strategy<Value = &'static str> {
    // Work is submitted and started often enough for trees to grow.
    prop_oneof![
        4 => Just("submitted"),
        3 => Just("started"),
        6 => proptest::sample::select(TASK_WORDS.to_vec()),
    ]
}

proptest! {
    #[test]
    fn tasks_move_as_the_model_says_and_end_exactly_once(
        events in proptest::collection::vec((0u8..5, words(), proptest::option::of(0u8..5)), 0..80)
    ) {
        let mut engine = Engine::new(strict());
        let mut model = Model::default();
        let mut submissions = 0;
        for (task, word, parent) in events {
            let answer = engine.handle(task_event(task, word, parent).as_bytes());
            let expected = model.accept(task, word, parent);
            prop_assert_eq!(answer.is_ok(), expected, "t{} {} -> {:?}", task, word, answer);
            submissions += usize::from(word == "submitted" && expected);
            prop_assert_eq!(submissions, model.ended.len() + model.open.len());
        }
    }

    #[test]
    fn unknown_members_never_change_the_verdict(
        name in "x_[a-z_]{0,12}|[A-Z][a-z]{0,8}|\\PC{1,6}é",
        value in prop_oneof![
            Just("null".to_string()), Just("[1,{\"id\":\"\"}]".into()), Just("{\"type\":1}".into()),
            any::<f32>().prop_filter("finite", |n| n.is_finite()).prop_map(|n| format!("{n:e}")),
            "[a-z]{0,5}".prop_map(|text| format!("{text:?}")),
        ],
        kind in proptest::sample::select(vec!["task.progress", "context.invalidated", "agent.message.sent"]),
        payload in proptest::sample::select(vec!["{}", r#"{"context_key":"k"}"#, "7"]),
    ) {
        let plain = Aep::event(kind, "agent:a").task("t").payload_json(payload);
        let more = plain.clone().member_json(&name, &value);
        for rules in [strict(), lenient()] {
            let one = decode(plain.build("e", NOW).as_bytes(), &rules);
            let two = decode(more.build("e", NOW).as_bytes(), &rules);
            prop_assert_eq!(one.faults, two.faults);
            prop_assert_eq!(one.header.is_some(), two.header.is_some());
        }
    }

    #[test]
    fn built_events_are_read_back_as_they_were_meant(
        id in "\\PC{1,20}", target in "\\PC{0,20}", topic in any::<String>(), millis in 0i64..4_000_000_000_000
    ) {
        let at = Timestamp::from_millis(millis);
        let text = Aep::event("agent.message.sent", "agent:a").target(&target).topic(&topic).build(&id, at);
        let header = decode(text.as_bytes(), &strict()).into_result().map(|(header, _)| header).unwrap();
        prop_assert_eq!(&*header.id, id.as_str());
        prop_assert_eq!(header.topics.first().map_or("", |topic| &**topic), topic.as_str());
        prop_assert_eq!(header.recipients.len(), usize::from(!target.is_empty()));
    }

    #[test]
    fn no_input_panics_and_a_header_means_no_fault(text in "\\PC{0,40}", cut in 0usize..300) {
        let event = task_event(1, "progress", Some(2));
        let cut = (0..=cut.min(event.len())).rev().find(|at| event.is_char_boundary(*at)).unwrap_or(0);
        let broken = format!("{}{text}{}", &event[..cut], &event[cut..]);
        let reading = decode(broken.as_bytes(), &lenient());
        prop_assert_eq!(reading.header.is_some(), reading.faults.is_empty());
    }

    #[test]
    fn spending_never_passes_the_limit(
        limit in 0u32..200, costs in proptest::collection::vec(1u32..90, 0..20)
    ) {
        let mut engine = Engine::new(strict());
        let budget = format!(r#"{{"budget_id":"b","limit":{limit}}}"#);
        let established = Aep::event("adaptation.budget.established", "agent:m")
            .member("tenant_id", "t").payload_json(&budget).build("e", NOW);
        engine.handle(established.as_bytes()).unwrap();
        let mut spent = 0;
        for cost in costs {
            let event = Aep::event("adaptation.outcome.correlated", "agent:w")
                .member("tenant_id", "t").member("budget_id", "b")
                .member_json("budget_cost", &cost.to_string()).build("e", NOW);
            match engine.handle(event.as_bytes()) {
                Ok(()) => { spent += cost; prop_assert!(spent <= limit); }
                Err(rejection) => {
                    prop_assert_eq!(rejection.code(), Code::BudgetExceeded);
                    prop_assert!(spent + cost > limit);
                }
            }
        }
    }
}
