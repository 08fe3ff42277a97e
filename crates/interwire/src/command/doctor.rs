//! `interwire doctor`: what an exchange needs from this machine, and what to do where it is missing;
//! with `--deep`, whether what it keeps is as it was written.

mod deep;
mod index;

use super::config::Source;
use crate::failure::{Answer, Failure};
use crate::output::{self, Colour, Paint};
use crate::settings::Plan;
use crate::{identity, lock};
use broker::Durability;
use nix::sys::resource::{Resource, getrlimit};
use serde_json::json;
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::time::{Duration, Instant};

/// Options.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  interwire doctor --config interwire.toml
  interwire doctor --deep --data interwire-data
  interwire doctor --deep --data /var/backups/interwire-monday --json
  interwire doctor --rebuild-index --data interwire-data")]
pub struct Arguments {
    /// Look at every record, file and checkpoint of the data folder, or of a backup, and change
    /// nothing; works beside a running exchange
    #[arg(long)]
    deep: bool,
    /// Throw the look-up index away and make it again from the journal; the exchange must not run
    #[arg(long, conflicts_with = "deep")]
    rebuild_index: bool,
    /// The data folder [default: interwire-data]
    #[arg(long, value_name = "DIR")]
    data: Option<String>,
    /// One JSON object per check, or per finding
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: Source,
}

/// How a check came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Ok,
    /// Works, not well.
    Advice,
    /// The exchange would not start or could not keep its promises.
    Bad,
}

impl Level {
    fn word(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Advice => "advice",
            Self::Bad => "bad",
        }
    }

    fn colour(self) -> Colour {
        match self {
            Self::Ok => Colour::Green,
            Self::Advice => Colour::Yellow,
            Self::Bad => Colour::Red,
        }
    }
}

/// One check.
struct Finding {
    name: &'static str,
    level: Level,
    what: String,
    /// What to do; empty when there is nothing to do.
    advice: &'static str,
}

impl Finding {
    fn ok(name: &'static str, what: String) -> Self {
        Self {
            name,
            level: Level::Ok,
            what,
            advice: "",
        }
    }

    fn not(name: &'static str, level: Level, what: String, advice: &'static str) -> Self {
        Self {
            name,
            level,
            what,
            advice,
        }
    }
}

/// Checks; the answer is no when something is bad.
pub async fn run(arguments: Arguments) -> Result<Answer, Failure> {
    let flags = super::data_flag(arguments.data.as_deref());
    let plan = arguments.source.settle(flags)?.plan;
    if arguments.deep {
        return super::blocking(move || deep::run(&plan, arguments.json)).await;
    }
    if arguments.rebuild_index {
        return super::blocking(move || index::run(&plan.data, arguments.json)).await;
    }
    let paint = Paint::of_stdout();
    let mut findings = vec![clock(), files_open(), port(&plan).await];
    findings.extend(folder(&plan));
    findings.extend(buses(&plan).await);
    let is_bad = findings.iter().any(|finding| finding.level == Level::Bad);
    for Finding {
        name,
        level,
        what,
        advice,
    } in findings
    {
        if arguments.json {
            let line =
                json!({ "check": name, "level": level.word(), "what": what, "advice": advice });
            output::line(&line.to_string())?;
            continue;
        }
        let word = paint.paint(level.colour(), &format!("{:<6}", level.word()));
        output::line(&format!("{word}  {name:<12}  {what}"))?;
        if !advice.is_empty() {
            output::line(&format!("{:22}{advice}", ""))?;
        }
    }
    Ok(if is_bad { Answer::No } else { Answer::Yes })
}

/// The start of 2025; an earlier clock was never set.
const SENSIBLE_MS: i64 = 1_735_689_600_000;

fn clock() -> Finding {
    let now = identity::now();
    if now.as_millis() < SENSIBLE_MS {
        return Finding::not(
            "clock",
            Level::Bad,
            format!("the clock says {now}"),
            "set the clock, for example with chrony or systemd-timesyncd: expiry is judged by it",
        );
    }
    Finding::ok("clock", format!("the clock says {now}"))
}

/// Connections and journal files that should always fit.
const FILES_MIN: u64 = 4_096;

