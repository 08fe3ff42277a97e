//! `/uaix/v1`: the public reference surface of UAI-1 (UAI 7, `docs/uai.md`).
//!
//! What is answered is made in `protocol::dialect::uai::reference`. Here are the paths, the media types and
//! the shape in which this surface refuses (UAI 6.1). Nothing that is sent here is stored or delivered.

use super::body::{Media, read_whole};
use super::call::{Answer, Call, json, typed};
use super::problem::{MEDIA_TYPE, retry_after, status};
use super::routes::ROUTES;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Response, StatusCode, header};
use protocol::dialect::uai::reference::{self, Ask, Form};
use protocol::json::push_string;
use protocol::{Code, Fault, Rejection, Timestamp};
use std::fmt::Write as _;
use std::sync::OnceLock;

/// Where the surface is.
pub(crate) const BASE: &str = "/uaix/v1";

/// What comes before [`BASE`] where the reference site has it; served with `uai_wp_json`.
pub(crate) const ALIAS: &str = "/wp-json";

/// Bytes of one question (UAI 7).
const BODY_BYTES_MAX: usize = 256 << 10;

/// The media type of a message, for those who ask for it.
const UAI_JSON: &str = "application/uai+json";

pub(crate) async fn catalog(call: Call) -> Answer {
    let base = base(&call);
    let mut out = String::from("{\"name\":\"Interwire\",\"uai_version\":\"1.0\",\"links\":{");
    for route in ROUTES {
        let Some(below) = route.path.strip_prefix(BASE) else {
            continue;
        };
        if !out.ends_with('{') {
            out.push(',');
        }
        let name = below.split('/').nth(1).unwrap_or_default();
        let _ = write!(out, "\"{name}\":\"{base}{below}\"");
    }
    out.push_str(
        "},\"note\":\"A reference surface of an independent exchange: its own schemas, examples and \
         registries, no certification, not run by UAIX.\"}",
    );
    document(&call, out)
}

pub(crate) async fn discovery(call: Call) -> Answer {
    let base = base(&call);
    let mut out = String::from("{\"routes\":[");
    for route in ROUTES {
        let Some(below) = route.path.strip_prefix(BASE) else {
            continue;
        };
        if !out.ends_with('[') {
            out.push(',');
        }
        let verb = route.verb.as_str();
        let _ = write!(
            out,
            "{{\"method\":\"{verb}\",\"path\":\"{base}{below}\",\"summary\":"
        );
        push_string(&mut out, route.summary);
        out.push('}');
    }
    out.push_str("]}");
    document(&call, out)
}

pub(crate) async fn schema(call: Call) -> Answer {
    let found = reference::schema(call.param("profile"));
    let schema = found.ok_or_else(|| no_profile(&call))?;
    call.no_query()?;
    Ok(typed(StatusCode::OK, "application/schema+json", schema))
}

pub(crate) async fn example(call: Call) -> Answer {
    let found = reference::example(call.param("profile"));
    let example = found.ok_or_else(|| no_profile(&call))?;
    document(&call, example)
}

pub(crate) async fn registry(call: Call) -> Answer {
    let text = reference::registry(base(&call));
    document(&call, text)
}

pub(crate) async fn field_registry(call: Call) -> Answer {
    document(&call, reference::field_registry())
}

pub(crate) async fn trust_channels(call: Call) -> Answer {
    document(&call, reference::trust_channels())
}

pub(crate) async fn error_registry(call: Call) -> Answer {
    document(&call, reference::error_registry())
}

pub(crate) async fn conformance_levels(call: Call) -> Answer {
    document(&call, reference::conformance_levels())
}

pub(crate) async fn transport_bindings(call: Call) -> Answer {
    document(&call, include_str!("transport_bindings.json").into())
}

pub(crate) async fn openapi(call: Call) -> Answer {
    super::openapi::openapi(call).await
}

pub(crate) async fn conformance_pack(call: Call) -> Answer {
    static PACK: OnceLock<String> = OnceLock::new();
    let pack = match PACK.get() {
        Some(pack) => pack,
        None => {
            let pack = reference::conformance_pack()?;
            PACK.get_or_init(|| pack)
        }
    };
    document(&call, pack.clone())
}

/// The verdict; what cannot be read as a question is refused.
pub(crate) async fn validate(call: Call) -> Answer {
    let ask = read_ask(&call)?;
    let (rules, is_uai) = (call.door.handle.rules(), wants_uai(&call.parts.headers));
    let text = read_body(call).await?;
    let verdict = reference::judge(&text, ask, &rules)?;
    Ok(answered(is_uai, verdict.write()))
}

