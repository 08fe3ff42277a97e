//! One file per verb.

pub mod agent;
pub mod ask;
pub mod audit;
pub mod backup;
pub mod bench;
pub mod completions;
pub mod config;
pub mod conformance;
pub mod demo;
pub mod dlq;
pub mod doctor;
pub mod inbox;
pub mod key;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod receipt;
pub mod replay;
pub mod restore;
pub mod run;
pub mod send;
pub mod serve;
pub mod sign;
pub mod stdio;
pub mod sub;
pub mod tail;
pub mod task;
pub mod trace;
pub mod translate;
pub mod unwrap;
pub mod validate;
pub mod verify;
pub mod version;
pub mod wrap;

use crate::failure::Failure;
use crate::settings::Flag;

/// The `--data` of verbs that work on a data folder.
fn data_flag(data: Option<&str>) -> Vec<Flag> {
    let flag = data.map(|data| ("data", data.to_owned(), "--data".to_owned()));
    flag.into_iter().collect()
}

/// Runs what reads and writes files for long beside the runtime.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> Result<T, Failure> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => done,
        Err(_) => Err(Failure::Refused("the work ended badly".into())),
    }
}
