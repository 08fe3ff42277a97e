//! The manifest of a bundle: what there is, and who vouches for it (AEE 9.3).

use super::VERSION;
use super::event::{Chain, Object};
use super::verify::manifest_digest;
use crate::sign::Signer;
use protocol::{Timestamp, base64, json};

/// A file in the bundle, named by its content.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Attachment {
    /// SHA-256 of its bytes, lower hexadecimal.
    pub hash: String,
    /// Its media type.
    pub content_type: String,
    /// How many bytes.
    pub bytes: u64,
}

impl Attachment {
    /// Where it stands in the bundle.
    #[must_use]
    pub fn path(&self) -> String {
        let start = self.hash.get(..2).unwrap_or_default();
        format!("attachments/{start}/{}", self.hash)
    }
}

/// What is written about a bundle.
#[derive(Clone, Debug)]
pub struct Manifest<'c> {
    /// The bundle.
    pub bundle_id: &'c str,
    /// When it was made.
    pub created: Timestamp,
    /// The finished chain.
    pub chain: &'c Chain,
    /// Whether the run has ended: `final`; else `rolling`, up to `created`.
    pub is_final: bool,
    /// The version of the program that wrote it.
    pub build: &'c str,
    /// Whether events leave something out, as they say themselves.
    pub is_redacted: bool,
    /// Every file.
    pub attachments: &'c [Attachment],
}

impl Manifest<'_> {
    /// What the last event must say as `payload.manifest_digest`, so that what the chain does not cover
    /// cannot be edited unseen. It does not depend on the chain, so it can be asked before that event.
    #[must_use]
    pub fn digest(&self, signers: &[Signer<'_>]) -> String {
        let (text, _) = self.write(signers);
        let limits = json::Limits {
            bytes_max: usize::MAX,
            ..json::Limits::default()
        };
        json::read(text.as_bytes(), limits)
            .and_then(|document| manifest_digest(document.root()))
            .unwrap_or_default()
    }

    /// The manifest as JSON, and its signature records, which also stand alone as
    /// `signatures/sig-<n>.json`. Only Ed25519 keys sign bundles; others are left out.
    #[must_use]
    pub fn write(&self, signers: &[Signer<'_>]) -> (String, Vec<String>) {
        let chain = self.chain;
        let first = chain.first_hash().unwrap_or_default();
        let mut message = Object::new();
        message.text("bundle_id", self.bundle_id);
        message.raw("event_count", &chain.count().to_string());
        message.text("first_event_hash", first);
        message.text("hash_alg", "sha256");
        message.text("last_event_hash", chain.last_hash());
        message.text("run_id", chain.run_id());
        // Written in the order of the canonical form, and its texts are ASCII or as they were read.
        let message = message.close();
        let signed = super::canonical::canonical_text(message.as_bytes(), Default::default())
            .unwrap_or_default();
        let records: Vec<String> = signers
            .iter()
            .filter(|signer| signer.key.public().did().is_some())
            .map(|signer| {
                let mut value = Vec::new();
                base64::encode(&mut value, &signer.key.sign(signed.as_bytes()));
                let mut record = Object::new();
                record.text("sig_version", VERSION);
                record.text("sig_type", "ed25519");
                record.text("key_id", signer.kid);
                record.text("signed_ts", &self.created.to_string());
                record.text("scope", "bundle");
                record.raw("message", &message);
                record.text("signature", &String::from_utf8(value).unwrap_or_default());
                record.close()
            })
            .collect();
        let mut manifest = Object::new();
        manifest.text("volt_version", VERSION);
        manifest.text("bundle_id", self.bundle_id);
        manifest.text("run_id", chain.run_id());
        manifest.text("created_ts", &self.created.to_string());
        manifest.text("hash_alg", "sha256");
        manifest.text("events_file", "events.ndjson");
        manifest.raw("event_count", &chain.count().to_string());
        manifest.text("first_event_hash", first);
        manifest.text("last_event_hash", chain.last_hash());
        if self.is_final {
            manifest.text("bundle_mode", "final");
        } else {
            manifest.text("bundle_mode", "rolling");
            manifest.text("cutoff_ts", &self.created.to_string());
        }
        manifest.text("correlation_id", chain.correlation_id());
        let mut producer = Object::new();
        producer.text("name", "interwire");
        producer.text("version", self.build);
        manifest.raw("producer", &producer.close());
        manifest.raw(
            "redactions_present",
            if self.is_redacted { "true" } else { "false" },
        );
        manifest.raw(
            "attachments_present",
            if self.attachments.is_empty() {
                "false"
            } else {
                "true"
            },
        );
        let attachments: Vec<_> = self.attachments.iter().map(attachment).collect();
        manifest.raw("attachments", &format!("[{}]", attachments.join(",")));
        manifest.raw("signatures", &format!("[{}]", records.join(",")));
        (manifest.close(), records)
    }
}

fn attachment(attachment: &Attachment) -> String {
    let mut object = Object::new();
    object.text("hash_alg", "sha256");
    object.text("hash", &attachment.hash);
    object.text("content_type", &attachment.content_type);
    object.raw("bytes", &attachment.bytes.to_string());
    object.text("path", &attachment.path());
    object.close()
}
