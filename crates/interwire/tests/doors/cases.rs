//! The contract. Every case is written once, for all doors.

use crate::door::Stage;
use crate::driver::{Done, Got};
use protocol::Timestamp;
use protocol::dialect::uai::build::{Agent, Envelope, Handoff, Heading};
use serde_json::{Value, json};

/// Set on every envelope that does not say something else.
fn envelope(id: &str, to: &str) -> String {
    with_payload(id, to, "{}")
}

fn with_payload(id: &str, to: &str, payload: &str) -> String {
    format!(
        r#"{{"v":"1","id":"{id}","ts":"2026-11-30T16:00:00Z","type":"event","from":"agent.a","to":"{to}","intent":"test.thing.happened","corr":"conv-0001","reply_to":null,"trace":null,"priority":"normal","requires":null,"payload":{payload},"sig":null}}"#
    )
}

/// Letters that no door makes smaller by compression.
fn incompressible(length: usize) -> String {
    let mut state = 1_u64;
    let letter = |_| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        char::from(b'0' + u8::try_from(state >> 58).unwrap_or_default())
    };
    (0..length)
        .map(letter)
        .filter(|letter| *letter != '\\')
        .collect()
}

/// A UAI-1 handoff to 300 agents.
fn to_everybody() -> String {
    let mut handoff = Handoff::new("task_1", "Do it.", "parallelization", "Do your part.");
    handoff.scope = vec!["x:read".into()];
    let heading = Heading {
        id: "msg_0003".into(),
        issued_at: Timestamp::from_millis(1_772_274_600_000),
        source: Agent::new("agent", "agt_a"),
        target: Agent::new("agent", "agt_b"),
        conversation: "conversation_1".into(),
    };
    let others = (0..300).map(|n| Agent::new("agent", &format!("agt_{n}")));
    let envelope = others.fold(handoff.envelope(heading), Envelope::also_to);
    envelope.write().expect("it can be written")
}

fn to_b() -> Value {
    json!({"target": ["agent.b"]})
}

