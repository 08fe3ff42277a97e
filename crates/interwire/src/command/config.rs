//! `interwire config show|check|init`.

use crate::failure::{Answer, Failure};
use crate::output::{self, Colour, Paint};
use crate::settings::{Flag, Origin, SETTINGS, Settled, settle};
use serde_json::json;
use std::path::PathBuf;

/// What to do with the configuration.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Examples:
  interwire config init > interwire.toml
  interwire config check --config interwire.toml
  interwire config show --config interwire.toml --json")]
pub enum Action {
    /// Print every setting, its value and where it came from
    Show {
        /// Where from, and how
        #[command(flatten)]
        source: Source,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
    },
    /// Say whether the exchange would start with this configuration
    Check {
        /// Where from
        #[command(flatten)]
        source: Source,
    },
    /// Print a file with every setting and its default
    Init,
}

/// Where the configuration comes from. `serve` takes the same options.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct Source {
    /// TOML file
    #[arg(long, env = "INTERWIRE_CONFIG", value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// Any setting, over file and environment
    #[arg(long = "set", value_name = "NAME=VALUE")]
    pub set: Vec<String>,
}

impl Source {
    /// Puts file, environment, `--set` and the given flags together; the flags win.
    pub fn settle(&self, flags: Vec<Flag>) -> Result<Settled, Failure> {
        let mut all: Vec<Flag> = Vec::new();
        for pair in &self.set {
            let Some((name, value)) = pair.split_once('=') else {
                return Err(Failure::Usage(format!(
                    "--set: expected NAME=VALUE, got {pair:?}"
                )));
            };
            let setting = crate::settings::find(name)
                .map_err(|sentence| Failure::Usage(format!("--set: {sentence}")))?;
            all.push((setting.name, value.to_owned(), format!("--set {name}")));
        }
        all.extend(flags);
        for sentence in strangers(std::env::vars_os().map(|(name, _)| name)) {
            output::note(&format!("warning: {sentence}"));
        }
        let environment = |name: &str| std::env::var(name).ok();
        settle(self.config.as_deref(), &environment, &all)
    }
}

/// Variables that are no settings but read elsewhere.
const OTHERS: [&str; 4] = [
    "INTERWIRE_URL",
    "INTERWIRE_TOKEN",
    "INTERWIRE_AS",
    "INTERWIRE_CONFIG",
];

/// Variables that look like settings and are none. Only a warning: the environment is shared with
/// programs that are not ours.
fn strangers(names: impl Iterator<Item = std::ffi::OsString>) -> Vec<String> {
    let is_known = |name: &str| {
        OTHERS.contains(&name) || SETTINGS.iter().any(|setting| setting.environment() == name)
    };
    names
        .filter_map(|name| name.into_string().ok())
        .filter(|name| name.starts_with("INTERWIRE_") && !is_known(name))
        .map(|name| {
            let key = name.trim_start_matches("INTERWIRE_").to_ascii_lowercase();
            let nearest = crate::settings::nearest(&key, |setting| setting.name.replace('.', "_"));
            match nearest {
                Some(setting) => format!(
                    "{name} is no setting; did you mean {}",
                    setting.environment()
                ),
                None => format!("{name} is no setting"),
            }
        })
        .collect()
}

/// Does it.
pub fn run(action: Action) -> Result<Answer, Failure> {
    match action {
        Action::Show { source, json } => show(&source.settle(Vec::new())?, json),
        Action::Check { source } => {
            source.settle(Vec::new())?;
            let what = match &source.config {
                Some(path) => path.display().to_string(),
                None => "defaults and environment".to_owned(),
            };
            output::line(&format!("ok: {what}"))?;
            Ok(Answer::Yes)
        }
        Action::Init => init(),
    }
}

fn show(settled: &Settled, is_json: bool) -> Result<Answer, Failure> {
    let paint = Paint::of_stdout();
    let width = SETTINGS
        .iter()
        .map(|setting| setting.name.len())
        .max()
        .unwrap_or_default();
    for setting in SETTINGS {
        let value = (setting.read)(&settled.plan);
        let origin = settled.origin(setting);
        if is_json {
            let line = json!({
                "name": setting.name,
                "value": value,
                "origin": origin.to_string(),
                "default": setting.default(),
                "environment": setting.environment(),
                "doc": setting.doc,
            });
            output::line(&line.to_string())?;
            continue;
        }
        let colour = if origin == Origin::Default {
            Colour::Dim
        } else {
            Colour::Bold
        };
        output::line(&format!(
            "{:width$}  {}  {}",
            setting.name,
            paint.paint(colour, &format!("{value:<18}")),
            paint.paint(Colour::Dim, &origin.to_string())
        ))?;
    }
    #[cfg(feature = "mcp")]
    for server in &settled.plan.mcp_servers {
        // Not its environment: that is where its secrets are.
        let how = match &server.reach {
            doors::bridge::Reach::Command { command, args, .. } => {
                format!("{command} {}", args.join(" "))
            }
            doors::bridge::Reach::Url(url) => url.clone(),
        };
        if is_json {
            let line = json!({
                "name": "mcp.servers",
                "value": { "name": server.name, "party": server.party.as_str(), "reach": how,
                           "timeout_ms": server.timeout_ms, "calls_max": server.calls_max },
            });
            output::line(&line.to_string())?;
        } else {
            let what = format!("{} as {}: {how}", server.name, server.party);
            output::line(&format!("{:width$}  {what}", "mcp.servers"))?;
        }
    }
    Ok(Answer::Yes)
}

fn init() -> Result<Answer, Failure> {
    let mut section = "";
    for setting in SETTINGS {
        let (own_section, key) = setting.name.split_once('.').unwrap_or(("", setting.name));
        if own_section != section {
            section = own_section;
            output::line(&format!("\n[{section}]"))?;
        }
        output::line(&format!("# {} ({})", setting.doc, setting.environment()))?;
        output::line(&format!("{key} = {}", setting.toml(&setting.default())))?;
    }
    #[cfg(feature = "mcp")]
    {
        output::line(
            "\n# MCP servers whose tools are offered as asynchronous tools, each with a table:",
        )?;
        output::line("# [[mcp.servers]]")?;
        for (key, doc) in crate::settings::servers::KEYS {
            output::line(&format!("# {key}: {doc}"))?;
        }
    }
    Ok(Answer::Yes)
}
