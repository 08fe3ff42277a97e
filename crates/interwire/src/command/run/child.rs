//! One life of the child: from its start to its end.

use super::held::Held;
use super::{Ack, log};
use crate::failure::Failure;
use client::{Client, Delivery, Error, Place};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use std::future::pending;
use std::pin::Pin;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep, sleep_until, timeout};

/// How long a pull waits for a delivery.
const PULL_WAIT: Duration = Duration::from_secs(20);

/// The pause after the exchange could not be reached.
const PAUSE: Duration = Duration::from_secs(1);

/// How long an envelope of the child is tried again while the exchange is away.
const PATIENCE: Duration = Duration::from_secs(3_600);

/// Bytes of the longest line that is read; no exchange takes more.
const LINE_BYTES_MAX: u64 = 16 << 20;

/// How long the rest of a dead child's output is waited for: a process that it left may hold it open.
const REST_WAIT: Duration = Duration::from_secs(5);

/// How a life ended.
#[derive(Debug)]
pub enum Life {
    /// By itself.
    Ended(ExitStatus),
    /// Because this process was told to stop.
    Stopped,
}

/// What every life has in common.
pub struct Lives {
    pub client: Client,
    pub place: Place,
    pub party: String,
    pub url: String,
    pub consumer: String,
    pub ack: Ack,
    pub in_flight: usize,
    pub grace: Duration,
    pub command: Vec<String>,
}

/// What the two ends of the child report.
enum Event {
    /// A delivery's line was written.
    Written(String),
    /// A line of the child was published.
    Said(Vec<u8>),
}

type Pull = Pin<Box<dyn Future<Output = Vec<Delivery>> + Send>>;

impl Lives {
    /// One pull; an exchange that is away is asked again after a pause.
    fn pull(&self) -> Pull {
        let (client, place) = (self.client.clone(), self.place.clone());
        let consumer = self.consumer.clone();
        Box::pin(async move {
            match client.pull_as(&place, Some(&consumer), 1, PULL_WAIT).await {
                Ok(deliveries) => deliveries,
                Err(error) => {
                    log(&serde_json::json!({ "event": "waiting", "detail": error.to_string() }));
                    sleep(PAUSE).await;
                    Vec::new()
                }
            }
        })
    }

    /// Starts the child and serves it until it ends.
    pub async fn live(&self, mut stop: watch::Receiver<bool>) -> Result<Life, Failure> {
        let (program, rest) = self
            .command
            .split_first()
            .ok_or_else(|| Failure::Usage("expected a command".into()))?;
        let mut child = Command::new(program)
            .args(rest)
            .env("INTERWIRE_URL", &self.url)
            .env("INTERWIRE_AS", &self.party)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            // A signal of the terminal is for this process, which drains.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| Failure::Refused(format!("cannot start {program:?}: {error}")))?;
        let group = child.id().and_then(|id| i32::try_from(id).ok());
        let (tell, mut events) = mpsc::unbounded_channel();
        let (lines, to_write) = mpsc::channel(self.in_flight);
        let (Some(input), Some(output)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(Failure::Refused("the child has no pipes".into()));
        };
        let mut lines = Some(lines);
        tokio::spawn(write(input, to_write, tell.clone()));
        let mut speech = tokio::spawn(speak(output, self.client.clone(), tell));
        let mut held = Held::default();
        let mut pull: Option<Pull> = None;
        // What follows when the child does not end by itself after its input has.
        let mut next_blow: Option<(Instant, Signal)> = None;
        let is_stopping = |lines: &Option<mpsc::Sender<_>>| lines.is_none();
        let status = loop {
            let is_told = is_stopping(&lines);
            if pull.is_none() && !is_told && held.count() < self.in_flight {
                pull = Some(self.pull());
            }
            tokio::select! {
                status = child.wait() => break status?,
                _ = stop.wait_for(|is_told| *is_told), if !is_told => {
                    // The end of its input asks it to finish; what it still says is published.
                    lines = None;
                    pull = None;
                    next_blow = Some((Instant::now() + self.grace, Signal::SIGTERM));
                }
                () = until(next_blow.map(|(at, _)| at)) => {
                    if let Some((_, signal)) = next_blow {
                        strike(group, signal);
                    }
                    next_blow = Some((Instant::now() + self.grace, Signal::SIGKILL));
                }
                pulled = pulled(&mut pull) => {
                    pull = None;
                    for delivery in pulled {
                        let name = delivery.delivery.clone();
                        let line = one_line(&delivery.envelope);
                        held.insert(delivery);
                        if let Some(lines) = &lines {
                            // There is room for as many as may be held. A child whose input has
                            // ended gets none; it keeps it until it dies.
                            drop(lines.try_send((name, line)));
                        }
                    }
                }
                Some(event) = events.recv() => match event {
                    Event::Written(name) if self.ack == Ack::Line => {
                        if let Some(delivery) = held.remove(&name) {
                            told("ack", &delivery, delivery.ack().await);
                        }
                    }
                    Event::Written(_) => {}
                    Event::Said(line) => held.look_after(&line).await,
                },
                () = until(held.next()) => held.extend_due().await,
            }
        };
        // Processes that it started and left are not agents of their own.
        strike(group, Signal::SIGKILL);
        // What it said before its end counts, also as acknowledgement.
        if timeout(REST_WAIT.max(self.grace), &mut speech)
            .await
            .is_err()
        {
            speech.abort();
        }
        let was_stopped = is_stopping(&lines);
        self.hand_over(&mut held, was_stopped, status).await;
        Ok(if was_stopped {
            Life::Stopped
        } else {
            Life::Ended(status)
        })
    }

