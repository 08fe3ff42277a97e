//! A foreign client: one of the drivers of the contract of doors, one JSON line each way.

use serde_json::{Value, json};
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;

/// A program of the environment with the foreign libraries and brokers.
pub fn tool(name: &str) -> PathBuf {
    static PYTHON: OnceLock<PathBuf> = OnceLock::new();
    PYTHON
        .get_or_init(crate::python::interpreter)
        .with_file_name(name)
}

pub struct Driver {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
}

impl Driver {
    pub fn start(door: &str, options: &Value) -> Self {
        let script = crate::python::suite().join(format!("drivers/{door}.py"));
        let mut child = Command::new(tool("python"))
            .arg("-u")
            .arg(script)
            .arg(options.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("python starts");
        let input = child.stdin.take().expect("piped");
        let output = BufReader::new(child.stdout.take().expect("piped"));
        let mut driver = Self {
            child,
            input,
            output,
        };
        assert_eq!(driver.answer(), json!({ "ready": true }));
        driver
    }

    fn answer(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("a line");
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("an answer, got {line:?}"))
    }

    pub fn ask(&mut self, request: &Value) -> Value {
        writeln!(self.input, "{request}").expect("it runs");
        self.answer()
    }

    /// Publishes the way agents of this bus do; waits until the bus has confirmed it.
    pub fn publish(&mut self, envelope: &str) -> Value {
        let answer = self.ask(&json!({ "op": "publish", "envelope": envelope, "how": "stream" }));
        assert_eq!(answer["sent"], true, "{answer}");
        answer
    }

    pub fn follow(&mut self, filter: &Value) {
        let answer = self.ask(&json!({ "op": "follow", "filter": filter, "from": null }));
        assert_eq!(answer, json!({ "ok": true }));
    }

    /// The next message that is followed, if one comes in time.
    pub fn next(&mut self, timeout_ms: u64) -> Option<Value> {
        let answer = self.ask(&json!({ "op": "next", "timeout_ms": timeout_ms }));
        assert!(answer.get("error").is_none(), "{answer}");
        (answer.get("nothing").is_none()).then_some(answer)
    }
}

impl Drop for Driver {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
