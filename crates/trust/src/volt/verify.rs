//! Verification of a bundle, step by step, ending at the first failure (AEE 9.4).
//!
//! Beyond the published steps the last event may carry `manifest_digest`, a hash over everything in
//! the manifest that the chain cannot cover: our bundles do, so that nothing in them can be edited
//! unseen.

use super::report::{Outcome, Reason, Report};
use super::schema::{is_hash, is_inside, is_moment, wrong_member};
use super::signatures::signatures;
use super::{GENESIS, VERSION, canonical};
use crate::key_ring::KeyRing;
use protocol::digest;
use protocol::json::{self, Limits, Value};
use std::collections::{BTreeMap, HashSet};

/// The files of a bundle by their path in it, with `/` between folders. Whoever fills it refuses paths
/// that leave the bundle.
#[derive(Clone, Debug, Default)]
pub struct Bundle {
    /// Path to bytes.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// What to check.
#[derive(Clone, Copy, Debug)]
pub struct Options<'r> {
    /// A gap in the numbers is a failure; else a warning.
    pub is_strict: bool,
    /// Whether attachments are checked.
    pub attachments: bool,
    /// Whether signatures are checked.
    pub signatures: bool,
    /// The keys that signatures may be of, besides `did:key`s.
    pub ring: Option<&'r KeyRing>,
}

impl Default for Options<'_> {
    fn default() -> Self {
        Self {
            is_strict: true,
            attachments: true,
            signatures: true,
            ring: None,
        }
    }
}

/// The most that one file of a bundle may hold.
pub(super) const LIMITS: Limits = Limits {
    bytes_max: 64 << 20,
    depth_max: 64,
};

/// Where the manifest says what the chain cannot cover.
const DIGEST_MEMBER: &str = "manifest_digest";

/// Verifies.
#[must_use]
pub fn verify(bundle: &Bundle, options: &Options<'_>) -> Report {
    let mut warnings = Vec::new();
    match check(bundle, options, &mut warnings) {
        Ok(details) => Report {
            outcome: Outcome::Pass,
            reason: None,
            details,
            warnings,
        },
        Err(failure) => Report {
            outcome: match failure.reason {
                Reason::ManifestMissing
                | Reason::ManifestUnreadable
                | Reason::ManifestSchemaInvalid
                | Reason::EventsFileMissing => Outcome::Error,
                _ => Outcome::Fail,
            },
            reason: Some(failure.reason),
            details: failure.details,
            warnings,
        },
    }
}

/// What the last event of our bundles must say about the manifest.
///
/// # Errors
/// When the manifest has no canonical form.
pub(super) fn manifest_digest(manifest: Value<'_>) -> Result<String, protocol::Fault> {
    let is_covered = |pointer: &str| {
        let of_signature = pointer
            .strip_prefix("/signatures/")
            .is_some_and(|rest| rest.ends_with("/signature") || rest.ends_with("/message"));
        !of_signature
            && !matches!(
                pointer,
                "/event_count" | "/first_event_hash" | "/last_event_hash"
            )
    };
    let text = canonical::canonicalize(manifest, is_covered)?;
    Ok(digest(text.as_bytes()).to_hex())
}

pub(super) struct Failure {
    reason: Reason,
    details: Vec<(&'static str, String)>,
}

impl Failure {
    pub(super) fn new(reason: Reason) -> Self {
        Self {
            reason,
            details: Vec::new(),
        }
    }

    pub(super) fn text(mut self, name: &'static str, text: &str) -> Self {
        self.details.push((name, quoted(text)));
        self
    }

