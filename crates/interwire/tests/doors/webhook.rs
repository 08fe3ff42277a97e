//! Webhooks into a receiver that verifies them with the Standard Webhooks library for Python.

use crate::exchange::{Exchange, free_address};
use crate::python;
use client::{Error, Filter, Pushing};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

const SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";
const LOOPBACK: &str = "webhook.networks=127.0.0.0/8";

fn envelope(id: &str) -> String {
    format!(
        r#"{{"v":"1","id":"{id}","ts":"2026-11-30T16:00:00Z","type":"event","from":"agent.a","to":"agent.b","intent":"test.thing.happened","corr":"conv-0001","reply_to":null,"trace":null,"priority":"normal","requires":null,"payload":{{"n": 1.50}},"sig":null}}"#
    )
}

struct Receiver {
    child: Child,
    lines: BufReader<ChildStdout>,
    url: String,
}

impl Receiver {
    fn start(statuses: &[&str]) -> Self {
        let mut child = Command::new(python::interpreter())
            .arg("-P")
            .arg(python::suite().join("webhook/receiver.py"))
            .arg(SECRET)
            .args(statuses)
            .stdout(Stdio::piped())
            .spawn()
            .expect("it starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped"));
        let mut port = String::new();
        lines.read_line(&mut port).expect("a port");
        let url = format!("http://127.0.0.1:{}/hook", port.trim());
        Self { child, lines, url }
    }

    fn next(&mut self) -> Value {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a request");
        serde_json::from_str(&line).expect("JSON")
    }

    fn pushing(&self) -> Pushing {
        Pushing::To {
            url: self.url.clone(),
            secret: Some(SECRET.into()),
        }
    }
}

impl Drop for Receiver {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn put(exchange: &Exchange, pushing: &Pushing) -> Result<Value, Error> {
    let filter = Filter::new();
    let put = async |client: client::Client| {
        client
            .put_subscription_pushing("hook", &filter, None, None, pushing)
            .await
    };
    let text = exchange.ask(put)?;
    Ok(serde_json::from_str(&text).expect("JSON"))
}

/// Waits until the subscription is as wanted.
fn until(exchange: &Exchange, is_so: impl Fn(&Value) -> bool) {
    loop {
        let all = exchange.ask(async |client: client::Client| client.subscriptions().await);
        let all: Value = serde_json::from_str(&all.expect("a list")).expect("JSON");
        if is_so(&all["subscriptions"][0]) {
            return;
        }
        std::thread::yield_now();
    }
}

fn is_done(subscription: &Value) -> bool {
    subscription["waiting"] == 0 && subscription["leased"] == 0 && subscription["dead"] == 0
}

#[test]
fn a_webhook_is_signed_tried_again_acknowledged_and_survives_a_restart() {
    let folder = tempfile::tempdir().expect("a folder");
    let address = free_address();
    let settings = [LOOPBACK, "backoff_ms=100"];
    let mut receiver = Receiver::start(&["500", "302", "503"]);
    {
        let exchange = Exchange::start(folder.path(), &address, &settings);
        let view = put(&exchange, &receiver.pushing()).expect("it is taken");
        assert_eq!(view["push"]["url"], receiver.url.as_str());
        assert!(view["push"].get("secret").is_none(), "it was ours");
        exchange.publish(&envelope("message-0001"));
        let mut ids = Vec::new();
        for attempt in ["1", "2", "3", "4"] {
            let request = receiver.next();
            assert_eq!(request["verified"], true, "{request}");
            assert_eq!(request["path"], "/hook", "no redirect is followed");
            assert_eq!(request["attempt"], attempt);
            assert_eq!(request["body"], envelope("message-0001").as_str());
            ids.push(request["id"].clone());
        }
        ids.dedup();
        assert_eq!(ids.len(), 1, "every attempt has the message's id");
        until(&exchange, is_done);
    }
    let exchange = Exchange::start(folder.path(), &address, &settings);
    exchange.publish(&envelope("message-0002"));
    assert_eq!(receiver.next()["body"], envelope("message-0002").as_str());
    until(&exchange, is_done);
    put(&exchange, &Pushing::Nowhere).expect("it is taken");
    exchange.publish(&envelope("message-0003"));
    until(&exchange, |hook| {
        hook["push"].is_null() && hook["waiting"] == 1
    });
}

/// Killed while requests are under way: whatever was not settled is sent again, under the same id.
#[test]
fn a_killed_exchange_loses_no_push_and_names_repeats() {
    const MESSAGES: usize = 120;
    let folder = tempfile::tempdir().expect("a folder");
    let address = free_address();
    let settings = [LOOPBACK, "backoff_ms=50"];
    let mut receiver = Receiver::start(&["500", "500", "503"]);
    let mut exchange = Exchange::start(folder.path(), &address, &settings);
    put(&exchange, &receiver.pushing()).expect("it is taken");
    for number in 0..MESSAGES {
        let envelope = envelope(&format!("message-{number:04}"));
        exchange.publish(&envelope.replace("conv-0001", &format!("conv-{:04}", number % 10)));
    }
    let mut ids = BTreeMap::new();
    let mut requests = 0;
    while ids.len() < MESSAGES {
        let request = receiver.next();
        assert_eq!(request["verified"], true, "{request}");
        let body: Value =
            serde_json::from_str(request["body"].as_str().expect("text")).expect("JSON");
        let (id, message) = (request["id"].clone(), body["id"].clone());
        let known = ids.entry(message.to_string()).or_insert(id.clone());
        assert_eq!(*known, id, "a repeat of {message} is not recognisable");
        requests += 1;
        if requests % 25 == 0 {
            // SIGKILL.
            drop(exchange);
            exchange = Exchange::start(folder.path(), &address, &settings);
        }
    }
    until(&exchange, is_done);
    exchange.publish(&envelope("message-last"));
    while receiver.next()["body"] != envelope("message-last").as_str() {}
    until(&exchange, is_done);
    let metrics = exchange.metrics();
    let taken = r#"interwire_webhook_attempts_total{result="taken"}"#;
    assert!(metrics.contains(taken), "{metrics}");
}

#[test]
fn an_address_that_is_gone_pauses_its_subscription() {
    let folder = tempfile::tempdir().expect("a folder");
    let exchange = Exchange::start(folder.path(), &free_address(), &[LOOPBACK]);
    let mut receiver = Receiver::start(&["410"]);
    put(&exchange, &receiver.pushing()).expect("it is taken");
    exchange.publish(&envelope("message-0001"));
    assert_eq!(receiver.next()["attempt"], "1");
    until(&exchange, |hook| {
        hook["paused"] == true && hook["waiting"] == 1
    });
}

#[test]
fn an_address_inside_is_refused_and_a_secret_is_made_for_who_brings_none() {
    let folder = tempfile::tempdir().expect("a folder");
    let exchange = Exchange::start(folder.path(), &free_address(), &[]);
    let to = |url: &str| Pushing::To {
        url: url.into(),
        secret: None,
    };
    for url in [
        "http://127.0.0.1:9/",
        "http://localhost:9/",
        "http://169.254.169.254/",
    ] {
        let refused = put(&exchange, &to(url)).expect_err("it is inside");
        assert_eq!(refused.problem().expect("a problem").pointer, "/push/url");
    }
    let view = put(&exchange, &to("https://192.0.9.1/hook")).expect("it is public");
    let secret = view["push"]["secret"].as_str().expect("a new one");
    assert!(secret.starts_with("whsec_"));
    let again = put(&exchange, &to("https://192.0.9.1/hook")).expect("the same");
    assert!(again["push"].get("secret").is_none(), "it is told once");
}
