//! A real exchange, and what a case sees of it from beside the door.

use client::Client;
use std::io::{BufRead as _, BufReader};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

pub struct Exchange {
    child: Child,
    pub url: String,
    runtime: tokio::runtime::Runtime,
}

/// An address that is free now.
pub fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("bound").to_string()
}

impl Exchange {
    /// Starts it on a folder and an address, with settings `name=value`.
    pub fn start(folder: &Path, address: &str, settings: &[&str]) -> Self {
        // A passing connection may hold the address for a moment after a restart.
        (0..100)
            .find_map(|_| Self::try_start(folder, address, settings))
            .expect("the exchange starts")
    }

    fn try_start(folder: &Path, address: &str, settings: &[&str]) -> Option<Self> {
        let mut command = Command::new(env!("CARGO_BIN_EXE_interwire"));
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("INTERWIRE_") {
                command.env_remove(name);
            }
        }
        command.args(["serve", "--until-stdin-ends", "--set", "log=error"]);
        command.args(["--listen", address, "--data"]).arg(folder);
        for setting in settings {
            command.args(["--set", setting]);
        }
        let child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn();
        let mut child = child.expect("the exchange starts");
        let mut first = String::new();
        let mut lines = BufReader::new(child.stdout.take().expect("piped"));
        lines.read_line(&mut first).expect("a line");
        let Some(url) = first.trim().strip_prefix("listening on ") else {
            drop(child.kill());
            drop(child.wait());
            return None;
        };
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        Some(Self {
            child,
            url: url.to_owned(),
            runtime: runtime.enable_all().build().expect("a runtime"),
        })
    }

    fn client(&self) -> Client {
        Client::connect(&self.url).expect("an address")
    }

    /// Asks with a client of its own.
    pub fn ask<T>(&self, call: impl AsyncFnOnce(Client) -> T) -> T {
        self.runtime.block_on(call(self.client()))
    }

    /// Publishes beside the door; the cursor.
    pub fn publish(&self, envelope: &str) -> String {
        let sent = self
            .runtime
            .block_on(self.client().publish(envelope.to_owned()));
        sent.expect("it is taken").cursor
    }

    /// The bytes of a message as the exchange keeps them.
    pub fn stored(&self, id: &str) -> String {
        let path = format!("/v1/messages/{id}");
        let found = self.runtime.block_on(self.client().get(&path));
        String::from_utf8(found.expect("it is there").to_vec()).expect("UTF-8")
    }

    /// What became of a message for its only recipient.
    pub fn fate(&self, id: &str) -> String {
        let path = format!("/v1/messages/{id}/receipt");
        let found = self.runtime.block_on(self.client().get(&path));
        let receipt: serde_json::Value =
            serde_json::from_slice(&found.expect("it is there")).expect("JSON");
        receipt["recipients"][0]["state"]
            .as_str()
            .expect("a state")
            .to_owned()
    }

    pub fn metrics(&self) -> String {
        let found = self.runtime.block_on(self.client().get("/metrics"));
        String::from_utf8(found.expect("metrics").to_vec()).expect("UTF-8")
    }

    /// Waits until it reads and writes on a bus.
    pub fn is_on(&self, bus: &str) {
        let up = format!("interwire_bus_up{{bus=\"{bus}\"}} 1");
        let end = Instant::now() + Duration::from_secs(60);
        while !self.metrics().lines().any(|line| line == up) {
            assert!(Instant::now() < end, "{bus} is not reached");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// SIGTERM.
    pub fn terminate(&self) {
        let id = nix::unistd::Pid::from_raw(self.child.id().try_into().expect("a process id"));
        nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGTERM).expect("it is running");
    }

    /// Waits for its end.
    pub fn wait(mut self) -> ExitStatus {
        let held = self.child.stdin.take();
        let status = self.child.wait().expect("it ended");
        drop(held);
        status
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