    fn number(mut self, name: &'static str, number: u64) -> Self {
        self.details.push((name, number.to_string()));
        self
    }
}

fn quoted(text: &str) -> String {
    let mut out = String::new();
    json::push_string(&mut out, text);
    out
}

type Details = Vec<(&'static str, String)>;

fn check(
    bundle: &Bundle,
    options: &Options<'_>,
    warnings: &mut Vec<String>,
) -> Result<Details, Failure> {
    let bytes = bundle
        .files
        .get("manifest.json")
        .ok_or_else(|| Failure::new(Reason::ManifestMissing))?;
    let document = json::read(bytes, LIMITS).map_err(|fault| {
        Failure::new(Reason::ManifestUnreadable).text("detail", &fault.to_string())
    })?;
    let manifest = document.root();
    let facts = Facts::read(manifest)?;
    let events = bundle.files.get(&facts.events_file).ok_or_else(|| {
        Failure::new(Reason::EventsFileMissing).text("events_file", &facts.events_file)
    })?;
    let mut run = Run::new(&facts, options);
    let body = events.strip_suffix(b"\n").unwrap_or(events);
    if !body.is_empty() {
        for line in body.split(|byte| *byte == b'\n') {
            run.event(line, warnings)?;
        }
    }
    run.end(&facts, manifest)?;
    let attachments_verified = attachments(bundle, manifest, options, &run, warnings)?;
    let signatures_verified = signatures(bundle, manifest, &facts, options, warnings)?;
    Ok(vec![
        ("run_id", quoted(&facts.run_id)),
        ("bundle_id", quoted(&facts.bundle_id)),
        ("volt_version", quoted(&facts.volt_version)),
        ("hash_alg", quoted("sha256")),
        ("event_count", run.count.to_string()),
        ("first_event_hash", quoted(&run.first)),
        ("last_event_hash", quoted(&run.last)),
        ("attachments_verified", attachments_verified.to_string()),
        ("signatures_verified", signatures_verified.to_string()),
    ])
}

/// What the manifest must say (step 0).
pub(super) struct Facts {
    volt_version: String,
    pub(super) bundle_id: String,
    pub(super) run_id: String,
    events_file: String,
    pub(super) event_count: u64,
    pub(super) first: String,
    pub(super) last: String,
}

impl Facts {
    fn read(manifest: Value<'_>) -> Result<Self, Failure> {
        let invalid =
            |name: &'static str| Failure::new(Reason::ManifestSchemaInvalid).text("member", name);
        let text = |name: &'static str| {
            manifest
                .get(name)
                .and_then(Value::as_str)
                .filter(|text| !text.is_empty())
                .map(std::borrow::Cow::into_owned)
                .ok_or_else(|| invalid(name))
        };
        let hash = |name: &'static str| {
            text(name).and_then(|text| match is_hash(&text) {
                true => Ok(text),
                false => Err(invalid(name)),
            })
        };
        if text("hash_alg")? != "sha256" {
            return Err(invalid("hash_alg"));
        }
        if !is_moment(&text("created_ts")?) {
            return Err(invalid("created_ts"));
        }
        let count = manifest.get("event_count").and_then(Value::as_i64);
        let events_file = text("events_file")?;
        if !is_inside(&events_file) {
            return Err(invalid("events_file"));
        }
        Ok(Self {
            volt_version: text("volt_version")?,
            bundle_id: text("bundle_id")?,
            run_id: text("run_id")?,
            events_file,
            event_count: count
                .and_then(|count| u64::try_from(count).ok())
                .filter(|count| *count >= 1)
                .ok_or_else(|| invalid("event_count"))?,
            first: hash("first_event_hash")?,
            last: hash("last_event_hash")?,
        })
    }
}

/// The events read so far (steps 1 to 7).
struct Run<'f> {
    facts: &'f Facts,
    is_strict: bool,
    count: u64,
    seq: u64,
    first: String,
    last: String,
    ids: HashSet<String>,
    /// What events refer to: SHA-256, and the number of the event.
    references: Vec<(String, u64)>,
    manifest_digest: Option<String>,
}

impl<'f> Run<'f> {
    fn new(facts: &'f Facts, options: &Options<'_>) -> Self {
        Self {
            facts,
            is_strict: options.is_strict,
            count: 0,
            seq: 0,
            first: String::new(),
            last: GENESIS.into(),
            ids: HashSet::new(),
            references: Vec::new(),
            manifest_digest: None,
        }
    }

