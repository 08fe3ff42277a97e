//! One envelope in another dialect's words, and back.
//!
//! [`translate`] is a function of the envelope's canonical text alone: no clock, no chance, so that two
//! renderings are equal and whoever has seen one knows it again. What the target has a field for lands
//! in that field: id, sender, recipients, times, urgency, deadline, conversation, correlation, cause,
//! topic, task and its state. What it has no field for is carried in one member (AEE, AEP) or extension
//! record (UAI-1), the [mark](MEMBER), which names the origin by dialect, id and canonical hash.
//!
//! **Lossless**: translating back gives the origin again, equal in its canonical form (RFC 8785). A
//! translation of a translation is the translation of the origin. **Not a forgery**: a signature of the
//! origin is never the translation's own; it is only in the carried text. **Bounded**: a translation has
//! at most four times the bytes of the origin's canonical text and 8 KiB more.
//!
//! Where a dialect has no word for what is said, the translation is refused and says so:
//! [`words::ROWS`]. Ids that do not fit the target's grammar are spelled in a form that does, and
//! [`crate::decode`] turns references to them back, so a reply in the reader's dialect finds what it
//! answers.

mod aee;
mod aep;
mod codes;
mod mark;
mod names;
pub mod page;
mod source;
mod uai;
pub mod words;
mod write;

pub use mark::{EXTENSION, MEMBER, Origin};
pub(crate) use names::resolve;

use crate::dialect::uai::keyless;
use crate::json::{self, Kind, Limits, Value};
use crate::{
    Act, Code, DialectName, Digest, Fault, Header, Intake, Mode, Rules, Timestamp, canonical,
    decode_value,
};
use mark::Mark;
use source::{Part, Piece, Source};
use words::Word;

const RULE: &str = "ARCHITECTURE translation";
/// What was accepted is translated, whatever the limits of a later reader are.
const DEPTH_MAX: usize = 256;
const LIMITS: Limits = Limits {
    bytes_max: usize::MAX,
    depth_max: DEPTH_MAX,
};

/// Reads what was valid once: nothing has expired, no size is too large.
fn rules() -> Rules {
    Rules {
        now: Timestamp::from_millis(i64::MIN),
        mode: Mode::Lenient,
        aep_accept_0_1: true,
        envelope_bytes_max: usize::MAX,
        depth_max: DEPTH_MAX,
        recipients_max: usize::MAX,
        ..Rules::at(Timestamp::from_millis(i64::MIN))
    }
}

/// The envelope in the words of `to`. An envelope of that dialect is given back as it is; a translation
/// from that dialect gives its origin in canonical form.
///
/// # Errors
/// `not_translatable` when the dialect has no word for what is said; `log_tier_only` for an AEE record
/// that goes to nobody; `timestamp_malformed` for one that does not say when; `number_not_interoperable`
/// for one without a canonical form; the faults of reading it.
pub fn translate(envelope: &[u8], to: DialectName) -> Result<String, Fault> {
    let document = json::read(envelope, LIMITS)?;
    let (header, keyed) = read(document.root())?;
    if header.dialect == to {
        return Ok(document.text().to_owned());
    }
    if let Some(origin) = believed(document.root(), &header) {
        if origin.dialect == to {
            return Ok(origin.text);
        }
        let document = json::read(origin.text.as_bytes(), LIMITS)?;
        let (header, keyed) = read(document.root())?;
        return render(document.root(), keyed.as_deref(), &header, to);
    }
    render(document.root(), keyed.as_deref(), &header, to)
}

/// What an envelope is a translation of; `None` for one that is none, or says so wrongly.
#[must_use]
pub fn origin(envelope: &[u8]) -> Option<Origin> {
    let document = json::read(envelope, LIMITS).ok()?;
    let (header, _) = read(document.root()).ok()?;
    believed(document.root(), &header)
}

/// The header, and the keyed text of a keyless envelope.
fn read(doc: Value<'_>) -> Result<(Header, Option<String>), Fault> {
    let rules = rules();
    if doc.kind() == Kind::Array && keyless::is_keyless(doc) {
        let keyed = keyless::to_keyed(doc).map_err(first)?;
        let document = json::read(keyed.as_bytes(), LIMITS)?;
        let header = header(document.root(), &rules)?;
        return Ok((header, Some(keyed)));
    }
    Ok((header(doc, &rules)?, None))
}

fn header(doc: Value<'_>, rules: &Rules) -> Result<Header, Fault> {
    let reading = decode_value(doc, rules);
    reading.header.ok_or_else(|| first(reading.faults))
}