pub fn publishes_and_recognises_a_repeat(stage: &Stage<'_>) -> Done {
    let exchange = stage.exchange(&[]);
    let mut driver = stage.driver();
    let text = envelope("message-0001", "agent.b");
    if let Some(receipt) = driver.publish(&text)? {
        assert_eq!(receipt["id"], "message-0001");
        assert_eq!(receipt["durability"], "fsync");
        assert_eq!(receipt["duplicate"], false);
        assert_eq!(receipt["recipients"][0]["party"], "agent:b");
        assert_eq!(receipt["recipients"][0]["state"], "stored");
    }
    assert_eq!(exchange.stored("message-0001"), text);
    if let Some(receipt) = driver.publish(&text)? {
        assert_eq!(receipt["duplicate"], true);
    }
    // Other content under the same id is no repeat.
    let other = with_payload("message-0001", "agent.b", r#"{"other":true}"#);
    let fault = driver.refused("publish", &other)?;
    assert_eq!(fault["code"], "id_conflict");
    assert_eq!(exchange.stored("message-0001"), text);
    Ok(())
}

pub fn receives_what_passes_its_filter(stage: &Stage<'_>) -> Done {
    let exchange = stage.exchange(&[]);
    let mut driver = stage.driver();
    driver.follow(to_b(), None)?;
    for (n, to) in ["agent.b", "agent.c", "agent.b"].into_iter().enumerate() {
        exchange.publish(&envelope(&format!("message-{n:04}"), to));
    }
    assert_eq!(driver.envelope()?, envelope("message-0000", "agent.b"));
    assert_eq!(driver.envelope()?, envelope("message-0002", "agent.b"));
    assert_eq!(driver.next(300)?, Got::Nothing);
    Ok(())
}

pub fn keeps_every_byte(stage: &Stage<'_>) -> Done {
    let exchange = stage.exchange(&[]);
    let (mut driver, mut reader) = (stage.driver(), stage.driver());
    driver.consume("agent.b")?;
    reader.follow(to_b(), None)?;
    let payload = r#"{"n":1.0,"big":12345678901234567890123.4500,"e":1E+2, "u":"\u00e9\u2028é","z":{"b":1,"a":[ ]}}"#;
    let text = with_payload("message-0001", "agent.b", payload)
        .replace(r#""sig":null"#, r#""sig":null , "x_unknown" : [ 1 ,2.50 ]"#);
    driver.publish(&text)?;
    assert_eq!(exchange.stored("message-0001"), text);
    assert_eq!(reader.envelope()?, text);
    let (taken, delivery, attempt) = driver.take()?;
    assert_eq!((taken, attempt), (text, 1));
    driver.ack(&delivery)
}

pub fn acknowledges(stage: &Stage<'_>) -> Done {
    let exchange = stage.exchange(&[]);
    let mut driver = stage.driver();
    driver.consume("agent.b")?;
    exchange.publish(&envelope("message-0001", "agent.b"));
    exchange.publish(&envelope("message-0002", "agent.b"));
    for id in ["message-0001", "message-0002"] {
        let (text, delivery, attempt) = driver.take()?;
        assert_eq!((text, attempt), (envelope(id, "agent.b"), 1));
        driver.ack(&delivery)?;
        assert_eq!(exchange.fate(id), "acked");
    }
    driver.takes_nothing(300)?;
    exchange.publish(&envelope("message-0003", "agent.b"));
    driver.take()?;
    let unknown = driver.ask(json!({"op": "ack", "delivery": "0.99.7"}))?;
    // Where an acknowledgement is an event like others, one about nothing is an event about nothing.
    if let Some(fault) = unknown.get("fault") {
        assert_eq!(fault["code"], "lease_lost", "{unknown}");
    }
    assert_ne!(exchange.fate("message-0003"), "acked", "{unknown}");
    Ok(())
}

pub fn gives_back_and_gets_it_again(stage: &Stage<'_>) -> Done {
    let exchange = stage.exchange(&[]);
    let mut driver = stage.driver();
    driver.consume("agent.b")?;
    let text = envelope("message-0001", "agent.b");
    exchange.publish(&text);
    for attempt in 1..=3 {
        let (taken, delivery, which) = driver.take()?;
        assert_eq!((&taken, which), (&text, attempt));
        if attempt < 3 {
            driver.nack(&delivery, 100)?;
        } else {
            driver.ack(&delivery)?;
        }
    }
    assert_eq!(exchange.fate("message-0001"), "acked");
    driver.takes_nothing(300)
}

pub fn resumes_at_its_cursor(stage: &Stage<'_>) -> Done {
    let exchange = stage.exchange(&[]);
    let mut driver = stage.driver();
    driver.follow(to_b(), None)?;
    let texts: Vec<_> = (0..20)
        .map(|n| envelope(&format!("message-{n:04}"), "agent.b"))
        .collect();
    for text in &texts[..6] {
        exchange.publish(text);
    }
    for text in &texts[..3] {
        assert_eq!(&driver.envelope()?, text);
    }
    driver.act("cut")?;
    for text in &texts[6..12] {
        exchange.publish(text);
    }
    driver.act("resume")?;
    for text in &texts[3..9] {
        assert_eq!(&driver.envelope()?, text);
    }
    // A second time, with nothing read in between.
    driver.act("cut")?;
    driver.act("resume")?;
    for text in &texts[12..] {
        exchange.publish(text);
    }
    for text in &texts[9..] {
        assert_eq!(&driver.envelope()?, text);
    }
    assert_eq!(driver.next(300)?, Got::Nothing);
    Ok(())
}

pub fn is_told_of_a_gap(stage: &Stage<'_>) -> Done {
    let settings = [
        "segment_bytes=65536",
        "retention_records=8",
        "checkpoint_every_ms=1000",
    ];
    let exchange = stage.exchange(&settings);
    let mut driver = stage.driver();
    driver.hears("gap")?;
    let filling = format!(r#"{{"filling":"{}"}}"#, "x".repeat(12_900));
    // To whoever listens: it waits in nobody's inbox, so it may go.
    let text = |n: usize| with_payload(&format!("message-{n:04}"), "bus.load", &filling);
    let first = exchange.publish(&text(0));
    for n in 1..40 {
        exchange.publish(&text(n));
    }
    let mut sent = 40;
    let dropped = |metrics: String| {
        let line = metrics
            .lines()
            .find(|line| line.starts_with("interwire_retention_records_total"));
        line.and_then(|line| line.rsplit(' ').next()?.parse::<f64>().ok())
            .is_some_and(|count| count >= 8.0)
    };
    while !dropped(exchange.metrics()) {
        exchange.publish(&text(sent));
        sent += 1;
        assert!(sent < 20_000, "nothing is dropped");
    }
    driver.follow(json!({"target": ["bus.load"]}), Some(&first))?;
    let gap = driver.control("gap")?;
    let missing = gap["count"].as_u64().unwrap();
    assert!(missing >= 7, "{gap}");
    assert_eq!(gap["reason"], "retention", "{gap}");
    // What follows the gap follows without another.
    let mut next = usize::try_from(missing).unwrap() + 1;
    while next < sent {
        let got = driver.envelope()?;
        let is_it = got.contains(&format!("message-{next:04}"));
        assert!(is_it, "expected message {next}, got {}", &got[..60]);
        next += 1;
    }
    Ok(())
}

pub fn exceeds_each_limit_and_lives_on(stage: &Stage<'_>) -> Done {
    let exchange = stage.exchange(&["envelope_bytes_max=100000"]);
    let mut driver = stage.driver();
    let large = format!(r#"{{"filling":"{}"}}"#, "x".repeat(101_000));
    let fault = driver.refused("publish", &with_payload("message-0001", "agent.b", &large))?;
    assert_eq!(fault["code"], "too_large", "{fault}");
    let deep = format!("{}{}", "[".repeat(80), "]".repeat(80));
    let fault = driver.refused("publish", &with_payload("message-0002", "agent.b", &deep))?;
    assert_eq!(fault["code"], "too_deep", "{fault}");
    let fault = driver.refused("publish", &to_everybody())?;
    assert_eq!(fault["code"], "too_many_targets", "{fault}");
    driver.publish(&envelope("message-0004", "agent.b"))?;
    assert_eq!(exchange.fate("message-0004"), "stored");
    Ok(())
}

pub fn sends_nonsense_and_lives_on(stage: &Stage<'_>) -> Done {
    let exchange = stage.exchange(&[]);
    let mut driver = stage.driver();
    driver.refused("raw", "nonsense")?;
    let fault = driver.refused("publish", r#"{"hello":"world"}"#)?;
    assert_eq!(fault["code"], "not_an_envelope", "{fault}");
    let wrong =
        envelope("message-0001", "agent.b").replace(r#""priority":"normal""#, r#""priority":7"#);
    let fault = driver.refused("publish", &wrong)?;
    assert_eq!(fault["code"], "type_mismatch", "{fault}");
    let pointer = fault["pointer"].as_str().unwrap();
    assert!(pointer.ends_with("/priority"), "{fault}");
    driver.publish(&envelope("message-0002", "agent.b"))?;
    assert_eq!(exchange.fate("message-0002"), "stored");
    Ok(())
}

pub fn reads_slowly_and_harms_nobody(stage: &Stage<'_>) -> Done {
    let exchange = stage.exchange(&[
        "http.write_stall_ms=300",
        "http.reader_budget_bytes=1000000",
    ]);
    let (mut slow, mut other) = (stage.driver(), stage.driver());
    slow.follow(to_b(), None)?;
    other.follow(to_b(), None)?;
    slow.act("stall")?;
    // More than all buffers between the two take.
    let filling = format!(r#"{{"filling":"{}"}}"#, incompressible(500_000));
    let text = |n: usize| with_payload(&format!("message-{n:04}"), "agent.b", &filling);
    let sent = 60;
    for n in 0..sent {
        exchange.publish(&text(n));
        // Another reader has it at once.
        assert_eq!(other.envelope()?, text(n));
    }
    slow.act("unstall")?;
    let mut next = 0;
    let mut comes_back = 0;
    while next < sent {
        match slow.next(30_000)? {
            Got::Envelope { text: got, .. } => {
                assert!(
                    got == text(next),
                    "expected message {next}, got {}",
                    &got[..60]
                );
                next += 1;
            }
            Got::Control(control) => {
                let kind = control["kind"].as_str().unwrap_or_default();
                assert!(
                    ["slow_consumer", "ended", "broken", "fault"].contains(&kind),
                    "{control}"
                );
                comes_back += 1;
                assert!(comes_back < 20, "{control}");
                slow.act("cut")?;
                slow.act("resume")?;
            }
            Got::Nothing => panic!("expected message {next}, got nothing"),
        }
    }
    assert!(comes_back > 0, "nobody was slow");
    Ok(())
}

pub fn is_told_of_a_drain(stage: &Stage<'_>) -> Done {
    let exchange = stage.exchange(&[]);
    let mut driver = stage.driver();
    driver.follow(to_b(), None)?;
    exchange.publish(&envelope("message-0001", "agent.b"));
    assert_eq!(driver.envelope()?, envelope("message-0001", "agent.b"));
    // Where nobody is told, the rest holds all the same.
    let hears = driver.hears("draining");
    exchange.terminate();
    if hears.is_ok() {
        driver.control("draining")?;
    }
    driver.act("cut")?;
    assert!(exchange.wait().success());
    let exchange = stage.exchange(&[]);
    exchange.publish(&envelope("message-0002", "agent.b"));
    driver.act("resume")?;
    assert_eq!(driver.envelope()?, envelope("message-0002", "agent.b"));
    assert_eq!(driver.next(300)?, Got::Nothing);
    hears
}
