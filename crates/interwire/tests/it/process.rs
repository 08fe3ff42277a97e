//! Child processes that never outlive a test, and envelopes to send through them.

use std::io::{BufRead as _, BufReader, Write as _};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

/// The program, without the caller's settings.
pub fn interwire(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_interwire"));
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("INTERWIRE_") {
            command.env_remove(name);
        }
    }
    command.args(arguments).env("NO_COLOR", "1");
    command
}

/// What a verb said and how it ended.
#[derive(Debug)]
pub struct Ran {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Ran {
    /// Its output, one JSON value a line.
    pub fn json(&self) -> Vec<serde_json::Value> {
        self.out
            .lines()
            .map(|line| serde_json::from_str(line).expect(line))
            .collect()
    }
}

/// Runs a verb to its end.
pub fn run(arguments: &[&str]) -> Ran {
    run_with(arguments, "")
}

/// Runs a verb with text on its standard input.
pub fn run_with(arguments: &[&str], input: &str) -> Ran {
    finish(interwire(arguments), input)
}

/// Runs a prepared command to its end.
pub fn finish(mut command: Command, input: &str) -> Ran {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut stdin = child.stdin.take().expect("piped");
    let input = input.to_owned();
    let writer = std::thread::spawn(move || drop(stdin.write_all(input.as_bytes())));
    let output = child.wait_with_output().expect("the program ends");
    writer.join().expect("the writer ends");
    Ran {
        code: output.status.code(),
        out: String::from_utf8(output.stdout).expect("UTF-8"),
        err: String::from_utf8(output.stderr).expect("UTF-8"),
    }
}

/// An exchange that ends with whoever runs it.
const SERVE: &[&str] = &["serve", "--until-stdin-ends", "--set", "log=error"];

/// A running exchange; killed when dropped, and by the end of this process at the latest.
pub struct Exchange {
    child: Child,
    lines: BufReader<ChildStdout>,
    pub url: String,
}

impl Exchange {
    /// In memory, on a free port.
    pub fn in_memory() -> Self {
        Self::start(&["--listen", "127.0.0.1:0", "--ephemeral"])
    }

    /// On a folder, on a free port.
    pub fn on(folder: &Path) -> Self {
        let folder = folder.to_str().expect("UTF-8");
        Self::start(&["--listen", "127.0.0.1:0", "--data", folder])
    }

    pub fn start(arguments: &[&str]) -> Self {
        Self::try_start(arguments).expect("the exchange says where it listens")
    }

    /// On an address that was in use a moment ago, which a passing connection may hold.
    pub fn start_again(arguments: &[&str]) -> Self {
        (0..100)
            .find_map(|_| Self::try_start(arguments))
            .expect("the address becomes free")
    }

    /// With these in its environment.
    pub fn start_in(environment: &[(&str, &str)], arguments: &[&str]) -> Self {
        let mut command = interwire(SERVE);
        command.envs(environment.iter().copied()).args(arguments);
        Self::run(command).expect("the exchange says where it listens")
    }

    /// Through a program that runs it.
    pub fn start_through(program: &[String], arguments: &[&str]) -> Self {
        let own = interwire(SERVE);
        let mut command = Command::new(&program[0]);
        command.args(&program[1..]).arg(own.get_program());
        command.args(own.get_args()).args(arguments);
        for (name, value) in own.get_envs() {
            match value {
                Some(value) => command.env(name, value),
                None => command.env_remove(name),
            };
        }
        Self::run(command).expect("the exchange says where it listens")
    }

    fn try_start(arguments: &[&str]) -> Option<Self> {
        let mut command = interwire(SERVE);
        command.args(arguments);
        Self::run(command)
    }

    fn run(mut command: Command) -> Option<Self> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the exchange starts");
        let mut lines = BufReader::new(child.stdout.take().expect("piped"));
        let mut first = String::new();
        lines.read_line(&mut first).expect("a first line");
        let Some(url) = first.trim().strip_prefix("listening on ") else {
            drop(child.kill());
            child.wait().expect("it ended");
            return None;
        };
        let url = url.to_owned();
        Some(Self { child, lines, url })
    }

    /// The next line it prints.
    pub fn line(&mut self) -> String {
        let mut line = String::new();
        self.lines.read_line(&mut line).expect("a line");
        line.trim_end().to_owned()
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// SIGKILL.
    pub fn kill(mut self) {
        self.child.kill().expect("it was running");
        self.child.wait().expect("it ended");
    }

    pub fn signal(&self, signal: nix::sys::signal::Signal) {
        let id = nix::unistd::Pid::from_raw(self.child.id().try_into().expect("a process id"));
        nix::sys::signal::kill(id, signal).expect("it is running");
    }

    /// Waits for its end.
    pub fn wait(mut self) -> ExitStatus {
        // Open until here: `wait` on its own would end standard input first.
        let held = self.child.stdin.take();
        let status = self.child.wait().expect("it ended");
        drop(held);
        status
    }

    /// Ends its standard input, as the end of the starting program would.
    pub fn close_input(&mut self) {
        drop(self.child.stdin.take());
    }

    pub fn in_memory_with_client() -> (Self, client::Client) {
        let exchange = Self::in_memory();
        let client = exchange.client();
        (exchange, client)
    }

    pub fn client(&self) -> client::Client {
        client::Client::connect(&self.url).expect("an address")
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// An AEE task from human.adam.
pub fn task(id: &str, to: &str, corr: &str) -> String {
    protocol::dialect::aee::Aee::task("human.adam", to, "quox.security.scan")
        .corr(corr)
        .payload_json("{\"n\": 1.50,  \"text\": \"\\u00fc\"}")
        .build(id, protocol::Timestamp::from_millis(1_772_274_600_000))
}
