//! `interwire send`: publish, in order, and print what the exchange promised for each.

use super::receipt;
use crate::compose::Composition;
use crate::connection::Connection;
use crate::failure::{Answer, Failure};
use crate::output::{self, Colour, Paint, tame};
use crate::texts::{self, Text};
use bytes::Bytes;
use client::{Client, Error, Problem, Receipt};
use futures_util::future::BoxFuture;
use futures_util::stream::{FuturesOrdered, StreamExt as _};
use indicatif::{ProgressBar, ProgressStyle};
use protocol::Rules;
use protocol::json::Limits;
use std::io::IsTerminal as _;
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::mpsc;

/// Publishes under way at once.
const WINDOW: usize = 256;

/// Options.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  interwire send --aee --from human.adam --to agent.sentinel --intent quox.security.scan \\
      --payload '{\"target\":\"nw-web-01\"}'
  interwire send --aep --type task.submitted --from agent.planner --to tool.crawler --task t1
  interwire send envelopes.ndjson
  interwire send envelopes.ndjson --wait --timeout 60
  interwire tail --json | interwire send --url http://127.0.0.1:4848")]
pub struct Arguments {
    /// JSON or NDJSON files; - or none is standard input
    #[arg(conflicts_with = "written")]
    files: Vec<PathBuf>,
    /// Print the built envelope instead of sending it
    #[arg(long, requires = "written")]
    print: bool,
    /// Wait until every recipient has acknowledged, or will not get it, and print what became of each
    #[arg(long, conflicts_with = "print")]
    wait: bool,
    /// With --wait: give up after this long
    #[arg(long, value_name = "SECONDS", requires = "wait")]
    timeout: Option<u64>,
    /// Print each receipt or fault as one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    composition: Composition,
    #[command(flatten)]
    connection: Connection,
}

/// Publishes; the answer is no when anything was refused, or with `--wait` will not arrive.
pub async fn run(arguments: Arguments) -> Result<Answer, Failure> {
    let report = Report {
        is_json: arguments.json,
        paint: Paint::of_stdout(),
    };
    let mut sent = Vec::new();
    let (client, published) = if arguments.composition.is_wanted() {
        let envelope = arguments.composition.compose(&arguments.connection).await?;
        if arguments.print {
            output::bytes(&envelope)?;
            return Ok(Answer::Yes);
        }
        let client = arguments.connection.client()?;
        let published = client.publish(envelope.clone()).await;
        sent.extend(published.is_ok().then_some(envelope));
        (client, report.print("built", published)?)
    } else {
        let client = arguments.connection.client()?;
        let keep = arguments.wait.then_some(&mut sent);
        let found = texts::read(arguments.files);
        let published = send_all(&client, found, report, keep).await?;
        (client, published)
    };
    if !arguments.wait {
        return Ok(published);
    }
    let ends = wait_for(&client, sent, report.is_json);
    let arrived = match arguments.timeout.map(Duration::from_secs) {
        None => ends.await?,
        Some(patience) => match tokio::time::timeout(patience, ends).await {
            Ok(arrived) => arrived?,
            Err(_) => {
                let seconds = patience.as_secs();
                output::note(&format!(
                    "interwire: not all is settled after {seconds} s; the messages stay, \
                     `interwire receipt` tells more"
                ));
                Answer::No
            }
        },
    };
    Ok(match (published, arrived) {
        (Answer::Yes, Answer::Yes) => Answer::Yes,
        (Answer::Yes | Answer::No, _) => Answer::No,
    })
}

/// Publishes what another verb makes, in order, and prints what the exchange promised for each.
pub(super) async fn publish_all(
    connection: &Connection,
    found: mpsc::Receiver<Result<Text, Failure>>,
    is_json: bool,
) -> Result<Answer, Failure> {
    let report = Report {
        is_json,
        paint: Paint::of_stdout(),
    };
    send_all(&connection.client()?, found, report, None).await
}

/// Waits for the end of each message and prints it.
async fn wait_for(client: &Client, sent: Vec<Bytes>, is_json: bool) -> Result<Answer, Failure> {
    let mut answer = Answer::Yes;
    for envelope in sent {
        // It was accepted, so it can be read.
        let reading = protocol::decode(&envelope, &Rules::at(crate::identity::now()));
        let Some(header) = reading.header else {
            continue;
        };
        let watch = client.watch_receipt(&header.id, Some(header.sender.as_str()));
        if receipt::print(&watch.to_the_end().await?, is_json)? == Answer::No {
            answer = Answer::No;
        }
    }
    Ok(answer)
}

type UnderWay = BoxFuture<'static, (Text, Result<Receipt, Error>)>;

