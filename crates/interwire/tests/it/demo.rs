//! The demo plays to its end and would say so if it did not.

use crate::process::run;

fn plays(arguments: &[&str]) -> serde_json::Value {
    let ran = run(arguments);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    let last = ran.json().pop().unwrap();
    assert_eq!(
        (&last["ok"], &last["messages"]),
        (&true.into(), &25.into()),
        "{}",
        ran.out
    );
    last
}

#[test]
fn three_dialects_are_played_by_real_processes() {
    let last = plays(&["demo", "--json"]);
    assert_eq!(last["repeated"], 0);
}

#[test]
fn a_killed_exchange_and_a_killed_worker_lose_nothing_and_repeat_nothing() {
    let last = plays(&["demo", "--kill", "--json"]);
    assert!(
        last["repeated"].as_u64() > Some(0),
        "the worker was killed in the middle: {last}"
    );
}

#[test]
fn people_see_the_trees() {
    let ran = run(&["demo"]);
    assert_eq!(ran.code, Some(0), "{}{}", ran.out, ran.err);
    assert!(ran.out.contains("│  └─ "), "{}", ran.out);
    assert!(
        ran.out.contains("nothing lost, nothing done twice"),
        "{}",
        ran.out
    );
}
