//! `interwire verify`: what is known about the signatures of envelopes, without any exchange.

use super::key::ring;
use crate::failure::{Answer, Failure};
use crate::output::{self, Colour, Paint, tame};
use crate::texts::{self, Text};
use protocol::json::{self, Limits};
use protocol::{DialectName, Rules};
use serde_json::json;
use std::path::PathBuf;
use trust::{Judgement, KeyRing, Verdict};

/// Options.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  interwire verify --keys ring.json envelope.json
  interwire verify --keys ring.json --json *.ndjson | jq 'select(.verdict != \"verified\")'")]
pub struct Arguments {
    /// JSON or NDJSON files; - or none is standard input
    files: Vec<PathBuf>,
    /// The key ring; without one only UAI-1's did:keys can be verified
    #[arg(long, value_name = "FILE")]
    keys: Option<PathBuf>,
    /// One JSON object per envelope
    #[arg(long)]
    json: bool,
}

/// Judges; the answer is no unless every envelope is verified, or when there is none.
pub async fn run(arguments: Arguments) -> Result<Answer, Failure> {
    let keys = match &arguments.keys {
        Some(path) => ring(path)?,
        None => KeyRing::new(),
    };
    let paint = Paint::of_stdout();
    let (mut count, mut verified) = (0_u64, 0_u64);
    let mut found = texts::read(arguments.files);
    while let Some(text) = found.recv().await {
        let text = text?;
        count += 1;
        let judged = judge(&text, &keys);
        verified += u64::from(judged.judgement.verdict == Verdict::Verified);
        if arguments.json {
            output::line(&judged.json())?;
        } else {
            output::line(&judged.text(&text.origin, paint))?;
        }
    }
    if count == 0 {
        output::note("interwire: expected at least one envelope, got none");
    }
    Ok(if count > 0 && verified == count {
        Answer::Yes
    } else {
        Answer::No
    })
}

/// One envelope and what is known about it.
struct Judged {
    dialect: Option<DialectName>,
    id: Option<String>,
    sender: Option<String>,
    judgement: Judgement,
}

fn judge(text: &Text, keys: &KeyRing) -> Judged {
    let now = crate::identity::now();
    let unread = |detail: String| Judged {
        dialect: None,
        id: None,
        sender: None,
        judgement: Judgement {
            verdict: Verdict::Unverified,
            kid: None,
            binding: None,
            pointer: String::new(),
            detail,
        },
    };
    let reading = protocol::decode(&text.bytes, &Rules::at(now));
    let (Some(dialect), Some(header)) = (reading.dialect, reading.header) else {
        let fault = reading.faults.first().map(ToString::to_string);
        return unread(fault.unwrap_or_else(|| "expected an envelope".into()));
    };
    match json::read(&text.bytes, Limits::default()) {
        Ok(document) => Judged {
            dialect: Some(dialect),
            id: Some(header.id.to_string()),
            sender: Some(header.sender.to_string()),
            judgement: trust::verify(document.root(), dialect, &header.sender, keys, now),
        },
        Err(fault) => unread(fault.to_string()),
    }
}

impl Judged {
    fn json(&self) -> String {
        let judgement = &self.judgement;
        json!({
            "verdict": judgement.verdict.as_str(),
            "dialect": self.dialect.map(DialectName::as_str),
            "id": self.id,
            "from": self.sender,
            "kid": judgement.kid,
            "binding": judgement.binding.map(trust::Binding::as_str),
            "pointer": judgement.pointer,
            "detail": judgement.detail,
        })
        .to_string()
    }

    fn text(&self, origin: &str, paint: Paint) -> String {
        let judgement = &self.judgement;
        let colour = match judgement.verdict {
            Verdict::Verified => Colour::Green,
            Verdict::Bad => Colour::Red,
            Verdict::Unverified | Verdict::UnknownKey | Verdict::Absent => Colour::Yellow,
        };
        let word = paint.paint(colour, &format!("{:<11}", judgement.verdict.as_str()));
        let dialect = self.dialect.map_or("-", DialectName::as_str);
        let binding = match judgement.binding {
            Some(trust::Binding::Minimal) => ", but only the minimal members are bound",
            Some(trust::Binding::Full) | None => "",
        };
        format!(
            "{word} {dialect}  {}  {}  {}{binding}",
            tame(self.id.as_deref().unwrap_or("-")),
            paint.paint(Colour::Dim, &tame(origin)),
            tame(&judgement.detail)
        )
    }
}
