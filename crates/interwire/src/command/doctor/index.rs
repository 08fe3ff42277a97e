//! `interwire doctor --rebuild-index`: the look-up index from nothing but the journal.

use crate::failure::{Answer, Failure};
use crate::{lock, output};
use serde_json::json;
use std::path::Path;

/// Makes it; the exchange must not run.
pub fn run(data: &Path, is_json: bool) -> Result<Answer, Failure> {
    if !data.exists() {
        let shown = data.display();
        return Err(Failure::Refused(format!("there is no data folder {shown}")));
    }
    let _lock = lock::take(data).map_err(Failure::Refused)?;
    let verified = broker::rebuild_index(data)
        .map_err(|error| Failure::Refused(format!("{}: {error}", data.display())))?;
    if is_json {
        let line = json!({
            "check": "index",
            "level": "ok",
            "data": data.display().to_string(),
            "records": verified.records,
            "first": verified.first,
            "last": verified.last,
        });
        output::line(&line.to_string())?;
    } else {
        output::line(&format!(
            "the look-up index was made again from {} records ({} to {}) in {}",
            verified.records,
            verified.first,
            verified.last,
            data.display()
        ))?;
    }
    Ok(Answer::Yes)
}
