//! `interwire validate`: the verdict on each envelope, without any exchange.

use crate::failure::{Answer, Failure};
use crate::output::{self, Colour, Paint, tame};
use crate::texts;
use protocol::{AeePolicy, DialectName, Fault, Mode, Reading, Rules};
use std::path::PathBuf;

/// Options.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  interwire validate envelope.json
  interwire validate --json --policy repo *.ndjson | jq 'select(.valid | not)'
  cat envelope.json | interwire validate")]
pub struct Arguments {
    /// JSON or NDJSON files; - or none is standard input
    files: Vec<PathBuf>,
    /// Read everything as aee, aep or uai, whatever it looks like
    #[arg(long, value_parser = dialect)]
    dialect: Option<DialectName>,
    /// strict or lenient
    #[arg(long, value_parser = mode, default_value = "lenient")]
    mode: Mode,
    /// AEE field sets that count: repo, seed, both, either, log
    #[arg(long, value_parser = policy, default_value = "either")]
    policy: AeePolicy,
    /// Accept the older AEP spelling, aep_version 0.1
    #[arg(long)]
    aep_accept_0_1: bool,
    /// One JSON object per envelope
    #[arg(long)]
    json: bool,
}

pub fn dialect(word: &str) -> Result<DialectName, String> {
    DialectName::parse(word).ok_or_else(|| "expected aee, aep or uai".into())
}

fn mode(word: &str) -> Result<Mode, String> {
    Mode::parse(word).ok_or_else(|| "expected strict or lenient".into())
}

fn policy(word: &str) -> Result<AeePolicy, String> {
    AeePolicy::parse(word).ok_or_else(|| "expected repo, seed, both, either or log".into())
}

/// Judges; the answer is no when any envelope is invalid or there is none.
pub async fn run(arguments: Arguments) -> Result<Answer, Failure> {
    let mut rules = Rules::at(crate::identity::now())
        .mode(arguments.mode)
        .policy(arguments.policy);
    rules.aep_accept_0_1 = arguments.aep_accept_0_1;
    let paint = Paint::of_stdout();
    let (mut count, mut invalid) = (0_u64, 0_u64);
    let mut found = texts::read(arguments.files);
    while let Some(text) = found.recv().await {
        let text = text?;
        let reading = match arguments.dialect {
            Some(name) => protocol::dialect::decode_as(&text.bytes, name, &rules),
            None => protocol::decode(&text.bytes, &rules),
        };
        count += 1;
        invalid += u64::from(!reading.is_valid());
        if arguments.json {
            let mut line = String::with_capacity(256);
            protocol::verdict::write_verdict(&mut line, &reading);
            output::line(&line)?;
        } else {
            print(&text.origin, &reading, paint)?;
        }
    }
    if count == 0 {
        output::note("interwire: expected at least one envelope, got none");
    }
    Ok(if count > 0 && invalid == 0 {
        Answer::Yes
    } else {
        Answer::No
    })
}

fn print(origin: &str, reading: &Reading, paint: Paint) -> Result<(), Failure> {
    let word = if reading.is_valid() {
        paint.paint(Colour::Green, "valid  ")
    } else {
        paint.paint(Colour::Red, "invalid")
    };
    let dialect = reading.dialect.map_or("-", DialectName::as_str);
    let label = reading.label.as_deref().unwrap_or("-");
    let tiers = reading.tiers.map(|tiers| {
        let named = [
            ("repo10", tiers.repo10),
            ("seed10", tiers.seed10),
            ("repo5", tiers.repo5),
            ("seed5", tiers.seed5),
            ("full14", tiers.full14),
        ];
        let met: Vec<_> = named
            .iter()
            .filter(|(_, is_met)| *is_met)
            .map(|(name, _)| *name)
            .collect();
        format!("  [{}]", met.join(" "))
    });
    output::line(&format!(
        "{word}  {dialect}  {}  {}{}",
        tame(label),
        paint.paint(Colour::Dim, &tame(origin)),
        tiers.unwrap_or_default()
    ))?;
    let each = |fault: &Fault, colour, kind: &str| {
        output::line(&format!(
            "  {} {} at {:?}: {} {}",
            paint.paint(colour, kind),
            fault.code,
            fault.pointer,
            tame(&fault.detail),
            paint.paint(Colour::Dim, &format!("({})", fault.rule))
        ))
    };
    for fault in &reading.faults {
        each(fault, Colour::Red, "fault  ")?;
    }
    for warning in &reading.warnings {
        each(warning, Colour::Yellow, "warning")?;
    }
    Ok(())
}