fn files_open() -> Finding {
    match getrlimit(Resource::RLIMIT_NOFILE) {
        Ok((soft, hard)) if soft < FILES_MIN => Finding::not(
            "open files",
            Level::Advice,
            format!("{soft} files and connections at most (hard limit {hard})"),
            "raise it: `ulimit -n 65536`, or LimitNOFILE=65536 in the systemd unit",
        ),
        Ok((soft, _)) => Finding::ok(
            "open files",
            format!("{soft} files and connections at most"),
        ),
        Err(error) => Finding::not("open files", Level::Advice, error.to_string(), ""),
    }
}

async fn port(plan: &Plan) -> Finding {
    match tokio::net::TcpListener::bind(plan.listen).await {
        Ok(_) => Finding::ok("port", format!("{} is free", plan.listen)),
        Err(error) => Finding::not(
            "port",
            Level::Bad,
            format!("{}: {error}", plan.listen),
            "stop what listens there, or choose another with --listen or the setting listen",
        ),
    }
}

async fn buses(plan: &Plan) -> Vec<Finding> {
    let found = doors::bus::reach(&plan.bus).await;
    let finding = |(kind, found): (doors::bus::Kind, Result<String, String>)| {
        let url = plan.bus.common(kind).shown_url();
        match found {
            Ok(what) => Finding::ok(kind.as_str(), format!("{what} at {url}")),
            Err(why) => Finding::not(
                kind.as_str(),
                Level::Bad,
                format!("{url}: {why}"),
                "start it or correct its url; until it answers, messages for it wait in the exchange",
            ),
        }
    };
    found.into_iter().map(finding).collect()
}

fn folder(plan: &Plan) -> Vec<Finding> {
    if plan.broker.durability == Durability::Memory {
        return vec![Finding::not(
            "data folder",
            Level::Advice,
            "none: durability is memory".into(),
            "messages are gone with the process; set durability to fsync to keep them",
        )];
    }
    let existed = plan.data.exists();
    let findings = match lock::take(&plan.data) {
        Ok(_held) => {
            let shown = plan.data.display();
            let mut findings = vec![Finding::ok(
                "data folder",
                format!("{shown} can be written and locked"),
            )];
            findings.push(match syncs(&plan.data) {
                Ok(took) => disk(took),
                Err(error) => Finding::not(
                    "disk",
                    Level::Bad,
                    format!("a file cannot be written and synced: {error}"),
                    "check free space and permissions of the data folder",
                ),
            });
            findings
        }
        Err(sentence) => {
            vec![Finding::not("data folder", Level::Bad, sentence, "")]
        }
    };
    if !existed {
        // Leave nothing behind that was not there; a folder in use stays.
        drop(std::fs::remove_file(plan.data.join(lock::NAME)));
        drop(std::fs::remove_dir(&plan.data));
    }
    findings
}

/// Syncs that are timed.
const SYNCS: usize = 50;
/// A disk beyond this is worth a word.
const SYNC_SLOW: Duration = Duration::from_millis(10);

fn disk(took: Duration) -> Finding {
    let per_second = 1_000_000 / took.as_micros().max(1);
    let what = format!(
        "half of {SYNCS} syncs of 4 KiB took at most {:.2} ms: about {per_second} commits a second",
        took.as_secs_f64() * 1e3
    );
    if took > SYNC_SLOW {
        return Finding::not(
            "disk",
            Level::Advice,
            what,
            "a local SSD is faster; many publishers share one commit, so throughput may still do",
        );
    }
    Finding::ok("disk", what)
}

/// The median time of writing and syncing 4 KiB into a file that already has its length.
fn syncs(folder: &Path) -> std::io::Result<Duration> {
    let path = folder.join("doctor.tmp");
    let measured = (|| {
        let mut file = std::fs::File::create(&path)?;
        file.write_all(&vec![0; 4096 * SYNCS])?;
        file.sync_all()?;
        let mut took = Vec::with_capacity(SYNCS);
        for at in 0..SYNCS {
            let start = Instant::now();
            file.write_all_at(&[b'i'; 4096], (at * 4096) as u64)?;
            file.sync_data()?;
            took.push(start.elapsed());
        }
        took.sort_unstable();
        Ok(took.get(SYNCS / 2).copied().unwrap_or_default())
    })();
    drop(std::fs::remove_file(&path));
    measured
}
