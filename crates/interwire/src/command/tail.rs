//! `interwire tail`: the live stream on standard output.

use crate::connection::{Connection, FilterArgs, Translate};
use crate::failure::{Answer, Failure};
use crate::output::{self, Colour, Paint, tame};
use client::{Event, From};
use protocol::Rules;

/// Options.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  interwire tail --type 'task.*' --target agent.sentinel
  interwire tail --from earliest --count 10 --json | jq .id
  interwire tail --translate aee
  interwire tail --type task.progress --best-effort")]
pub struct Arguments {
    #[command(flatten)]
    filter: FilterArgs,
    #[command(flatten)]
    translate: Translate,
    /// earliest, latest, a cursor, or an RFC 3339 time
    #[arg(long, default_value = "latest", value_name = "CURSOR")]
    from: String,
    /// What to do when something is no longer kept: say so and go on, or stop
    #[arg(long, value_enum, default_value_t = OnGap::Skip, value_name = "WHAT")]
    on_gap: OnGap,
    /// Only the newest: when this reader falls behind, skip to the end and say how much was missed
    #[arg(long)]
    best_effort: bool,
    /// Stop after this many envelopes
    #[arg(long, value_name = "N")]
    count: Option<u64>,
    /// Stop when everything that is there has been printed
    #[arg(long)]
    until_caught_up: bool,
    /// Print the envelopes' own bytes, one a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    connection: Connection,
}

/// As the exchange spells it.
#[derive(Clone, Copy, Debug, clap::ValueEnum)]
enum OnGap {
    Skip,
    Fail,
}

/// Follows until it is stopped.
pub async fn run(arguments: Arguments) -> Result<Answer, Failure> {
    let client = arguments.connection.client()?;
    let from = From::from(arguments.from.as_str());
    let mut live = client.subscribe(arguments.filter.filter(), from);
    if arguments.best_effort {
        live = live.best_effort();
    }
    if let OnGap::Fail = arguments.on_gap {
        live = live.on_gap(client::OnGap::Fail);
    }
    if let Some(dialect) = arguments.translate.dialect() {
        live = live.in_dialect(dialect);
    }
    let paint = Paint::of_stdout();
    let mut left = arguments.count;
    while left != Some(0) {
        match live.next().await? {
            Event::Envelope { envelope, .. } => {
                if arguments.json {
                    output::bytes(&envelope)?;
                } else {
                    output::line(&describe(&envelope, paint))?;
                }
                left = left.map(|left| left - 1);
            }
            Event::CaughtUp if arguments.until_caught_up => break,
            Event::CaughtUp => {}
            Event::Gap(gap) => output::note(&format!("gap: {gap}")),
            Event::Reconnecting(reason) => output::note(&format!("reconnecting: {reason}")),
        }
    }
    Ok(Answer::Yes)
}

/// One envelope in one line for people.
pub fn describe(envelope: &[u8], paint: Paint) -> String {
    let reading = protocol::decode(envelope, &Rules::at(crate::identity::now()));
    let Some(header) = reading.header else {
        // The exchange may run with other limits than ours.
        return tame(&String::from_utf8_lossy(envelope));
    };
    let recipients: Vec<_> = header
        .recipients
        .iter()
        .map(protocol::Party::as_str)
        .collect();
    let to = if recipients.is_empty() {
        "everybody".to_owned()
    } else {
        recipients.join(", ")
    };
    let what = match &header.intent {
        Some(intent) => format!("{} {intent}", header.kind),
        None => header.kind.to_string(),
    };
    format!(
        "{}  {} {} {}  {}  {}",
        paint.paint(Colour::Dim, header.dialect.as_str()),
        paint.paint(Colour::Cyan, &tame(header.sender.as_str())),
        paint.paint(Colour::Dim, "->"),
        paint.paint(Colour::Cyan, &tame(&to)),
        paint.paint(Colour::Bold, &tame(&what)),
        paint.paint(Colour::Dim, &tame(&header.id)),
    )
}
