//! Every setting of the exchange: one table, three sources, one answer.
//!
//! A TOML file < environment < command line. `interwire config show` prints the table with each
//! value and where it came from; the environment's names and the documentation come from the same
//! table.

mod file;
#[cfg(feature = "mcp")]
pub mod servers;
mod table;
mod value;

pub use table::{SETTINGS, Setting};

use crate::failure::Failure;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Everything `serve` needs, checked.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Where to listen.
    pub listen: std::net::SocketAddr,
    /// The data folder.
    pub data: PathBuf,
    /// Whether an address that others can reach is served without credentials.
    pub allow_open: bool,
    /// What is logged.
    pub log: String,
    /// Whether logs are JSON.
    pub log_json: bool,
    /// Files for TLS; none of them for a plain listener.
    pub tls: TlsFiles,
    /// The folder of schemas of intents; empty for none.
    pub schemas: PathBuf,
    /// The broker's settings; its storage follows from `data` and the durability.
    pub broker: broker::Settings,
    /// The HTTP door's settings.
    pub http: doors::http::HttpSettings,
    /// MCP servers whose tools are offered.
    #[cfg(feature = "mcp")]
    pub mcp_servers: Vec<doors::bridge::McpServer>,
    /// The settings of the message brokers.
    pub bus: doors::bus::Settings,
}

/// Certificates in PEM, by path; empty for none.
#[derive(Clone, Debug, Default)]
pub struct TlsFiles {
    /// The chain of the exchange, the leaf first.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
    /// Authorities whose clients are let in.
    pub client_ca: PathBuf,
}

impl Default for Plan {
    fn default() -> Self {
        Self {
            listen: std::net::SocketAddr::from(([127, 0, 0, 1], 4747)),
            data: PathBuf::from("interwire-data"),
            allow_open: false,
            log: "info".into(),
            log_json: false,
            tls: TlsFiles::default(),
            schemas: PathBuf::new(),
            broker: broker::Settings::default(),
            http: doors::http::HttpSettings::default(),
            #[cfg(feature = "mcp")]
            mcp_servers: Vec::new(),
            bus: doors::bus::Settings::default(),
        }
    }
}

/// Where a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Nobody set it.
    Default,
    /// A line of the configuration file.
    File(PathBuf, usize),
    /// An environment variable.
    Environment(String),
    /// The command line.
    Flag(String),
}

impl std::fmt::Display for Origin {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Default => f.write_str("default"),
            Self::File(path, line) => write!(f, "{}:{line}", path.display()),
            Self::Environment(name) => f.write_str(name),
            Self::Flag(flag) => f.write_str(flag),
        }
    }
}

/// The plan and the origin of every value that is not a default.
#[derive(Clone, Debug, Default)]
pub struct Settled {
    /// The values.
    pub plan: Plan,
    origins: BTreeMap<&'static str, Origin>,
}

impl Settled {
    /// Where the value of a setting came from.
    pub fn origin(&self, setting: &Setting) -> Origin {
        self.origins
            .get(setting.name)
            .cloned()
            .unwrap_or(Origin::Default)
    }

    fn set(&mut self, setting: &'static Setting, text: &str, origin: Origin) -> Result<(), Wrong> {
        let written = (setting.write)(&mut self.plan, text);
        written.map_err(|expected| Wrong {
            sentence: format!(
                "{origin}: expected {} to be {expected}, got {text:?}",
                setting.name
            ),
        })?;
        self.origins.insert(setting.name, origin);
        Ok(())
    }
}

/// One thing that is wrong with the configuration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// What and where.
    pub sentence: String,
}

/// A value from the command line: the setting's name, the text, the flag it came with.
pub type Flag = (&'static str, String, String);

/// Puts the sources together.
///
/// # Errors
/// Everything that is wrong, one sentence each.
pub fn settle(
    file: Option<&Path>,
    environment: &dyn Fn(&str) -> Option<String>,
    flags: &[Flag],
) -> Result<Settled, Failure> {
    let mut settled = Settled::default();
    let mut wrong = Vec::new();
    if let Some(path) = file {
        match std::fs::read_to_string(path) {
            Ok(text) => wrong.extend(file::apply(&text, path, &mut settled)),
            Err(error) => wrong.push(Wrong {
                sentence: format!("{}: {error}", path.display()),
            }),
        }
    }
    for setting in SETTINGS {
        let name = setting.environment();
        if let Some(text) = environment(&name)
            && let Err(error) = settled.set(setting, &text, Origin::Environment(name))
        {
            wrong.push(error);
        }
    }
    for (name, text, flag) in flags {
        match find(name) {
            Ok(setting) => {
                if let Err(error) = settled.set(setting, text, Origin::Flag(flag.clone())) {
                    wrong.push(error);
                }
            }
            Err(sentence) => wrong.push(Wrong {
                sentence: format!("{flag}: {sentence}"),
            }),
        }
    }
    if wrong.is_empty() {
        return Ok(settled);
    }
    let sentences: Vec<_> = wrong.into_iter().map(|wrong| wrong.sentence).collect();
    Err(Failure::Usage(sentences.join("\n")))
}

/// The setting of that name, or a sentence with the nearest one.
pub fn find(name: &str) -> Result<&'static Setting, String> {
    let found = SETTINGS.iter().find(|setting| setting.name == name);
    found.ok_or_else(|| match nearest(name, |setting| setting.name.to_owned()) {
        Some(near) => {
            format!(
                "expected a known setting, got {name:?}; did you mean {:?}",
                near.name
            )
        }
        None => {
            format!("expected a known setting, got {name:?}; `interwire config show` lists them")
        }
    })
}

/// The setting whose spelling is near enough to be what was meant.
pub fn nearest(name: &str, spelling: impl Fn(&Setting) -> String) -> Option<&'static Setting> {
    let far = |setting: &Setting| distance(&spelling(setting), name);
    let near = SETTINGS.iter().min_by_key(|setting| far(setting))?;
    (far(near) <= 1 + name.len() / 3).then_some(near)
}

/// How many single characters must change to turn one text into the other (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, left) in one.chars().enumerate() {
        let mut above_left = at;
        let mut before = at + 1;
        for (right, cell) in other.iter().zip(row.iter_mut().skip(1)) {
            let substituted = above_left + usize::from(left != *right);
            above_left = *cell;
            before = substituted.min(above_left + 1).min(before + 1);
            *cell = before;
        }
        if let Some(first) = row.first_mut() {
            *first = at + 1;
        }
    }
    row.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests;
