//! Reading an event that somebody sent, and comparing it with the envelope in it.

use super::attributes::{decode_percent, kind, source};
use super::{RULE, SPEC_VERSION};
use crate::json::{Kind, Value};
use crate::{Code, Fault, Header, Party, Rejection, Timestamp, base64};
use std::ops::Range;

/// The attributes that are compared with the envelope.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Event {
    id: String,
    source: String,
    kind: String,
    dialect: Option<String>,
}

/// Where the envelope is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Data {
    /// In the text of the event.
    Inside(Range<usize>),
    /// It stood there as base64.
    Decoded(Vec<u8>),
}

impl Data {
    /// The member that holds it, as a pointer.
    #[must_use]
    pub fn pointer(&self) -> &'static str {
        match self {
            Self::Inside(_) => "/data",
            Self::Decoded(_) => "/data_base64",
        }
    }
}

/// Reads the JSON form. Pointers are into the event.
///
/// # Errors
/// `bad_request` for every attribute that is not what CloudEvents 1.0 asks for, and when there is no
/// data or two of them; `unsupported_media_type` at `/datacontenttype`.
pub fn structured(value: Value<'_>) -> Result<(Event, Data), Rejection> {
    let mut faults = Vec::new();
    if value.kind() != Kind::Object {
        let detail = format!(
            "expected an event as an object, got {}",
            value.kind().as_str()
        );
        return Err(fault("", detail).into());
    }
    let mut found = Vec::new();
    for (key, member) in value.members() {
        let name = key.text();
        if matches!(&*name, "data" | "data_base64") {
            continue;
        }
        check_name(&name, &mut faults);
        match member.kind() {
            Kind::String | Kind::Bool | Kind::Number => {
                let is_whole = member.kind() != Kind::Number
                    || member.as_i64().is_some_and(|n| i32::try_from(n).is_ok());
                if is_whole {
                    let text = member.as_str().unwrap_or_else(|| member.raw().into());
                    found.push((name.into_owned(), text.into_owned()));
                } else {
                    let detail = format!(
                        "expected a whole number of 32 bits in `{name}`, got {}",
                        member.raw().chars().take(32).collect::<String>()
                    );
                    faults.push(at(&name, detail));
                }
            }
            // An unset attribute.
            Kind::Null => {}
            Kind::Array | Kind::Object => {
                let detail = format!(
                    "expected `{name}` to be a string, a number or a boolean, got {}",
                    member.kind().as_str()
                );
                faults.push(at(&name, detail));
            }
        }
    }
    let event = read(&found, &mut faults);
    let data = data(value, &mut faults);
    match (Rejection::from_faults(faults), data) {
        (Some(refused), _) => Err(refused),
        (None, Some(data)) => Ok((event, data)),
        (None, None) => Err(fault("/data", "expected `data`, got nothing".into()).into()),
    }
}

/// Reads the attributes that headers carried, already decoded; `content_type` is the media type of
/// the data.
///
/// # Errors
/// As [`structured`].
pub fn binary(mut found: Vec<(String, String)>, content_type: &str) -> Result<Event, Rejection> {
    let mut faults = Vec::new();
    for (name, _) in &found {
        check_name(name, &mut faults);
    }
    found.retain(|(name, _)| name != "datacontenttype");
    if !content_type.is_empty() {
        found.push(("datacontenttype".into(), content_type.into()));
    }
    let event = read(&found, &mut faults);
    Rejection::from_faults(faults).map_or(Ok(event), Err)
}

