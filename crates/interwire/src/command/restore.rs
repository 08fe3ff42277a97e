//! `interwire restore`: a new data folder of a backup.

use super::backup::{bar, size};
use super::config::Source;
use crate::failure::{Answer, Failure};
use crate::{lock, output};
use journal::{RealDisk, Restored};
use serde_json::json;
use std::path::{Path, PathBuf};

/// Options.
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The new folder goes on where the backup ends, in an epoch of its own: cursors from before the
restore are answered with cursor_epoch_changed, because what was published after the backup is not
in it. Every record is checked while it is copied. A restore that was interrupted can be run again.

Example:  interwire restore /var/backups/interwire-monday --data interwire-data-2")]
pub struct Arguments {
    /// The backup
    folder: PathBuf,
    /// The new data folder: empty or not there yet [default: interwire-data]
    #[arg(long, value_name = "DIR")]
    data: Option<String>,
    /// One JSON object
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    source: Source,
}

/// Copies.
pub async fn run(arguments: Arguments) -> Result<Answer, Failure> {
    let flags = super::data_flag(arguments.data.as_deref());
    let data = arguments.source.settle(flags)?.plan.data;
    let target = data.clone();
    let made = super::blocking(move || copy(&arguments.folder, &target)).await?;
    if arguments.json {
        let line = json!({
            "data": data.display().to_string(),
            "first": made.first,
            "last": made.last,
            "segments": made.segments,
            "bytes": made.bytes,
            "checkpoints": made.checkpoints,
            "epoch": made.epoch,
        });
        output::line(&line.to_string())?;
    } else {
        output::line(&format!(
            "records {} to {} in {} files, {} bytes, epoch {}: {}",
            made.first,
            made.last,
            made.segments,
            made.bytes,
            made.epoch,
            data.display()
        ))?;
    }
    Ok(Answer::Yes)
}

fn copy(folder: &Path, data: &Path) -> Result<Restored, Failure> {
    let from = RealDisk::read_only(folder).map_err(|error| {
        Failure::Refused(format!(
            "the backup {} cannot be read: {error}",
            folder.display()
        ))
    })?;
    let _lock = lock::take(data).map_err(Failure::Refused)?;
    let to = RealDisk::open(data)?;
    let bar = bar(&size(folder));
    let made = journal::restore(&from, &to, client::chance::bits(), &mut |bytes| {
        bar.inc(bytes);
    });
    bar.finish_and_clear();
    made.map_err(|error| match error {
        journal::Error::Occupied(name) => Failure::Refused(format!(
            "expected an empty data folder to restore into, found {name} in {}; choose another with \
             --data",
            data.display()
        )),
        error => Failure::Refused(format!("{}: {error}", folder.display())),
    })
}