/// The reply that would come, or everything that is wrong with the message.
pub(crate) async fn mock_exchange(call: Call) -> Answer {
    let ask = read_ask(&call)?;
    let (rules, is_uai) = (call.door.handle.rules(), wants_uai(&call.parts.headers));
    let text = read_body(call).await?;
    Ok(answered(
        is_uai,
        reference::mock_exchange(&text, ask, &rules)?,
    ))
}

/// A question about a bare message says in the query what a wrapper says in its members.
fn read_ask(call: &Call) -> Result<Ask, Rejection> {
    let mut query = call.query()?;
    let form = |word: &str| match word {
        "auto" => Some(None),
        word => Form::parse(word).map(Some),
    };
    let flag = |word: &str| match word {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    };
    let now = |text: &str| Timestamp::parse_rfc3339(text).map(|(now, _)| now);
    let ask = Ask {
        is_strict: query.word("strict", flag, "true or false")?,
        form: query
            .word("mode", form, "auto, keyed, minified-keyed or keyless")?
            .flatten(),
        profile: query.take("expected_profile")?.map(Into::into),
        now: query.word("now", now, "a time of RFC 3339")?,
    };
    query.finish()?;
    Ok(ask)
}

async fn read_body(call: Call) -> Result<axum::body::Bytes, Rejection> {
    Media::json(&call.parts.headers)?;
    let max = BODY_BYTES_MAX.min(call.door.envelope_bytes_max());
    let wait = call.door.settings.body_wait();
    read_whole(call.body, max, wait).await
}

/// The base under which the caller found the surface, for links that lead there again.
fn base(call: &Call) -> &'static str {
    let is_alias = call.parts.uri.path().starts_with(ALIAS);
    if is_alias { "/wp-json/uaix/v1" } else { BASE }
}

/// A document that is the same for everybody.
fn document(call: &Call, text: String) -> Answer {
    call.no_query()?;
    let media = match wants_uai(&call.parts.headers) {
        true => UAI_JSON,
        false => "application/json",
    };
    Ok(varied(typed(StatusCode::OK, media, text)))
}

/// An answer to one question, that no cache may keep.
fn answered(is_uai: bool, text: String) -> Response<Body> {
    let mut response = json(StatusCode::OK, text);
    if is_uai {
        let media = HeaderValue::from_static(UAI_JSON);
        response.headers_mut().insert(header::CONTENT_TYPE, media);
    }
    varied(response)
}

fn varied(mut response: Response<Body>) -> Response<Body> {
    let value = HeaderValue::from_static("accept");
    response.headers_mut().insert(header::VARY, value);
    response
}

/// Whether the caller asks for the media type of messages.
fn wants_uai(headers: &HeaderMap) -> bool {
    let accepted = headers.get_all(header::ACCEPT).iter();
    accepted
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .filter_map(|part| part.split(';').next())
        .any(|media| media.trim().eq_ignore_ascii_case(UAI_JSON))
}

fn no_profile(call: &Call) -> Rejection {
    let profile: String = call.param("profile").chars().take(128).collect();
    let detail = format!("expected a profile of {BASE}/registry, got {profile:?}");
    Fault::new(Code::NotFound, "", "UAI 7", detail).into()
}

/// Whether a path is of this surface.
pub(crate) fn is_below(path: &str) -> bool {
    let path = path.strip_prefix(ALIAS).unwrap_or(path);
    path.strip_prefix(BASE)
        .is_some_and(|below| below.is_empty() || below.starts_with('/'))
}

/// The problem document of this surface (UAI 6.1): `type` is `urn:uai:error:<code>`, `instance` the
/// path, and each of `errors` is `{code, path, detail}`.
pub(crate) fn refusal(rejection: &Rejection, path: &str) -> Response<Body> {
    let first = rejection.first();
    let code = word(first.code);
    let status = status(rejection);
    let mut text = format!("{{\"type\":\"urn:uai:error:{code}\",\"title\":");
    push_string(&mut text, first.code.title());
    let _ = write!(text, ",\"status\":{},\"detail\":", status.as_u16());
    push_string(&mut text, &first.detail);
    text.push_str(",\"instance\":");
    push_string(&mut text, path);
    let _ = write!(text, ",\"code\":\"{code}\",\"errors\":[");
    for (at, fault) in rejection.all().enumerate() {
        if at > 0 {
            text.push(',');
        }
        let _ = write!(text, "{{\"code\":\"{}\",\"path\":", word(fault.code));
        push_string(&mut text, &fault.pointer);
        text.push_str(",\"detail\":");
        push_string(&mut text, &fault.detail);
        text.push('}');
    }
    text.push_str("]}");
    let mut response = typed(status, MEDIA_TYPE, text);
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(seconds) = retry_after(rejection) {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// The word of UAI 6.1 where ours is another.
fn word(code: Code) -> &'static str {
    match code {
        Code::TooLarge => "payload_too_large",
        other => other.as_str(),
    }
}
