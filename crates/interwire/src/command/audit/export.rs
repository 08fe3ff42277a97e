//! `interwire audit export`: a conversation as an evidence bundle (AEE 9.6).

use super::folder;
use super::run::{Run, Said};
use crate::command::key::KeyFile;
use crate::connection::Connection;
use crate::failure::{Answer, Failure};
use crate::output;
use client::{Client, From, TraceOptions};
use protocol::Timestamp;
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::PathBuf;
use trust::Signer;
use trust::volt::{Attachment, Manifest};

/// Options.
#[derive(Debug, clap::Args)]
#[command(after_help = "Examples:
  interwire audit export CONV_01JFX7K0A2B4C6D8E0F2G4H6J8 --out evidence
  interwire audit export CONV_1 --out evidence --content --sign auditor.key
  interwire audit verify evidence")]
pub struct Arguments {
    /// The id of a conversation, or of one of its messages or tasks
    id: String,
    /// The new folder of the bundle
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    /// Put the envelopes in too; without this the bundle has only what was said about them
    #[arg(long)]
    content: bool,
    /// Sign the bundle with this key, made by `interwire key new`
    #[arg(long, value_name = "FILE")]
    sign: Option<PathBuf>,
    #[command(flatten)]
    connection: Connection,
}

/// Writes it.
pub async fn run(arguments: Arguments) -> Result<Answer, Failure> {
    let client = arguments.connection.client()?;
    let key = arguments.sign.as_deref().map(KeyFile::read).transpose()?;
    std::fs::create_dir(&arguments.out)
        .map_err(|error| Failure::Refused(format!("{}: {error}", arguments.out.display())))?;
    let now = crate::identity::now();
    let mut run = Run::new(&crate::identity::ulid(), &arguments.id);
    let mut attachments: BTreeMap<String, Attachment> = BTreeMap::new();
    let mut from: Option<String> = None;
    loop {
        let options = TraceOptions {
            from: from.take().map(From::At),
            ..TraceOptions::default()
        };
        let mut trace = client.trace(&arguments.id, &options).await?;
        let next = trace.next.take();
        let trace: Value = serde_json::from_slice(&trace.whole().await?)
            .map_err(|error| Failure::Refused(error.to_string()))?;
        run.begin(&trace, now)?;
        let nodes = trace.pointer("/nodes").and_then(Value::as_array);
        for node in nodes.into_iter().flatten() {
            let envelope = envelope(&client, node).await?;
            let said = if arguments.content {
                let hash = protocol::digest(&envelope).to_hex();
                let attachment = Attachment {
                    hash: hash.clone(),
                    content_type: "application/json".into(),
                    bytes: envelope.len() as u64,
                };
                folder::write(&arguments.out, &attachment.path(), &envelope)?;
                attachments.insert(hash.clone(), attachment);
                Said::Attached(hash)
            } else {
                Said::Redacted
            };
            run.message(node, &envelope, &said)?;
        }
        match next {
            Some(next) => from = Some(next),
            None => break,
        }
    }
    let attachments: Vec<_> = attachments.into_values().collect();
    let signers: Vec<_> = key
        .iter()
        .map(|file| Signer {
            kid: &file.kid,
            key: &file.key,
        })
        .collect();
    let events = finish(
        &mut run,
        now,
        &attachments,
        &signers,
        !arguments.content,
        &arguments.out,
    )?;
    output::line(&format!(
        "{events} events of {} in {}",
        output::tame(run.correlation_id()),
        arguments.out.display()
    ))?;
    Ok(Answer::Yes)
}

/// The exact bytes of a node's envelope.
async fn envelope(client: &Client, node: &Value) -> Result<bytes::Bytes, Failure> {
    let text = |name: &str| node.get(name).and_then(Value::as_str);
    let id = text("id").unwrap_or_default();
    Ok(client.message(id, text("from")).await?.envelope)
}

/// The last event, the manifest, and the events on disk.
fn finish(
    run: &mut Run,
    now: Timestamp,
    attachments: &[Attachment],
    signers: &[Signer<'_>],
    is_redacted: bool,
    out: &std::path::Path,
) -> Result<u64, Failure> {
    let bundle_id = crate::identity::ulid();
    let is_final = run.is_over();
    let digest = {
        let manifest = Manifest {
            bundle_id: &bundle_id,
            created: now,
            chain: run.chain(),
            is_final,
            build: env!("CARGO_PKG_VERSION"),
            is_redacted,
            attachments,
        };
        manifest.digest(signers)
    };
    run.end(now, &digest)?;
    let manifest = Manifest {
        bundle_id: &bundle_id,
        created: now,
        chain: run.chain(),
        is_final,
        build: env!("CARGO_PKG_VERSION"),
        is_redacted,
        attachments,
    };
    let (text, _) = manifest.write(signers);
    folder::write(out, "events.ndjson", run.lines().as_bytes())?;
    folder::write(out, "manifest.json", text.as_bytes())?;
    Ok(run.chain().count())
}
