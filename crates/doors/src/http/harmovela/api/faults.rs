//! Refusals as the daemon's clients read them, with our faults beside.

use crate::http::problem;
use axum::body::Body;
use axum::http::{HeaderValue, Response, StatusCode, header};
use protocol::json::push_string;
use protocol::{Code, Rejection};

/// The paths of this API, without what comes after.
const BASES: [&str; 2] = ["/harmovela/api", "/aep/api"];

/// How a refusal is answered; the second argument is the request's id.
pub(crate) type Refuse = fn(&Rejection, &str) -> Response<Body>;

/// How refusals are answered below a path of this API; none elsewhere.
pub(crate) fn refusal_of(path: &str) -> Option<Refuse> {
    let below = BASES.iter().find_map(|base| path.strip_prefix(base))?;
    match below {
        "/events" => Some(refuse_event),
        "" => Some(refuse),
        _ if below.starts_with('/') => Some(refuse),
        _ => None,
    }
}

/// `{"error":"...", ...}`, the rest as in a problem document.
fn refuse(rejection: &Rejection, request_id: &str) -> Response<Body> {
    let mut text = String::from("{\"error\":");
    push_string(&mut text, word(rejection));
    let mut document = String::with_capacity(512);
    let status = status(rejection);
    let instance = Some(request_id);
    problem::write_as(
        &mut document,
        rejection,
        "",
        instance,
        status.as_u16(),
        "errors",
    );
    splice(&mut text, &document);
    response(rejection, status, text)
}

/// `{"accepted":false,"errors":["..."], ...}`; our faults are under `faults`.
fn refuse_event(rejection: &Rejection, request_id: &str) -> Response<Body> {
    let mut text = String::from("{\"accepted\":false,\"errors\":[");
    if is_unreadable(rejection) {
        text.push_str("\"invalid JSON body\"");
    } else {
        for (at, fault) in rejection.all().enumerate() {
            if at > 0 {
                text.push(',');
            }
            let line = if fault.pointer.is_empty() {
                fault.detail.clone()
            } else {
                format!("{}: {}", fault.pointer, fault.detail)
            };
            push_string(&mut text, &line);
        }
    }
    text.push_str("],\"error\":");
    push_string(&mut text, word(rejection));
    let mut document = String::with_capacity(512);
    let status = status(rejection);
    let instance = Some(request_id);
    problem::write_as(
        &mut document,
        rejection,
        "",
        instance,
        status.as_u16(),
        "faults",
    );
    splice(&mut text, &document);
    response(rejection, status, text)
}

/// Goes on with the members of an object.
fn splice(text: &mut String, document: &str) {
    text.push(',');
    text.push_str(document.strip_prefix('{').unwrap_or(document));
}

/// What is wrong with a text is 400 here, whether it is JSON or what it says.
fn status(rejection: &Rejection) -> StatusCode {
    match problem::status(rejection) {
        StatusCode::UNPROCESSABLE_ENTITY => StatusCode::BAD_REQUEST,
        status => status,
    }
}

fn is_unreadable(rejection: &Rejection) -> bool {
    matches!(
        rejection.code(),
        Code::MalformedJson | Code::InvalidUtf8 | Code::TrailingBytes
    )
}

/// The daemon's words, where it has some.
fn word(rejection: &Rejection) -> &str {
    match problem::status(rejection) {
        StatusCode::NOT_FOUND => "not found",
        StatusCode::METHOD_NOT_ALLOWED => "method not allowed",
        _ if is_unreadable(rejection) => "invalid JSON body",
        _ => &rejection.first().detail,
    }
}

fn response(rejection: &Rejection, status: StatusCode, text: String) -> Response<Body> {
    let mut response = crate::http::call::json(status, text);
    if let Some(seconds) = problem::retry_after(rejection) {
        let headers = response.headers_mut();
        headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    response
}

#[cfg(test)]
mod tests {
    use super::refusal_of;

    #[test]
    fn only_what_is_below_the_api_is_refused_in_its_shapes() {
        for below in [
            "/harmovela/api",
            "/aep/api/events",
            "/harmovela/api/subscriptions/{id}",
            "/harmovela/api/nope",
        ] {
            assert!(refusal_of(below).is_some(), "{below}");
        }
        for other in ["/harmovela/apis", "/harmovela/events", "/v1/stream", "/"] {
            assert!(refusal_of(other).is_none(), "{other}");
        }
    }
}
