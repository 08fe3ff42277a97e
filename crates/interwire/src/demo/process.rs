//! The processes of the demo: this very program, as exchange and as agents.

use super::agent::Said;
use super::roles::Role;
use crate::failure::Failure;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::sync::mpsc;

/// How long a process may take to start.
const START_MAX: Duration = Duration::from_secs(20);

/// Attempts to start again on the same port.
const RESTARTS_MAX: usize = 20;

/// A running exchange.
pub struct Exchange {
    child: Child,
    /// Kept open, so that the process can go on printing.
    _lines: Lines<BufReader<ChildStdout>>,
    /// Its address.
    pub url: String,
    folder: PathBuf,
}

impl Exchange {
    /// Starts one on `listen` with its data in `folder`; returns once it listens.
    pub async fn start(folder: &Path, listen: &str) -> Result<Self, Failure> {
        let mut command = this_program()?;
        command
            .args([
                "serve",
                "--listen",
                listen,
                "--until-stdin-ends",
                "--set",
                "log=warn",
                "--data",
            ])
            .arg(folder);
        let mut child = command.spawn()?;
        let mut lines = lines(&mut child)?;
        let first = tokio::time::timeout(START_MAX, lines.next_line()).await;
        let first = first.map_err(|_| broken("the exchange did not start in time"))??;
        let url = first
            .as_deref()
            .and_then(|line| line.strip_prefix("listening on "))
            .ok_or_else(|| broken("the exchange did not say where it listens"))?
            .to_owned();
        Ok(Self {
            child,
            _lines: lines,
            url,
            folder: folder.to_owned(),
        })
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id().unwrap_or_default()
    }

    /// SIGKILL; then a new process on the same address and folder.
    pub async fn kill_and_restart(&mut self) -> Result<(), Failure> {
        self.child.kill().await?;
        let listen = self.url.trim_start_matches("http://").to_owned();
        let folder = self.folder.clone();
        // A client that tries to connect may hold the port for a moment.
        for _ in 1..RESTARTS_MAX {
            if let Ok(again) = Self::start(&folder, &listen).await {
                *self = again;
                return Ok(());
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        *self = Self::start(&folder, &listen).await?;
        Ok(())
    }

    /// SIGTERM; true when it drained and ended well.
    pub async fn stop(mut self) -> Result<bool, Failure> {
        if let Some(id) = self.child.id().and_then(|id| i32::try_from(id).ok()) {
            let id = nix::unistd::Pid::from_raw(id);
            nix::sys::signal::kill(id, nix::sys::signal::Signal::SIGTERM)
                .map_err(|error| broken(&error.to_string()))?;
        }
        // Open until the end: `wait` alone would end standard input and so ask a second time.
        let _held = self.child.stdin.take();
        let ended = tokio::time::timeout(START_MAX, self.child.wait()).await;
        Ok(matches!(ended, Ok(Ok(status)) if status.success()))
    }
}

/// A running agent.
pub struct Agent {
    child: Child,
}

/// Something an agent said, or that it ended.
pub type Heard = (Role, Option<Said>);

impl Agent {
    /// Starts one with extra options; what it says comes into `heard`.
    pub fn start(
        role: Role,
        url: &str,
        extra: &[&str],
        heard: mpsc::UnboundedSender<Heard>,
    ) -> Result<Self, Failure> {
        use clap::ValueEnum as _;
        let mut command = this_program()?;
        let name = role.to_possible_value();
        let name = name
            .as_ref()
            .map_or("", clap::builder::PossibleValue::get_name);
        command.args(["demo-agent", name, "--url", url]);
        command.args(extra);
        let mut child = command.spawn()?;
        let mut lines = lines(&mut child)?;
        tokio::spawn(async move {
            while let Ok(Some(line)) = lines.next_line().await {
                if let Ok(said) = serde_json::from_str(&line) {
                    // Nobody listens any more when the demo is over.
                    drop(heard.send((role, Some(said))));
                }
            }
            drop(heard.send((role, None)));
        });
        Ok(Self { child })
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.child.id().unwrap_or_default()
    }

    /// SIGKILL.
    pub async fn kill(mut self) -> Result<(), Failure> {
        self.child.kill().await?;
        Ok(())
    }
}

/// This program, without the caller's settings, ending with this process.
fn this_program() -> Result<Command, Failure> {
    let mut command = Command::new(std::env::current_exe()?);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("INTERWIRE_") {
            command.env_remove(name);
        }
    }
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    Ok(command)
}

fn lines(child: &mut Child) -> Result<Lines<BufReader<ChildStdout>>, Failure> {
    let output = child
        .stdout
        .take()
        .ok_or_else(|| broken("a process has no output"))?;
    Ok(BufReader::new(output).lines())
}

fn broken(what: &str) -> Failure {
    Failure::Refused(what.to_owned())
}
