//! Which exchange a verb talks to, and as whom.

use crate::failure::Failure;
use client::{Client, Trust};
use protocol::DialectName;
use std::path::{Path, PathBuf};

/// The options of every verb that talks to an exchange.
#[derive(Clone, Debug, clap::Args)]
pub struct Connection {
    /// Address of the exchange
    #[arg(
        long,
        env = "INTERWIRE_URL",
        hide_env_values = true,
        default_value = "http://127.0.0.1:4747",
        value_name = "URL",
        help_heading = "Exchange"
    )]
    pub url: String,
    /// Bearer token; better in the environment than on the command line
    #[arg(
        long,
        env = "INTERWIRE_TOKEN",
        hide_env_values = true,
        value_name = "TOKEN",
        help_heading = "Exchange"
    )]
    pub token: Option<String>,
    /// The party to act as, such as agent.planner
    #[arg(
        long = "as",
        env = "INTERWIRE_AS",
        value_name = "PARTY",
        help_heading = "Exchange"
    )]
    pub party: Option<String>,
    /// Authorities (PEM) to believe for an https address, instead of the public ones
    #[arg(
        long,
        env = "INTERWIRE_CA",
        hide_env_values = true,
        value_name = "FILE",
        help_heading = "Exchange"
    )]
    pub ca: Option<PathBuf>,
    /// Certificate (PEM, its chain behind it) to show to an exchange that asks for one
    #[arg(
        long,
        env = "INTERWIRE_CERTIFICATE",
        hide_env_values = true,
        value_name = "FILE",
        requires = "key",
        help_heading = "Exchange"
    )]
    pub certificate: Option<PathBuf>,
    /// The key (PEM) of that certificate
    #[arg(
        long,
        env = "INTERWIRE_KEY",
        hide_env_values = true,
        value_name = "FILE",
        requires = "certificate",
        help_heading = "Exchange"
    )]
    pub key: Option<PathBuf>,
}

/// In which dialect a reader wants to be told.
#[derive(Clone, Copy, Debug, Default, clap::Args)]
pub struct Translate {
    /// Show messages in this dialect: aee, aep or uai. One that cannot be said there is shown as it was sent
    #[arg(long, value_name = "DIALECT", value_parser = crate::command::validate::dialect)]
    translate: Option<DialectName>,
}

impl Translate {
    /// The dialect that was asked for.
    pub fn dialect(self) -> Option<DialectName> {
        self.translate
    }
}

impl Connection {
    /// A client; no byte is sent yet.
    pub fn client(&self) -> Result<Client, Failure> {
        let client = Client::connect_with(&self.url, &self.trust()?)?;
        Ok(match &self.token {
            Some(token) => client.token(token.as_str()),
            None => client,
        })
    }

    fn trust(&self) -> Result<Trust, Failure> {
        let mut trust = Trust::default();
        if let Some(path) = &self.ca {
            trust = trust.authorities(pem(path)?);
        }
        if let (Some(certificate), Some(key)) = (&self.certificate, &self.key) {
            trust = trust.identity(pem(certificate)?, pem(key)?);
        }
        Ok(trust)
    }
}

fn pem(path: &Path) -> Result<Vec<u8>, Failure> {
    std::fs::read(path)
        .map_err(|error| Failure::Usage(format!("cannot read {}: {error}", path.display())))
}

/// The filter options of every verb that selects envelopes. One option again means any of; different
/// options mean all of.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct FilterArgs {
    /// AEE or AEP type, or UAI-1 profile; 'task.*' is one or more segments
    #[arg(long = "type", value_name = "PATTERN", help_heading = "Filter")]
    kinds: Vec<String>,
    /// Sender
    #[arg(long, value_name = "PATTERN", help_heading = "Filter")]
    source: Vec<String>,
    /// Recipient
    #[arg(long, value_name = "PATTERN", help_heading = "Filter")]
    target: Vec<String>,
    /// Topic
    #[arg(long, value_name = "PATTERN", help_heading = "Filter")]
    topic: Vec<String>,
    /// Conversation id
    #[arg(long, value_name = "ID", help_heading = "Filter")]
    conversation: Vec<String>,
    /// Task id
    #[arg(long, value_name = "ID", help_heading = "Filter")]
    task: Vec<String>,
    /// Session id
    #[arg(long, value_name = "ID", help_heading = "Filter")]
    session: Vec<String>,
    /// Intent
    #[arg(long, value_name = "PATTERN", help_heading = "Filter")]
    intent: Vec<String>,
    /// aee, aep or uai
    #[arg(long, value_name = "DIALECT", help_heading = "Filter")]
    dialect: Vec<String>,
    /// low, normal, high or urgent
    #[arg(long, value_name = "WORD", help_heading = "Filter")]
    priority: Vec<String>,
}

impl FilterArgs {
    /// The filter they say.
    pub fn filter(&self) -> client::Filter {
        let fields = [
            ("type", &self.kinds),
            ("source", &self.source),
            ("target", &self.target),
            ("topic", &self.topic),
            ("conversation", &self.conversation),
            ("task", &self.task),
            ("session", &self.session),
            ("intent", &self.intent),
            ("dialect", &self.dialect),
            ("priority", &self.priority),
        ];
        fields
            .into_iter()
            .fold(client::Filter::new(), |filter, (field, patterns)| {
                patterns
                    .iter()
                    .fold(filter, |filter, pattern| filter.with(field, pattern))
            })
    }
}