    /// What it held goes back: as failed when it died with it, so that a message which kills its
    /// reader becomes a dead letter; without a fault when it was told to go.
    async fn hand_over(&self, held: &mut Held, was_stopped: bool, status: ExitStatus) {
        for delivery in held.drain() {
            if !was_stopped {
                let reason = format!("the command ended with {status}");
                told(
                    "nack",
                    &delivery,
                    delivery.nack_because(None, &reason).await,
                );
            }
        }
        // Also what was on its way.
        if let Err(error) = self.client.leave(&self.place, &self.consumer).await {
            log(&serde_json::json!({ "event": "leave_failed", "detail": error.to_string() }));
        }
    }
}

/// The deliveries of a pull, when there is one.
async fn pulled(pull: &mut Option<Pull>) -> Vec<Delivery> {
    match pull {
        Some(pull) => pull.await,
        None => pending().await,
    }
}

async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => sleep_until(moment).await,
        None => pending().await,
    }
}

/// Signals the child and all that it started.
fn strike(group: Option<i32>, signal: Signal) {
    if let Some(group) = group {
        // Nobody may be there any more.
        let _ = killpg(Pid::from_raw(group), signal);
    }
}

fn told(how: &str, delivery: &Delivery, settled: Result<(), Error>) {
    match settled {
        Ok(()) => {}
        // Settled by the child's own envelope.
        Err(Error::Refused(problem)) if problem.code == "lease_lost" => {}
        Err(error) => log(&serde_json::json!({
            "event": format!("{how}_failed"),
            "id": delivery.id,
            "detail": error.to_string(),
        })),
    }
}

/// A line break in JSON can only be insignificant space.
fn one_line(envelope: &[u8]) -> Vec<u8> {
    let space = |byte: &u8| {
        if matches!(byte, b'\n' | b'\r') {
            b' '
        } else {
            *byte
        }
    };
    let mut line: Vec<u8> = envelope.iter().map(space).collect();
    line.push(b'\n');
    line
}

/// Writes lines to the child until either end is gone.
async fn write(
    mut input: ChildStdin,
    mut lines: mpsc::Receiver<(String, Vec<u8>)>,
    tell: mpsc::UnboundedSender<Event>,
) {
    while let Some((name, line)) = lines.recv().await {
        let written = async {
            input.write_all(&line).await?;
            input.flush().await
        };
        if written.await.is_err() {
            // It reads no more. Its deliveries go back when it has ended.
            return;
        }
        // The reader of reports lives as long as the child.
        let _ = tell.send(Event::Written(name));
    }
}

/// Publishes what the child says, in its order. A refusal costs the line and nothing else.
async fn speak(output: ChildStdout, client: Client, tell: mpsc::UnboundedSender<Event>) {
    let mut reader = BufReader::new(output);
    let mut number = 0_u64;
    loop {
        let mut line = Vec::new();
        let read = (&mut reader)
            .take(LINE_BYTES_MAX)
            .read_until(b'\n', &mut line)
            .await;
        if !read.is_ok_and(|count| count > 0) {
            return;
        }
        number += 1;
        let text = line.trim_ascii();
        if text.is_empty() {
            continue;
        }
        match client.publish_within(text.to_vec(), PATIENCE).await {
            Ok(_) => {
                let _ = tell.send(Event::Said(line));
            }
            Err(error) => refused(number, &error),
        }
    }
}

fn refused(line: u64, error: &Error) {
    let mut what = serde_json::json!({ "event": "refused", "line": line });
    if let Some(object) = what.as_object_mut() {
        match error.problem() {
            Some(problem) => {
                object.insert("code".into(), problem.code.clone().into());
                object.insert("pointer".into(), problem.pointer.clone().into());
                object.insert("detail".into(), problem.detail.clone().into());
            }
            None => {
                object.insert("detail".into(), error.to_string().into());
            }
        }
    }
    log(&what);
}
