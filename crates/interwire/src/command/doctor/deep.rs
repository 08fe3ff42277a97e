//! `interwire doctor --deep`: every byte of a data folder or of a backup, looked at and left alone.

use super::Level;
use crate::failure::{Answer, Failure};
use crate::output::{self, Paint, tame};
use crate::settings::Plan;
use exchange::Exchange;
use journal::{Eyes, Finding, Identity, IndexCheck, RealDisk, Record, Verified, WrongRows};
use serde_json::json;
use std::path::Path;

/// Looks; the answer is no when something is damaged.
pub fn run(plan: &Plan, is_json: bool) -> Result<Answer, Failure> {
    let data = plan.data.as_path();
    let told = |error: journal::Error| Failure::Refused(format!("{}: {error}", data.display()));
    let disk = RealDisk::read_only(data).map_err(|error| {
        let shown = data.display();
        Failure::Refused(format!("the data folder {shown} cannot be read: {error}"))
    })?;
    let mut report = Report {
        is_json,
        paint: Paint::of_stdout(),
        damages: 0,
    };
    let identity = match journal::identify(&disk) {
        Ok(Some(identity)) => identity,
        Ok(None) => {
            return Err(told(journal::Error::Unfit(
                "there is no journal in this folder",
            )));
        }
        // The manifest is damaged, so nothing else can be judged.
        Err(journal::Error::Corrupt {
            segment,
            offset,
            what,
        }) => {
            report.say(Level::Bad, &segment, Some(offset), None, what)?;
            return Ok(Answer::No);
        }
        Err(error) => return Err(told(error)),
    };
    // Before the records, so that all that it knows of are looked at.
    let mut index = read_index(data, identity, &mut report)?;
    let mut printed = Ok(());
    let looked = journal::verify(
        &disk,
        Eyes {
            record: &mut |record| {
                if let Some(index) = &mut index
                    && broker::index_rows(index.rows(), record).is_ok()
                {
                    index.seen(record.sequence);
                }
                meaningless(record)
            },
            state: &mut |checkpoint| {
                let restored = Exchange::restore(plan.broker.exchange.clone(), &checkpoint.body);
                let error = restored.err()?;
                Some(format!("the state cannot be read: {error}"))
            },
        },
        &mut |finding| {
            if printed.is_ok() {
                printed = report.finding(&finding);
            }
        },
    );
    printed?;
    let verified = looked.map_err(told)?;
    if let Some(index) = &index {
        compare_index(index, verified.last, &mut report)?;
    }
    report.end(data, &verified)
}

/// The index, to be compared; none when there is none, or when the next start makes it again anyway.
fn read_index(
    data: &Path,
    identity: Identity,
    report: &mut Report,
) -> Result<Option<IndexCheck>, Failure> {
    let path = broker::index_path(data);
    if !path.exists() {
        return Ok(None);
    }
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let of = (identity.lineage, identity.epoch);
    match IndexCheck::read(&path, of, identity.first) {
        Ok(Ok(index)) => Ok(Some(index)),
        Ok(Err(why)) => {
            let what = format!("{why}; the next start makes it again");
            report.say(Level::Advice, &name, None, None, &what)?;
            Ok(None)
        }
        Err(error) => {
            report.say(
                Level::Bad,
                &name,
                None,
                None,
                &format!("{error}; {REBUILD}"),
            )?;
            Ok(None)
        }
    }
}

/// What to do about an index.
const REBUILD: &str = "stop the exchange and make it again with `interwire doctor --rebuild-index`";

fn compare_index(index: &IndexCheck, last: u64, report: &mut Report) -> Result<(), Failure> {
    let name = "index.sqlite";
    if index.applied() > last {
        let what = format!(
            "it knows records up to {}, and the journal ends with {last}; {REBUILD}",
            index.applied()
        );
        report.say(Level::Bad, name, None, Some(last), &what)?;
    }
    for WrongRows {
        from,
        to,
        expected,
        found,
    } in index.wrong()
    {
        let what = match expected == found {
            true => format!("expected other rows about records {from} to {to}; {REBUILD}"),
            false => format!(
                "expected {expected} rows about records {from} to {to}, got {found}; {REBUILD}"
            ),
        };
        report.say(Level::Bad, name, None, Some(from), &what)?;
    }
    Ok(())
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

/// Findings as lines.
struct Report {
    is_json: bool,
    paint: Paint,
    damages: u64,
}

impl Report {
    fn finding(&mut self, finding: &Finding) -> Result<(), Failure> {
        let level = if finding.is_damage {
            Level::Bad
        } else {
            Level::Advice
        };
        let offset = Some(finding.offset);
        self.say(
            level,
            &finding.file,
            offset,
            finding.sequence,
            &finding.what,
        )
    }

    fn say(
        &mut self,
        level: Level,
        file: &str,
        offset: Option<u64>,
        sequence: Option<u64>,
        what: &str,
    ) -> Result<(), Failure> {
        self.damages += u64::from(level == Level::Bad);
        if self.is_json {
            let line = json!({
                "check": "deep",
                "level": level.word(),
                "file": file,
                "offset": offset,
                "sequence": sequence,
                "what": what,
            });
            return output::line(&line.to_string());
        }
        let word = self
            .paint
            .paint(level.colour(), &format!("{:<6}", level.word()));
        let place = offset.map_or(String::new(), |offset| format!(" at byte {offset}"));
        let record = sequence.map_or(String::new(), |sequence| format!(", record {sequence}"));
        output::line(&format!("{word}  {file}{place}{record}: {}", tame(what)))
    }

    fn end(self, data: &Path, verified: &Verified) -> Result<Answer, Failure> {
        let (level, answer) = match self.damages {
            0 => (Level::Ok, Answer::Yes),
            _ => (Level::Bad, Answer::No),
        };
        let data = data.display();
        if self.is_json {
            let line = json!({
                "check": "deep",
                "level": level.word(),
                "data": data.to_string(),
                "lineage": format!("{:08x}", verified.lineage & 0xFFFF_FFFF),
                "epoch": verified.epoch,
                "first": verified.first,
                "last": verified.last,
                "records": verified.records,
                "bytes": verified.bytes,
                "segments": verified.segments,
                "checkpoints": verified.checkpoints,
                "damages": self.damages,
            });
            output::line(&line.to_string())?;
            return Ok(answer);
        }
        let word = self
            .paint
            .paint(level.colour(), &format!("{:<6}", level.word()));
        let what = match self.damages {
            0 => "nothing is damaged".to_owned(),
            1 => "1 place is damaged".to_owned(),
            count => format!("{count} places are damaged"),
        };
        output::line(&format!(
            "{word}  {what}: {} records ({} to {}) in {} files, {} bytes, {} checkpoints, in {data}",
            verified.records,
            verified.first,
            verified.last,
            verified.segments,
            verified.bytes,
            verified.checkpoints,
        ))?;
        Ok(answer)
    }
}
