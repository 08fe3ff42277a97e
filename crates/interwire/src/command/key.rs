//! `interwire key`: keys that sign, in files of their own.

use crate::failure::{Answer, Failure};
use crate::output;
use protocol::base64;
use ring::rand::{SecureRandom as _, SystemRandom};
use serde_json::{Value, json};
use std::fs::OpenOptions;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use trust::{Algorithm, KeyRing, SecretKey};

/// What to do with keys.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = "Examples:
  interwire key new planner.key --party agent.planner
  interwire key show planner.key")]
pub enum Action {
    /// Make an Ed25519 key in a new file, and print its entry for a key ring
    New(New),
    /// Print the entry of a key for a key ring
    Show(Show),
}

/// Options of `new`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  interwire key new planner.key --party agent.planner
  interwire key new team.key --kid team-2026 --party 'agent.team.*' > entry.json")]
pub struct New {
    /// The new file; only its owner can read it
    file: PathBuf,
    /// The key's name in signatures; its did:key when left out
    #[arg(long)]
    kid: Option<String>,
    /// A party it speaks for; agent.team.* for all that begin so; again for more
    #[arg(long = "party", value_name = "PARTY", required = true)]
    parties: Vec<String>,
}

/// Options of `show`.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  interwire key show planner.key
  interwire key show planner.key | jq '{keys: [.]}' > ring.json")]
pub struct Show {
    /// The key's file
    file: PathBuf,
}

/// Runs it.
pub fn run(action: Action) -> Result<Answer, Failure> {
    match action {
        Action::New(new) => make(new),
        Action::Show(show) => {
            output::line(&KeyFile::read(&show.file)?.entry().to_string())?;
            Ok(Answer::Yes)
        }
    }
}

fn make(new: New) -> Result<Answer, Failure> {
    let mut seed = [0; 32];
    SystemRandom::new()
        .fill(&mut seed)
        .map_err(|_| Failure::Refused("the system gave no randomness".into()))?;
    let key = SecretKey::ed25519(&seed);
    let did = key.public().did().unwrap_or_default();
    let file = KeyFile {
        kid: new.kid.unwrap_or(did),
        parties: new.parties,
        key,
    };
    let mut private = Vec::new();
    base64::encode(&mut private, &seed);
    let text = json!({
        "kid": file.kid,
        "alg": file.key.algorithm().as_str(),
        "private": String::from_utf8(private).unwrap_or_default(),
        "parties": file.parties,
    });
    let name = new.file.display();
    let mut out = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(&new.file)
        .map_err(|error| Failure::Refused(format!("{name}: {error}")))?;
    out.write_all(format!("{text:#}\n").as_bytes())?;
    out.sync_all()?;
    output::note(&format!(
        "interwire: the secret is in {name}; the line below may be shown to anyone"
    ));
    output::line(&file.entry().to_string())?;
    Ok(Answer::Yes)
}

/// A key file: `{"kid","alg","private","parties"}`.
pub struct KeyFile {
    /// The name in signatures.
    pub kid: String,
    /// The parties it speaks for, as they were written.
    pub parties: Vec<String>,
    /// The key.
    pub key: SecretKey,
}

impl KeyFile {
    /// Reads it. Sentences name the member and never what it holds.
    pub fn read(path: &Path) -> Result<Self, Failure> {
        let wrong = |what: &str| Failure::Refused(format!("{}: {what}", path.display()));
        let text = std::fs::read(path).map_err(|error| wrong(&error.to_string()))?;
        let value: Value = serde_json::from_slice(&text)
            .map_err(|_| wrong("expected a key file, made by `interwire key new`"))?;
        let member = |name: &str| {
            value
                .get(name)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
                .ok_or_else(|| wrong(&format!("expected a text at `{name}`")))
        };
        let algorithm = Algorithm::parse(member("alg")?)
            .ok_or_else(|| wrong("expected `alg` to be ed25519 or HS256"))?;
        let key = SecretKey::read(algorithm, member("private")?)
            .map_err(|error| wrong(&format!("private: {error}")))?;
        let parties = value.get("parties").and_then(Value::as_array);
        let parties = parties
            .into_iter()
            .flatten()
            .map(|party| party.as_str().map(str::to_owned))
            .collect::<Option<_>>()
            .ok_or_else(|| wrong("expected `parties` to be a list of texts"))?;
        Ok(Self {
            kid: member("kid")?.to_owned(),
            parties,
            key,
        })
    }

    /// What a key ring says about it. Of a shared secret that is the secret.
    fn entry(&self) -> Value {
        let mut entry = json!({
            "kid": self.kid,
            "alg": self.key.algorithm().as_str(),
            "parties": self.parties,
        });
        let (name, text) = match &self.key.public() {
            trust::PublicKey::Hs256(secret) => {
                let mut text = Vec::new();
                base64::encode(&mut text, secret);
                ("secret", String::from_utf8(text).unwrap_or_default())
            }
            public => ("public", public.did().unwrap_or_default()),
        };
        if let Some(object) = entry.as_object_mut() {
            object.insert(name.into(), text.into());
        }
        entry
    }
}

/// Reads a key ring.
pub fn ring(path: &Path) -> Result<KeyRing, Failure> {
    let text = std::fs::read(path)
        .map_err(|error| Failure::Refused(format!("{}: {error}", path.display())))?;
    KeyRing::read(&text).map_err(|fault| Failure::Refused(format!("{}: {fault}", path.display())))
}
