//! A driver: a process that does through a foreign client library what a case asks for.

use crate::python;
use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::time::Duration;

/// Longer than any answer takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(60);

pub struct Driver {
    child: Child,
    stdin: Option<ChildStdin>,
    answers: Receiver<String>,
}

/// The transport does not have this; the reason is part of the table.
#[derive(Debug)]
pub struct Cannot(pub String);

pub type Done<T = ()> = Result<T, Cannot>;

/// What `next` and `take` give.
#[derive(Clone, Debug, PartialEq)]
pub enum Got {
    Envelope {
        text: String,
        /// Of a live reader.
        cursor: Option<String>,
        /// Of a durable one, with the attempt.
        delivery: Option<(String, u64)>,
    },
    Control(Value),
    Nothing,
}

impl Driver {
    pub fn start(script: &str, start: &Value) -> Self {
        let suite = python::suite();
        let mut child = Command::new(python::interpreter())
            // Without the scripts' own folder: some are called like the library they use.
            .arg("-P")
            .arg(suite.join("drivers").join(script))
            .arg(start.to_string())
            .env("PYTHONPATH", suite.join("lib"))
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the driver starts");
        let stdout = BufReader::new(child.stdout.take().expect("piped"));
        let (lines, answers) = mpsc::channel();
        std::thread::spawn(move || {
            for line in stdout.lines() {
                if line.is_err() || lines.send(line.expect("UTF-8")).is_err() {
                    return;
                }
            }
        });
        let stdin = child.stdin.take();
        let driver = Self {
            child,
            stdin,
            answers,
        };
        assert_eq!(driver.answer(), json!({"ready": true}));
        driver
    }

    fn answer(&self) -> Value {
        let line = self.answers.recv_timeout(PATIENCE);
        let line = line.expect("the driver answers");
        serde_json::from_str(&line).expect(&line)
    }

    /// Asks for one operation.
    pub fn ask(&mut self, request: Value) -> Done<Value> {
        let stdin = self.stdin.as_mut().expect("it has not ended");
        writeln!(stdin, "{request}").expect("the driver reads");
        let answer = self.answer();
        assert!(answer.get("broken").is_none(), "{request}: {answer:#}");
        match answer.get("cannot") {
            Some(why) => Err(Cannot(why.as_str().unwrap_or_default().to_owned())),
            None => Ok(answer),
        }
    }

    fn done(&mut self, request: Value) -> Done {
        let answer = self.ask(request.clone())?;
        assert_eq!(answer, json!({"ok": true}), "{request}");
        Ok(())
    }

    /// Publishes what must be taken; the receipt, where the transport has one.
    pub fn publish(&mut self, envelope: &str) -> Done<Option<Value>> {
        let answer = self.ask(json!({"op": "publish", "envelope": envelope}))?;
        assert!(answer.get("fault").is_none(), "{answer}");
        Ok(answer.get("receipt").cloned())
    }

    /// Sends what must be refused; the fault.
    pub fn refused(&mut self, op: &str, text: &str) -> Done<Value> {
        let name = if op == "raw" { "text" } else { "envelope" };
        let answer = self.ask(json!({"op": op, name: text}))?;
        let fault = answer.get("fault").cloned();
        Ok(fault.unwrap_or_else(|| panic!("expected a fault, got {answer}")))
    }

    pub fn follow(&mut self, filter: Value, from: Option<&str>) -> Done {
        self.done(json!({"op": "follow", "filter": filter, "from": from}))
    }

    fn got(&mut self, op: &str, timeout_ms: u64) -> Done<Got> {
        let answer = self.ask(json!({"op": op, "timeout_ms": timeout_ms}))?;
        let text = |name: &str| Some(answer.get(name)?.as_str()?.to_owned());
        if let Some(envelope) = text("envelope") {
            let attempt = answer.get("attempt").and_then(Value::as_u64);
            return Ok(Got::Envelope {
                text: envelope,
                cursor: text("cursor"),
                delivery: text("delivery").zip(attempt),
            });
        }
        if let Some(control) = answer.get("control") {
            return Ok(Got::Control(control.clone()));
        }
        assert_eq!(answer, json!({"nothing": true}), "{op}");
        Ok(Got::Nothing)
    }

    /// The next thing of the live reader but for what only says where it stands.
    pub fn next(&mut self, timeout_ms: u64) -> Done<Got> {
        loop {
            let got = self.got("next", timeout_ms)?;
            match &got {
                Got::Control(control) if control["kind"] == "caught_up" => {}
                _ => return Ok(got),
            }
        }
    }

    /// The next envelope of the live reader, which must come.
    pub fn envelope(&mut self) -> Done<String> {
        match self.next(30_000)? {
            Got::Envelope { text, .. } => Ok(text),
            other => panic!("expected an envelope, got {other:?}"),
        }
    }

    /// Whether a reader is told such a thing over this transport at all.
    pub fn hears(&mut self, kind: &str) -> Done {
        self.done(json!({"op": "hears", "kind": kind}))
    }

    /// The next control of the live reader, which must come.
    pub fn control(&mut self, kind: &str) -> Done<Value> {
        match self.next(30_000)? {
            Got::Control(control) if control["kind"] == kind => Ok(control),
            other => panic!("expected {kind}, got {other:?}"),
        }
    }

    pub fn consume(&mut self, place: &str) -> Done {
        self.done(json!({"op": "consume", "place": place}))
    }

    /// The next delivery, which must come: envelope, name, attempt.
    pub fn take(&mut self) -> Done<(String, String, u64)> {
        match self.got("take", 30_000)? {
            Got::Envelope {
                text,
                delivery: Some((delivery, attempt)),
                ..
            } => Ok((text, delivery, attempt)),
            other => panic!("expected a delivery, got {other:?}"),
        }
    }

    /// No delivery comes.
    pub fn takes_nothing(&mut self, timeout_ms: u64) -> Done {
        assert_eq!(self.got("take", timeout_ms)?, Got::Nothing);
        Ok(())
    }

    pub fn ack(&mut self, delivery: &str) -> Done {
        self.done(json!({"op": "ack", "delivery": delivery}))
    }

    pub fn nack(&mut self, delivery: &str, retry_after_ms: u64) -> Done {
        self.done(json!({"op": "nack", "delivery": delivery, "retry_after_ms": retry_after_ms}))
    }

    /// `cut`, `resume`, `stall`, `unstall`.
    pub fn act(&mut self, op: &str) -> Done {
        self.done(json!({"op": op}))
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        drop(self.stdin.take());
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
