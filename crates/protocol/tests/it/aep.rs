//! AEP: published fixtures, single rules, laws.
#![expect(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "test code: a panic is the failure, and a skip must be seen"
)]

mod conformance;
mod laws;
mod reading;
mod schemas;

use std::path::{Path, PathBuf};

use interwire_protocol::{Mode, Rules, Timestamp};

/// 2026-07-14T10:00:00Z.
const NOW: Timestamp = Timestamp::from_millis(1_784_023_200_000);

fn strict() -> Rules {
    Rules::at(NOW).mode(Mode::Strict)
}

fn lenient() -> Rules {
    Rules::at(NOW)
}

/// The AEP folder of the shared conformance data; `None` when this machine has none.
fn data() -> Option<PathBuf> {
    let shared = std::env::var_os("INTERWIRE_SHARED").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared"),
        PathBuf::from,
    );
    let found = [shared.join("data/aep"), shared.join("aep")]
        .into_iter()
        .find(|dir| dir.is_dir());
    if found.is_none() {
        println!("skipped: no AEP data below {}", shared.display());
    }
    found
}