    fn event(&mut self, line: &[u8], warnings: &mut Vec<String>) -> Result<(), Failure> {
        let at = self.count + 1;
        let document = json::read(line, LIMITS).map_err(|fault| {
            Failure::new(Reason::InvalidEventJson)
                .number("line", at)
                .text("detail", &fault.to_string())
        })?;
        let event = document.root();
        let fail = |reason| Failure::new(reason).number("line", at);
        let seq = event
            .get("seq")
            .and_then(Value::as_i64)
            .and_then(|seq| u64::try_from(seq).ok())
            .filter(|seq| *seq >= 1)
            .ok_or_else(|| fail(Reason::EventSchemaInvalid).text("member", "seq"))?;
        let expected = self.seq + 1;
        let order = if seq == self.seq {
            Some(Reason::SeqDuplicate)
        } else if seq < self.seq {
            Some(Reason::SeqNotMonotonic)
        } else if seq > expected {
            Some(Reason::SeqGap)
        } else {
            None
        };
        match order {
            Some(Reason::SeqGap) if !self.is_strict => {
                warnings.push(format!("expected event {expected}, got {seq}"));
            }
            Some(reason) => {
                return Err(fail(reason)
                    .number("seq", seq)
                    .number("expected_seq", expected));
            }
            None => {}
        }
        let of = |reason| {
            let id = event.get("event_id").and_then(Value::as_str);
            Failure::new(reason)
                .number("seq", seq)
                .text("event_id", &id.unwrap_or_default())
        };
        if let Some(member) = wrong_member(event) {
            return Err(of(Reason::EventSchemaInvalid).text("member", member));
        }
        let text = |name: &str| {
            let value = event.get(name).and_then(Value::as_str);
            value.unwrap_or_default().into_owned()
        };
        if text("volt_version") != self.facts.volt_version || self.facts.volt_version != VERSION {
            return Err(of(Reason::VersionMismatch).text("found", &text("volt_version")));
        }
        let computed = canonical::canonicalize(event, |pointer| pointer != "/hash")
            .map(|text| digest(text.as_bytes()).to_hex())
            .map_err(|fault| of(Reason::EventSchemaInvalid).text("detail", &fault.to_string()))?;
        let found = text("hash");
        if computed != found {
            return Err(of(Reason::EventHashMismatch)
                .text("expected_hash", &computed)
                .text("found_hash", &found));
        }
        let previous = text("prev_hash");
        if previous != self.last {
            let reason = if self.count == 0 {
                Reason::InvalidGenesisPrevHash
            } else {
                Reason::ChainBroken
            };
            return Err(of(reason)
                .text("prev_hash_expected", &self.last)
                .text("prev_hash_found", &previous));
        }
        if text("run_id") != self.facts.run_id {
            return Err(of(Reason::RunIdMismatch).text("found", &text("run_id")));
        }
        if !self.ids.insert(text("event_id")) {
            return Err(of(Reason::EventSchemaInvalid).text("member", "event_id"));
        }
        let payload = event.get("payload");
        self.manifest_digest = payload
            .and_then(|payload| payload.get(DIGEST_MEMBER))
            .and_then(Value::as_str)
            .map(std::borrow::Cow::into_owned);
        let references = payload.and_then(|payload| payload.get("attachment_refs"));
        for reference in references.into_iter().flat_map(Value::items) {
            if let Some(hash) = reference.get("hash").and_then(Value::as_str) {
                self.references.push((hash.into_owned(), seq));
            }
        }
        if self.count == 0 {
            self.first.clone_from(&found);
        }
        (self.count, self.seq, self.last) = (self.count + 1, seq, found);
        Ok(())
    }

    /// Step 8, and our own digest of the manifest.
    fn end(&self, facts: &Facts, manifest: Value<'_>) -> Result<(), Failure> {
        let wrong = |member: &str, expected: &str, found: &str| {
            Err(Failure::new(Reason::ManifestMismatch)
                .text("member", member)
                .text("expected", expected)
                .text("found", found))
        };
        if facts.event_count != self.count {
            return wrong(
                "event_count",
                &self.count.to_string(),
                &facts.event_count.to_string(),
            );
        }
        if facts.first != self.first {
            return wrong("first_event_hash", &self.first, &facts.first);
        }
        if facts.last != self.last {
            return wrong("last_event_hash", &self.last, &facts.last);
        }
        if let Some(expected) = &self.manifest_digest {
            let found = manifest_digest(manifest).unwrap_or_default();
            if *expected != found {
                return wrong(DIGEST_MEMBER, expected, &found);
            }
        }
        Ok(())
    }
}

/// Step 9.
fn attachments(
    bundle: &Bundle,
    manifest: Value<'_>,
    options: &Options<'_>,
    run: &Run<'_>,
    warnings: &mut Vec<String>,
) -> Result<bool, Failure> {
    if !options.attachments {
        if !run.references.is_empty() {
            warnings.push("attachments were not verified".into());
        }
        return Ok(false);
    }
    let mut known = HashSet::new();
    let listed = manifest.get("attachments");
    for attachment in listed.into_iter().flat_map(Value::items) {
        let text = |name: &str| {
            let value = attachment.get(name).and_then(Value::as_str);
            value.unwrap_or_default().into_owned()
        };
        let (hash, path) = (text("hash"), text("path"));
        if !is_hash(&hash) || !is_inside(&path) {
            return Err(Failure::new(Reason::ManifestSchemaInvalid).text("member", "attachments"));
        }
        let bytes = bundle.files.get(&path).ok_or_else(|| {
            Failure::new(Reason::AttachmentMissing)
                .text("path", &path)
                .text("hash", &hash)
        })?;
        let found = digest(bytes).to_hex();
        let length = attachment.get("bytes").and_then(Value::as_i64);
        if found != hash || length.is_some_and(|length| usize::try_from(length) != Ok(bytes.len()))
        {
            return Err(Failure::new(Reason::AttachmentHashMismatch)
                .text("path", &path)
                .text("expected_hash", &hash)
                .text("found_hash", &found));
        }
        known.insert(hash);
    }
    for (hash, seq) in &run.references {
        if !known.contains(hash) {
            return Err(Failure::new(Reason::AttachmentMissing)
                .number("seq", *seq)
                .text("hash", hash));
        }
    }
    Ok(true)
}
