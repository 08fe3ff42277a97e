//! The origin inside a translation: which envelope it is, and what of it the new fields do not say.
//!
//! It is carried as canonical text, less the one part that the translation holds in a field of its own.
//! A mark is believed only when translating the origin that it names gives the very envelope it stands
//! in: nobody can put words into another's mouth by editing either of them.

use super::write::{Object, quoted};
use crate::canonical::{canonicalize, canonicalize_where};
use crate::json::{self, Kind, Value};
use crate::{DialectName, Digest, Fault, Header};

/// The member that holds the mark in AEE and AEP.
pub const MEMBER: &str = "interwire_translation";
/// The extension record that holds it in UAI-1.
pub const EXTENSION: &str = "urn:interwire:ext:translation";

/// The origin of a translation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// Its dialect.
    pub dialect: DialectName,
    /// Its id.
    pub id: String,
    /// SHA-256 of its canonical text, in keyed form.
    pub hash: Digest,
    /// Its canonical text.
    pub text: String,
}

/// The mark that goes into a translation of `doc`.
pub(super) struct Mark<'d> {
    pub(super) doc: Value<'d>,
    pub(super) header: &'d Header,
    pub(super) hash: Digest,
}

impl Mark<'_> {
    /// Its JSON, for a translation that holds the part of the origin at the pointer `from` at the
    /// pointer `to`. `payload`: a part for which the target has no field.
    pub(super) fn write(
        &self,
        hole: Option<(&str, &str)>,
        payload: Option<&str>,
        has_one_recipient: bool,
    ) -> Result<String, Fault> {
        let from = hole.map(|(from, _)| from);
        let rest = canonicalize_where(self.doc, |pointer, _| Some(pointer) != from)?;
        let mut mark = Object::new()
            .text("dialect", self.header.dialect.as_str())
            .text("id", &self.header.id)
            .text("hash", &format!("sha256:{}", self.hash.to_hex()))
            .text("envelope", &rest);
        if let Some((from, to)) = hole {
            mark = mark.text("from", from).text("to", to);
        }
        if has_one_recipient && self.header.recipients.len() > 1 {
            let list: Vec<_> = self
                .header
                .recipients
                .iter()
                .map(|one| quoted(one.as_str()))
                .collect();
            mark = mark.raw("recipients", &format!("[{}]", list.join(",")));
        }
        if let Some(payload) = payload {
            mark = mark.raw("payload", payload);
        }
        Ok(mark.close())
    }
}

/// The mark in an envelope of `dialect`.
fn find(doc: Value<'_>, dialect: DialectName) -> Option<Value<'_>> {
    match dialect {
        DialectName::Aee | DialectName::Aep => doc.get(MEMBER),
        DialectName::Uai => {
            let mut records = doc.get("extensions").into_iter().flat_map(Value::items);
            let is_it = |record: &Value<'_>| {
                record
                    .get("namespace")
                    .is_some_and(|name| name.as_str().as_deref() == Some(EXTENSION))
            };
            records.find(is_it).and_then(|record| record.get("payload"))
        }
    }
}

/// Puts the origin together again. It is what the mark says, and not yet believed.
pub(super) fn claimed(doc: Value<'_>, dialect: DialectName) -> Option<Origin> {
    let mark = find(doc, dialect)?;
    let text = |name: &str| mark.get(name)?.as_str();
    let rest = text("envelope")?;
    let origin = DialectName::parse(&text("dialect")?).filter(|origin| *origin != dialect)?;
    let rest = json::read(rest.as_bytes(), super::LIMITS).ok()?;
    let whole = match (text("from"), text("to")) {
        (Some(from), Some(to)) => with(rest.root(), from.strip_prefix('/')?, doc.at(&to)?.raw())?,
        (None, None) => rest.text().to_owned(),
        (Some(_), None) | (None, Some(_)) => return None,
    };
    let whole = json::read(whole.as_bytes(), super::LIMITS).ok()?;
    let canonical = canonicalize(whole.root(), &[]).ok()?;
    let hash = super::canonical_hash(whole.root()).ok()?;
    if text("hash")? != format!("sha256:{}", hash.to_hex()) {
        return None;
    }
    Some(Origin {
        dialect: origin,
        id: text("id")?.into_owned(),
        hash,
        text: canonical,
    })
}

/// The object `value` with `json` at the path `name` or `name/name`, which it has not.
fn with(value: Value<'_>, path: &str, json: &str) -> Option<String> {
    let (name, below) = match path.split_once('/') {
        Some((name, below)) => (name, Some(below)),
        None => (path, None),
    };
    if value.kind() != Kind::Object || below.is_some_and(|below| below.contains('/')) {
        return None;
    }
    let mut out = Object::new();
    for (key, member) in value.members() {
        let key = key.text();
        match below {
            Some(below) if key == name => out = out.raw(&key, &with(member, below, json)?),
            None if key == name => return None,
            Some(_) | None => out = out.raw(&key, member.raw()),
        }
    }
    if below.is_none() {
        out = out.raw(name, json);
    }
    Some(out.close())
}