fn first(faults: Vec<Fault>) -> Fault {
    let none = || {
        Fault::new(
            Code::InternalError,
            "",
            RULE,
            "expected a reason for a refusal, got none",
        )
    };
    faults.into_iter().next().unwrap_or_else(none)
}

fn believed(doc: Value<'_>, header: &Header) -> Option<Origin> {
    let origin = mark::claimed(doc, header.dialect)?;
    let document = json::read(origin.text.as_bytes(), LIMITS).ok()?;
    let (of_origin, keyed) = read(document.root()).ok()?;
    if of_origin.dialect != origin.dialect || *of_origin.id != *origin.id {
        return None;
    }
    let again = render(
        document.root(),
        keyed.as_deref(),
        &of_origin,
        header.dialect,
    )
    .ok()?;
    let again = json::read(again.as_bytes(), LIMITS).ok()?;
    let is_it = canonical::canonicalize(again.root(), &[]).ok()?
        == canonical::canonicalize(doc, &[]).ok()?;
    is_it.then_some(origin)
}

/// The canonical hash of an envelope: of its keyed form.
///
/// # Errors
/// `number_not_interoperable`, also for a number like `1e17`: its canonical text is an integer that not
/// every reader takes.
fn canonical_hash(doc: Value<'_>) -> Result<Digest, Fault> {
    let hash = |doc| {
        let text = canonical::canonicalize(doc, &[])?;
        canonical::canonicalize(json::read(text.as_bytes(), LIMITS)?.root(), &[])?;
        Ok(crate::digest(text.as_bytes()))
    };
    if doc.kind() != Kind::Array {
        return hash(doc);
    }
    let keyed = keyless::to_keyed(doc).map_err(first)?;
    hash(json::read(keyed.as_bytes(), LIMITS)?.root())
}

fn render(
    doc: Value<'_>,
    keyed: Option<&str>,
    header: &Header,
    to: DialectName,
) -> Result<String, Fault> {
    if header.intake == Intake::Log {
        let detail = "expected an envelope that can be delivered, got a record of the log intake";
        return Err(Fault::new(Code::LogTierOnly, "", "AEE 2.3", detail));
    }
    let act = source::act(header);
    let word = match words::word(act, to) {
        Word::Exact(word) | Word::Near(word, _) => word,
        Word::Missing(why) => return Err(refusal(act, to, why)),
    };
    let mark = Mark {
        doc,
        header,
        hash: canonical_hash(doc)?,
    };
    let keyed_document = match keyed {
        Some(text) => Some(json::read(text.as_bytes(), LIMITS)?),
        None => None,
    };
    let root = keyed_document.as_ref().map_or(doc, json::Document::root);
    let source = Source::of(root, header, keyed.is_none())?;
    match to {
        DialectName::Aee => aee::write(&source, word, &mark),
        DialectName::Aep => aep::write(&source, word, &mark),
        DialectName::Uai => uai::write(&source, word, &mark),
    }
}

fn refusal(act: Act, to: DialectName, why: &str) -> Fault {
    let detail = match act {
        Act::Control | Act::Resume => {
            format!(
                "expected something that {} can say, got {}: it {why}",
                to.as_str(),
                act.as_str()
            )
        }
        _ => format!(
            "expected something that {0} can say, got {1}: {0} {why}",
            to.as_str(),
            act.as_str()
        ),
    };
    Fault::new(Code::NotTranslatable, "", RULE, detail)
}

/// The deepest content that is written into another envelope's fields: with what stands around it, it
/// stays readable everywhere.
const CONTENT_DEPTH_MAX: usize = 48;

/// The content of the origin that the act is about, as JSON; or as text in `{"json": ...}`, when the
/// target would not take it.
fn embedded(source: &Source<'_>, is_taken: fn(&str) -> bool) -> Result<Piece, Fault> {
    let part = match source.act {
        Act::Request | Act::Query => Part::Input,
        Act::Complete | Act::Output | Act::Answer => Part::Result,
        _ => Part::Whole,
    };
    let piece = source.piece(part)?;
    let limits = Limits {
        depth_max: CONTENT_DEPTH_MAX,
        ..LIMITS
    };
    if json::read(piece.json.as_bytes(), limits).is_ok() && is_taken(&piece.json) {
        return Ok(piece);
    }
    let json = write::Object::new().text("json", &piece.json).close();
    Ok(Piece {
        json,
        from: None,
        is_object: true,
    })
}
