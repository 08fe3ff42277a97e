//! A foreign agent: one of the drivers of the contract of doors, with what these tests ask for beside it.

use crate::driver::Driver as Client;
use serde_json::{Value, json};

pub struct Driver(Client);

impl Driver {
    pub fn start(door: &str, options: &Value) -> Self {
        Self(Client::start(&format!("{door}.py"), options))
    }

    pub fn ask(&mut self, request: &Value) -> Value {
        self.0.ask(request.clone()).expect("the transport has it")
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
        (answer.get("nothing").is_none()).then_some(answer)
    }
}
