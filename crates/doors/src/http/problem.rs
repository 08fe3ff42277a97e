//! Refusals as problem documents (RFC 9457), the one form in which this door says no.
//!
//! Handlers return a [`Rejection`]; the runner of routes turns it into a response here, so that the
//! request's id is always in it. The same members, without `instance`, travel inside frames and
//! result lines.

use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use protocol::json::push_string;
use protocol::verdict::write_fault;
use protocol::{Code, Fault, Rejection};
use std::borrow::Cow;
use std::fmt::Write as _;

/// The media type of problem documents.
pub(crate) const MEDIA_TYPE: &str = "application/problem+json";

/// The response that says `rejection`, with the request's id as `instance`.
pub(crate) fn response(rejection: &Rejection, request_id: &str) -> Response<Body> {
    let mut text = String::with_capacity(512);
    write(&mut text, rejection, "", Some(request_id));
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status(rejection);
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(MEDIA_TYPE));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    if let Some(seconds) = retry_after(rejection) {
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

/// Appends the problem document of `rejection`. `prefix` is put before every pointer: it says where
/// in the sent document the refused part stands.
pub(crate) fn write(out: &mut String, rejection: &Rejection, prefix: &str, instance: Option<&str>) {
    let status = rejection.code().class().http_status();
    write_as(out, rejection, prefix, instance, status, "errors");
}

/// As [`write`], where a door has a status of its own for it, or means something else by `errors`.
pub(crate) fn write_as(
    out: &mut String,
    rejection: &Rejection,
    prefix: &str,
    instance: Option<&str>,
    status: u16,
    list: &str,
) {
    let first = rejection.first();
    let code = first.code;
    let _ = write!(out, "{{\"type\":\"urn:interwire:fault:{code}\",\"title\":");
    push_string(out, code.title());
    let _ = write!(out, ",\"status\":{status},\"detail\":");
    push_string(out, &first.detail);
    if let Some(instance) = instance {
        out.push_str(",\"instance\":");
        push_string(out, instance);
    }
    let _ = write!(out, ",\"code\":\"{code}\",\"pointer\":");
    push_string(out, &at(prefix, &first.pointer));
    out.push_str(",\"rule\":");
    push_string(out, first.rule);
    let _ = write!(out, ",\"retryable\":{}", code.class().is_retryable());
    if let Some(ms) = rejection.retry_after_ms() {
        let _ = write!(out, ",\"retry_after_ms\":{ms}");
    }
    if let Some((earliest, head)) = rejection.kept() {
        let _ = write!(out, ",\"earliest\":\"{earliest}\",\"head\":\"{head}\"");
    }
    let _ = write!(out, ",\"{list}\":[");
    for (place, fault) in rejection.all().enumerate() {
        if place > 0 {
            out.push(',');
        }
        if prefix.is_empty() {
            write_fault(out, fault);
        } else {
            write_fault(
                out,
                &Fault {
                    pointer: at(prefix, &fault.pointer).into_owned(),
                    ..fault.clone()
                },
            );
        }
    }
    out.push_str("]}");
}

/// The status that goes with a rejection.
pub(crate) fn status(rejection: &Rejection) -> StatusCode {
    StatusCode::from_u16(rejection.code().class().http_status())
        .unwrap_or(StatusCode::INTERNAL_SERVER_ERROR)
}

/// A refusal of the request itself: a parameter, a header or a body that cannot be read.
pub(crate) fn bad_request(pointer: &str, detail: impl Into<String>) -> Rejection {
    Fault::new(Code::BadRequest, pointer, "OPENAPI", detail).into()
}

/// Whole seconds after which a retry makes sense, as the header says it.
pub(crate) fn retry_after(rejection: &Rejection) -> Option<u64> {
    Some(rejection.retry_after_ms()?.div_ceil(1_000).max(1))
}

fn at<'p>(prefix: &str, pointer: &'p str) -> Cow<'p, str> {
    if prefix.is_empty() {
        Cow::Borrowed(pointer)
    } else {
        Cow::Owned(format!("{prefix}{pointer}"))
    }
}

#[cfg(test)]
mod tests {
    use super::{response, write};
    use protocol::{Code, Fault, Rejection};

    fn two_faults() -> Rejection {
        Rejection::from_faults(vec![
            Fault::new(
                Code::MissingField,
                "/to",
                "AEE 1",
                "expected `to`, got none",
            ),
            Fault::new(
                Code::TypeMismatch,
                "/ts",
                "AEE 1.3",
                "expected a string, got 1",
            ),
        ])
        .expect("there are faults")
    }

    #[test]
    fn a_document_lists_every_fault_and_leads_with_the_first() {
        let mut text = String::new();
        write(&mut text, &two_faults(), "/3", Some("r-1"));
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["type"], "urn:interwire:fault:missing_field");
        assert_eq!(value["status"], 422);
        assert_eq!(value["instance"], "r-1");
        assert_eq!(value["pointer"], "/3/to");
        assert_eq!(value["retryable"], false);
        assert_eq!(value["errors"][1]["pointer"], "/3/ts");
        assert_eq!(value["errors"][1]["rule"], "AEE 1.3");
    }

    #[test]
    fn where_reading_is_possible_is_told_to_programs() {
        let refused: Rejection = Fault::new(Code::CursorExpired, "", "", "").into();
        let mut text = String::new();
        write(&mut text, &refused.between("a-1-3", "a-1-9"), "", None);
        let value: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!(value["earliest"], "a-1-3");
        assert_eq!(value["head"], "a-1-9");
    }

    #[test]
    fn a_hint_in_milliseconds_is_rounded_up_to_the_header() {
        let refused: Rejection = Fault::new(Code::Draining, "", "", "").into();
        let response = response(&refused.retry_after(1_001), "r");
        assert_eq!(response.headers()["retry-after"], "2");
    }

    #[test]
    fn what_may_be_retried_says_when() {
        for code in Code::ALL {
            let rejection = Fault::new(*code, "", "", "").into();
            let mut text = String::new();
            write(&mut text, &rejection, "", None);
            assert_eq!(text.contains("retry_after_ms"), code.class().is_retryable());
            let response = response(&rejection, "r");
            assert_eq!(
                response.headers().contains_key("retry-after"),
                code.class().is_retryable()
            );
            assert_eq!(response.status().as_u16(), code.class().http_status());
        }
    }
}
