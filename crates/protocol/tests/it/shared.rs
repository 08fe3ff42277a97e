//! Finds conformance data that is read in place and never copied into the repository.

use std::path::{Path, PathBuf};

/// The path of `name` in the shared data folder: below `INTERWIRE_SHARED` when that is set, else
/// `shared/data` beside the workspace. `None`, and a line saying so, when it is not there.
#[expect(clippy::print_stdout, reason = "a skipped test must say so")]
pub fn path(name: &str) -> Option<PathBuf> {
    let root = match std::env::var_os("INTERWIRE_SHARED") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
    };
    let path = root.join(name);
    if path.exists() {
        return Some(path);
    }
    println!("skipped: {} is not there", path.display());
    None
}

/// The lines of the NDJSON file `name`; nothing when it is not there.
pub fn lines(name: &str) -> Vec<String> {
    let Some(path) = path(name) else {
        return Vec::new();
    };
    let text = std::fs::read_to_string(&path).expect("shared data is readable");
    text.lines()
        .filter(|line| !line.trim().is_empty())
        .map(String::from)
        .collect()
}
