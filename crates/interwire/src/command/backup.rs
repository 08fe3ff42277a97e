//! `interwire backup`: a consistent copy of a data folder, also while an exchange uses it.

use super::config::Source;
use crate::failure::{Answer, Failure};
use crate::output;
use indicatif::{ProgressBar, ProgressStyle};
use journal::{Backup, BackupOptions, RealDisk};
use serde_json::json;
use std::io::IsTerminal as _;
use std::path::{Path, PathBuf};

/// Options.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Every message whose receipt was there when the backup began is in it. The exchange that uses the
data folder goes on meanwhile and does not notice.

Examples:
  interwire backup /var/backups/interwire-monday --data interwire-data
  interwire backup snapshot --link --json")]
pub struct Arguments {
    /// Where to: a folder that is empty or not there yet
    folder: PathBuf,
    /// Data folder of the exchange [default: interwire-data]
    #[arg(long, value_name = "DIR")]
    data: Option<String>,
    /// Link closed journal files instead of copying them: at once and without more room, but one
    /// damaged disk block is then damaged in both
    #[arg(long)]
    link: bool,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: Source,
}

/// Copies; the answer is no when no exchange could start from the copy.
pub async fn run(arguments: Arguments) -> Result<Answer, Failure> {
    let flags = super::data_flag(arguments.data.as_deref());
    let data = arguments.source.settle(flags)?.plan.data;
    let (is_json, is_linking) = (arguments.json, arguments.link);
    let folder = arguments.folder;
    let target = folder.clone();
    let made = super::blocking(move || copy(&data, &target, is_linking)).await?;
    report(&folder, &made, is_json)
}

fn copy(data: &Path, folder: &Path, is_linking: bool) -> Result<Backup, Failure> {
    let from = RealDisk::read_only(data).map_err(|error| {
        Failure::Refused(format!(
            "the data folder {} cannot be read: {error}; name another with --data",
            data.display()
        ))
    })?;
    std::fs::create_dir_all(folder).map_err(|error| {
        Failure::Refused(format!("{} cannot be created: {error}", folder.display()))
    })?;
    let to = RealDisk::open(folder)?;
    let bar = bar(&size(data));
    let mut link = |name: &str| std::fs::hard_link(data.join(name), folder.join(name));
    let options = BackupOptions {
        link: if is_linking { Some(&mut link) } else { None },
        progress: &mut |bytes| bar.inc(bytes),
    };
    let made = journal::backup(&from, &to, options);
    bar.finish_and_clear();
    made.map_err(|error| match error {
        journal::Error::Occupied(name) => Failure::Refused(format!(
            "expected an empty folder to write the backup to, found {name} in {}",
            folder.display()
        )),
        error => Failure::Refused(format!("{}: {error}", data.display())),
    })
}

fn report(folder: &Path, made: &Backup, is_json: bool) -> Result<Answer, Failure> {
    for unusable in &made.unusable {
        output::note(&format!("interwire: {unusable}; it is not in the backup"));
    }
    if is_json {
        let line = json!({
            "folder": folder.display().to_string(),
            "first": made.first,
            "last": made.last,
            "segments": made.segments,
            "linked": made.linked,
            "bytes": made.bytes,
            "checkpoints": made.checkpoints,
            "complete": made.is_complete(),
        });
        output::line(&line.to_string())?;
    } else {
        let linked = match made.linked {
            0 => String::new(),
            linked => format!(", {linked} of them linked"),
        };
        let checkpoint = match made.checkpoints.last() {
            Some(newest) => format!("the state after record {newest}"),
            None => "no state".to_owned(),
        };
        output::line(&format!(
            "records {} to {} in {} files{linked}, {} bytes, {checkpoint}: {}",
            made.first,
            made.last,
            made.segments,
            made.bytes,
            folder.display()
        ))?;
    }
    if !made.is_complete() {
        output::note(&format!(
            "interwire: records before {} were dropped and no usable checkpoint stands for them; \
             no exchange can start from this backup",
            made.first
        ));
        return Ok(Answer::No);
    }
    Ok(Answer::Yes)
}

/// About how many bytes there are to copy.
pub fn size(folder: &Path) -> Option<u64> {
    let mut bytes = 0;
    for entry in std::fs::read_dir(folder).ok()? {
        let entry = entry.ok()?;
        let name = entry.file_name();
        if [".seg", ".ckp"]
            .iter()
            .any(|end| name.to_string_lossy().ends_with(end))
        {
            bytes += entry.metadata().ok()?.len();
        }
    }
    Some(bytes)
}

/// A bar on a terminal.
pub fn bar(bytes: &Option<u64>) -> ProgressBar {
    if !std::io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::new(bytes.unwrap_or_default());
    if let Ok(style) = ProgressStyle::with_template(
        "{bar:32} {bytes} of {total_bytes}, {bytes_per_sec}, {eta} left",
    ) {
        bar.set_style(style);
    }
    bar
}
