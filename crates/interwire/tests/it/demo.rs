//! The demo plays to its end and would say so if it did not.

use crate::process::run;
use serde_json::Value;

/// The verdict, after the lines about each conversation.
fn plays(arguments: &[&str]) -> (Vec<Value>, Value) {
    let ran = run(arguments);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let mut lines = ran.json();
    let last = lines.pop().unwrap();
    assert_eq!(
        (&last["ok"], &last["messages"]),
        (&true.into(), &25.into()),
        "{}",
        ran.out
    );
    lines.retain(|line| line["trace"].is_object());
    assert_eq!(lines.len(), 3);
    (lines, last)
}

#[test]
fn three_dialects_are_played_by_real_processes() {
    let (conversations, last) = plays(&["demo", "--json"]);
    assert_eq!(last["repeated"], 0);
    assert_eq!(last["killed"], serde_json::json!([]));
    for conversation in conversations {
        assert_eq!(conversation["trace"]["missing"], 0, "{conversation}");
    }
}

#[test]
fn a_killed_exchange_and_a_killed_worker_of_every_dialect_lose_nothing_and_repeat_nothing() {
    let (conversations, last) = plays(&["demo", "--kill", "--json"]);
    let mut killed: Vec<_> = last["killed"].as_array().unwrap().iter().collect();
    killed.sort_by_key(|one| one.as_str());
    assert_eq!(
        killed,
        ["agent:agt_worker1", "agent:scanner", "tool:crawler"]
    );
    assert!(
        last["repeated"].as_u64() > Some(0),
        "workers were killed in the middle: {last}"
    );
    for conversation in conversations {
        let trace = &conversation["trace"];
        assert_eq!(trace["missing"], 0, "{conversation}");
        assert_eq!(trace["absent"], serde_json::json!([]));
        assert_eq!(conversation["wrong"], serde_json::json!([]));
        // One root, and everything below it.
        let nodes = trace["nodes"].as_array().unwrap();
        let roots = nodes.iter().filter(|node| node["cause"].is_null()).count();
        assert_eq!(roots, 1, "{trace}");
    }
}

#[test]
fn people_see_the_traces() {
    let ran = run(&["demo"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("│  └─ "), "{}", ran.out);
    assert!(ran.out.contains("conversation CONV_"), "{}", ran.out);
    assert!(ran.out.contains(" acked +"), "{}", ran.out);
    assert!(
        ran.out.contains("nothing lost, nothing done twice"),
        "{}",
        ran.out
    );
}
