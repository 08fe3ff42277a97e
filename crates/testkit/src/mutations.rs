//! Ways to break the program, as `mutations.toml` lists them.

use serde::Deserialize;
use std::fs;
use std::path::{Path, PathBuf};

/// One way.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Mutation {
    /// What it does wrong, in a few words.
    pub name: String,
    /// The file, from the root of the project.
    pub file: String,
    /// What is there, once.
    pub from: String,
    /// What comes in its place.
    pub to: String,
    /// The test that notices, as `crate::name`; without it, the simulation has to.
    pub test: Option<String>,
}

#[derive(Deserialize)]
struct List {
    mutation: Vec<Mutation>,
}

/// The root of the project.
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// All of them.
///
/// # Errors
/// When the list cannot be read.
pub fn read(root: &Path) -> Result<Vec<Mutation>, Box<dyn std::error::Error>> {
    let text = fs::read_to_string(root.join("crates/testkit/mutations.toml"))?;
    let list: List = toml::from_str(&text)?;
    Ok(list.mutation)
}

impl Mutation {
    /// The source with the mutation in it.
    ///
    /// # Errors
    /// When what is to be replaced is not there, or not once.
    pub fn apply(&self, source: &str) -> Result<String, String> {
        match source.matches(&self.from).count() {
            1 => Ok(source.replacen(&self.from, &self.to, 1)),
            count => Err(format!(
                "{}: expected this once in {}, found it {count} times:\n{}",
                self.name, self.file, self.from
            )),
        }
    }
}
