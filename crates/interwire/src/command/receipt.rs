//! `interwire receipt`: what became of a message, now or until nothing more happens.

use crate::connection::Connection;
use crate::failure::{Answer, Failure};
use crate::output::{self, Colour, Paint, tame};
use client::{MessageReceipt, RecipientReceipt, TaskReceipt};

/// Options.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  interwire receipt msg_1
  interwire receipt msg_1 --sender agent.planner --wait --json")]
pub struct Arguments {
    /// The message's id
    id: String,
    /// Its sender, when several used the id
    #[arg(long, value_name = "PARTY")]
    sender: Option<String>,
    /// Print it each time that it changes, until nothing more happens
    #[arg(long)]
    wait: bool,
    /// Print it as one JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connection: Connection,
}

/// Prints; the answer is no when a recipient will not get it.
pub async fn run(arguments: Arguments) -> Result<Answer, Failure> {
    let client = arguments.connection.client()?;
    let (id, sender) = (arguments.id.as_str(), arguments.sender.as_deref());
    if !arguments.wait {
        let receipt = client.receipt(id, sender).await?;
        return print(&receipt, arguments.json);
    }
    let mut watch = client.watch_receipt(id, sender);
    let mut answer = Answer::Yes;
    while let Some(receipt) = watch.next().await? {
        answer = print(&receipt, arguments.json)?;
    }
    Ok(answer)
}

/// Prints one receipt; the answer is no when a recipient will not get the message.
pub fn print(receipt: &MessageReceipt, is_json: bool) -> Result<Answer, Failure> {
    if is_json {
        output::line(receipt.raw.trim())?;
    } else {
        let paint = Paint::of_stdout();
        for recipient in &receipt.recipients {
            output::line(&format!(
                "{}  {}",
                tame(&receipt.id),
                line(recipient, paint)
            ))?;
        }
        if let Some(task) = &receipt.task {
            output::line(&format!("{}  {}", tame(&receipt.id), share(task)))?;
        }
    }
    let is_lost =
        |recipient: &RecipientReceipt| matches!(&*recipient.state, "expired" | "dead" | "refused");
    Ok(match receipt.recipients.iter().any(is_lost) {
        true => Answer::No,
        false => Answer::Yes,
    })
}

/// Where a task and each who works on it stand.
fn share(task: &TaskReceipt) -> String {
    let mut line = format!("task {} {}", tame(&task.id), tame(&task.state));
    for worker in &task.workers {
        let party = worker.party.as_deref().unwrap_or("nobody yet");
        line.push_str(&format!("  {} {}", tame(party), tame(&worker.state)));
    }
    line
}

fn line(recipient: &RecipientReceipt, paint: Paint) -> String {
    let colour = match &*recipient.state {
        "acked" => Colour::Green,
        "expired" | "dead" | "refused" => Colour::Red,
        _ => Colour::Yellow,
    };
    let state = paint.paint(colour, &tame(&recipient.state));
    let mut line = format!("{}  {state}", tame(&recipient.party));
    if recipient.attempts > 1 {
        line.push_str(&format!(" after {} attempts", recipient.attempts));
    }
    let details = [
        ("by ", &recipient.consumer),
        ("with ", &recipient.message),
        ("at ", &recipient.at),
        ("until ", &recipient.lease_until),
        ("again at ", &recipient.again_at),
        ("", &recipient.reason),
    ];
    for (word, detail) in details {
        if let Some(detail) = detail {
            line.push_str(&format!("  {word}{}", tame(detail)));
        }
    }
    if let Some(failure) = recipient.failures.last() {
        line.push_str(&format!("  last: {} {}", failure.why, tame(&failure.error)));
    }
    line
}