/// Publishes over one socket, so that the order of the input is the order of the journal.
async fn send_all(
    client: &Client,
    mut found: mpsc::Receiver<Result<Text, Failure>>,
    report: Report,
    mut sent: Option<&mut Vec<Bytes>>,
) -> Result<Answer, Failure> {
    let socket = client.socket().await?;
    let mut under_way: FuturesOrdered<UnderWay> = FuturesOrdered::new();
    let progress = progress(report.is_json);
    let mut answer = Answer::Yes;
    let mut is_open = true;
    while is_open || !under_way.is_empty() {
        tokio::select! {
            text = found.recv(), if is_open && under_way.len() < WINDOW => match text {
                Some(text) => under_way.push_back(begin(client, &socket, text?).await),
                None => is_open = false,
            },
            Some((Text { origin, bytes }, published)) = under_way.next(), if !under_way.is_empty() => {
                if let Err(error @ (Error::Unreachable { .. } | Error::Closed)) = published {
                    progress.abandon();
                    let left = under_way.len() + 1;
                    output::note(&format!(
                        "interwire: the outcome of {left} envelopes from {origin} on is unknown; \
                         send them again, repeats are recognised"
                    ));
                    return Err(error.into());
                }
                progress.inc(1);
                if let (Ok(_), Some(sent)) = (&published, &mut sent) {
                    sent.push(bytes);
                }
                let printed = progress.suspend(|| report.print(&origin, published))?;
                if printed == Answer::No {
                    answer = Answer::No;
                }
            }
        }
    }
    progress.finish_and_clear();
    Ok(answer)
}

/// Puts one envelope on its way. What a frame may not carry goes over HTTP, for the real refusal.
async fn begin(client: &Client, socket: &client::Socket, text: Text) -> UnderWay {
    if protocol::json::read(&text.bytes, Limits::default()).is_err() {
        let client: Client = client.clone();
        return Box::pin(async move {
            let published = client.publish(text.bytes.clone()).await;
            (text, published)
        });
    }
    match socket.submit(&text.bytes).await {
        Ok(submitted) => Box::pin(async move { (text, submitted.receipt().await) }),
        Err(error) => Box::pin(async move { (text, Err(error)) }),
    }
}

fn progress(is_json: bool) -> ProgressBar {
    // Where receipts scroll by, a bar would only flicker.
    if is_json || !std::io::stderr().is_terminal() || std::io::stdout().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new_spinner();
    if let Ok(style) =
        ProgressStyle::with_template("{spinner} {pos} published, {per_sec}, {elapsed}")
    {
        bar.set_style(style);
    }
    bar
}

/// How results are printed.
#[derive(Clone, Copy, Debug)]
struct Report {
    is_json: bool,
    paint: Paint,
}

impl Report {
    fn print(self, origin: &str, published: Result<Receipt, Error>) -> Result<Answer, Failure> {
        match published {
            Ok(receipt) => {
                self.receipt(&receipt)?;
                Ok(Answer::Yes)
            }
            Err(Error::Refused(problem)) => {
                self.refusal(origin, &problem)?;
                Ok(Answer::No)
            }
            Err(error) => Err(error.into()),
        }
    }

    fn receipt(self, receipt: &Receipt) -> Result<(), Failure> {
        let status = if receipt.duplicate {
            "duplicate"
        } else {
            "accepted"
        };
        if self.is_json {
            return output::line(&format!(
                "{{\"status\":\"{status}\",\"receipt\":{}}}",
                receipt.raw.trim()
            ));
        }
        let colour = if receipt.duplicate {
            Colour::Yellow
        } else {
            Colour::Green
        };
        let recipients: Vec<_> = receipt
            .recipients
            .iter()
            .map(|recipient| format!("{} {}", tame(&recipient.party), tame(&recipient.state)))
            .collect();
        output::line(&format!(
            "{}  {}  {}  {}",
            self.paint.paint(colour, &format!("{status:<9}")),
            tame(&receipt.id),
            self.paint.paint(Colour::Dim, &receipt.cursor),
            recipients.join(", ")
        ))?;
        for warning in &receipt.warnings {
            output::line(&format!(
                "  {} {} at {:?}: {}",
                self.paint.paint(Colour::Yellow, "warning"),
                warning.code,
                warning.pointer,
                tame(&warning.detail)
            ))?;
        }
        Ok(())
    }

    fn refusal(self, origin: &str, problem: &Problem) -> Result<(), Failure> {
        if self.is_json {
            return output::line(&format!(
                "{{\"status\":\"refused\",\"fault\":{}}}",
                problem.raw.trim()
            ));
        }
        let word = self.paint.paint(Colour::Red, "refused  ");
        output::line(&format!("{word}  {}  {problem}", tame(origin)))
    }
}
