//! `interwire doctor --deep`: every byte of a data folder or of a backup, looked at and left alone.

use crate::failure::{Answer, Failure};
use crate::output::{self, Colour, Paint, tame};
use crate::settings::Plan;
use exchange::Exchange;
use journal::{Eyes, Finding, RealDisk, Record};
use serde_json::json;

/// Looks; the answer is no when something is damaged.
pub fn run(plan: &Plan, is_json: bool) -> Result<Answer, Failure> {
    let data = plan.data.as_path();
    let disk = RealDisk::read_only(data).map_err(|error| {
        Failure::Refused(format!(
            "the data folder {} cannot be read: {error}",
            data.display()
        ))
    })?;
    let paint = Paint::of_stdout();
    let (mut printed, mut damages) = (Ok(()), 0_u64);
    let mut report = |finding: Finding| {
        damages += u64::from(finding.is_damage);
        if printed.is_ok() {
            printed = print(&finding, is_json, paint);
        }
    };
    let eyes = Eyes {
        record: &mut meaningless,
        state: &mut |checkpoint| {
            let restored = Exchange::restore(plan.broker.exchange.clone(), &checkpoint.body);
            let error = restored.err()?;
            Some(format!("the state cannot be read: {error}"))
        },
    };
    let looked = journal::verify(&disk, eyes, &mut report);
    printed?;
    let verified = match looked {
        Ok(verified) => verified,
        // The manifest is damaged, so nothing else can be judged.
        Err(journal::Error::Corrupt {
            segment,
            offset,
            what,
        }) => {
            let finding = Finding {
                is_damage: true,
                file: segment,
                offset,
                sequence: None,
                what: what.into(),
            };
            print(&finding, is_json, paint)?;
            return Ok(Answer::No);
        }
        Err(error) => return Err(Failure::Refused(format!("{}: {error}", data.display()))),
    };
    if is_json {
        let line = json!({
            "check": "deep",
            "level": if damages > 0 { "bad" } else { "ok" },
            "data": data.display().to_string(),
            "lineage": format!("{:08x}", verified.lineage & 0xFFFF_FFFF),
            "epoch": verified.epoch,
            "first": verified.first,
            "last": verified.last,
            "records": verified.records,
            "bytes": verified.bytes,
            "segments": verified.segments,
            "checkpoints": verified.checkpoints,
            "damages": damages,
        });
        output::line(&line.to_string())?;
    } else {
        let (word, what) = match damages {
            0 => (
                paint.paint(Colour::Green, "ok    "),
                "nothing is damaged".to_owned(),
            ),
            1 => (
                paint.paint(Colour::Red, "bad   "),
                "1 place is damaged".to_owned(),
            ),
            count => (
                paint.paint(Colour::Red, "bad   "),
                format!("{count} places are damaged"),
            ),
        };
        output::line(&format!(
            "{word}  {what}: {} records ({} to {}) in {} files, {} bytes, {} checkpoints, in {}",
            verified.records,
            verified.first,
            verified.last,
            verified.segments,
            verified.bytes,
            verified.checkpoints,
            data.display()
        ))?;
    }
    Ok(if damages > 0 { Answer::No } else { Answer::Yes })
}

/// What is wrong with the body of a record that is as it was written.
fn meaningless(record: &Record) -> Option<String> {
    if record.kind == journal::LOST {
        return Some("this record was lost before, and salvage kept its place".into());
    }
    let decoded = exchange::Record::decode(record.kind, &record.body);
    let error = decoded.err()?;
    Some(format!("the record cannot be read: {}", error.0))
}

fn print(finding: &Finding, is_json: bool, paint: Paint) -> Result<(), Failure> {
    let level = if finding.is_damage { "bad" } else { "advice" };
    if is_json {
        let line = json!({
            "check": "deep",
            "level": level,
            "file": finding.file,
            "offset": finding.offset,
            "sequence": finding.sequence,
            "what": finding.what,
        });
        return output::line(&line.to_string());
    }
    let colour = if finding.is_damage {
        Colour::Red
    } else {
        Colour::Yellow
    };
    let record = match finding.sequence {
        Some(sequence) => format!(", record {sequence}"),
        None => String::new(),
    };
    output::line(&format!(
        "{}  {} at byte {}{record}: {}",
        paint.paint(colour, &format!("{level:<6}")),
        finding.file,
        finding.offset,
        tame(&finding.what)
    ))
}