fn read(found: &[(String, String)], faults: &mut Vec<Fault>) -> Event {
    let get = |name: &str| {
        let found = found.iter().find(|(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    };
    match get("specversion") {
        Some(SPEC_VERSION) => {}
        got => {
            let got = got.map_or("nothing".into(), |got| format!("{got:?}"));
            let detail = format!("expected `specversion` to be \"1.0\", got {got}");
            faults.push(at("specversion", detail));
        }
    }
    let mut required = |name: &str| match get(name) {
        Some(text) if !text.is_empty() => text.to_owned(),
        got => {
            let got = got.map_or("nothing", |_| "an empty text");
            faults.push(at(
                name,
                format!("expected `{name}` to be a text, got {got}"),
            ));
            String::new()
        }
    };
    let event = Event {
        id: required("id"),
        source: required("source"),
        kind: required("type"),
        dialect: get("interwiredialect").map(str::to_owned),
    };
    if let Some(time) = get("time")
        && Timestamp::parse_rfc3339(time).is_none()
    {
        let detail = format!("expected `time` to be an RFC 3339 time, got {time:?}");
        faults.push(at("time", detail));
    }
    if let Some(media) = get("datacontenttype")
        && !is_json(media)
    {
        let detail = format!("expected `datacontenttype` to be application/json, got {media:?}");
        let code = Code::UnsupportedMediaType;
        faults.push(Fault::new(code, "/datacontenttype", RULE, detail));
    }
    event
}

fn is_json(media: &str) -> bool {
    let essence = media.split(';').next().unwrap_or_default().trim();
    let essence = essence.to_ascii_lowercase();
    matches!(&*essence, "application/json" | "text/json") || essence.ends_with("+json")
}

fn data(value: Value<'_>, faults: &mut Vec<Fault>) -> Option<Data> {
    let plain = value.get("data").filter(|data| !data.is_null());
    let encoded = value.get("data_base64").filter(|data| !data.is_null());
    match (plain, encoded) {
        (Some(data), None) => Some(Data::Inside(data.range())),
        (None, Some(text)) => {
            let bytes = text.as_str().and_then(|text| base64::decode(&text));
            if bytes.is_none() {
                let detail = "expected `data_base64` to be a string in base64 with padding";
                faults.push(at("data_base64", detail.into()));
            }
            bytes.map(Data::Decoded)
        }
        (Some(_), Some(_)) => {
            let detail = "expected either `data` or `data_base64`, got both";
            faults.push(at("data_base64", detail.into()));
            None
        }
        (None, None) => {
            faults.push(at(
                "data",
                "expected `data` or `data_base64`, got neither".into(),
            ));
            None
        }
    }
}

/// Compares an event with the envelope in it.
///
/// # Errors
/// `bad_request` at each attribute that names another message than the envelope does.
pub fn agrees(event: &Event, header: &Header) -> Result<(), Rejection> {
    let mut faults = Vec::new();
    let mut differs = |name, wanted: &str, got: &str| {
        let detail =
            format!("expected `{name}` to be {wanted:?} as the envelope says, got {got:?}");
        faults.push(at(name, detail));
    };
    if *event.id != *header.id {
        differs("id", &header.id, &event.id);
    }
    let named = decode_percent(event.source.as_bytes());
    let named = Party::parse(named.as_deref().unwrap_or(&event.source));
    if named != header.sender {
        differs("source", &source(&header.sender), &event.source);
    }
    let wanted = kind(header.dialect, &header.kind);
    if event.kind != wanted && *event.kind != *header.kind {
        differs("type", &wanted, &event.kind);
    }
    if let Some(dialect) = &event.dialect
        && dialect != header.dialect.as_str()
    {
        differs("interwiredialect", header.dialect.as_str(), dialect);
    }
    Rejection::from_faults(faults).map_or(Ok(()), Err)
}

fn check_name(name: &str, faults: &mut Vec<Fault>) {
    let is_good = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit());
    if !is_good {
        let detail = format!("expected names of lower-case letters and digits, got {name:?}");
        faults.push(at(name, detail));
    }
}

fn at(name: &str, detail: String) -> Fault {
    let mut pointer = String::from("/");
    crate::json::push_escaped(&mut pointer, name);
    Fault::new(Code::BadRequest, pointer, RULE, detail)
}

fn fault(pointer: &str, detail: String) -> Fault {
    Fault::new(Code::BadRequest, pointer, RULE, detail)
}
