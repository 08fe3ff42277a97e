//! One request on its way through a handler, and the answers that handlers give.

use super::body::{Media, read_whole};
use super::door::{Door, RequestId};
use super::peer::Peer;
use super::percent;
use super::query::Query;
use axum::body::{Body, Bytes};
use axum::extract::RawPathParams;
use axum::http::request::Parts;
use axum::http::{HeaderValue, Response, StatusCode, header};
use protocol::Rejection;
use std::sync::Arc;

/// What a handler returns; the runner of routes makes a problem document of a refusal.
pub(crate) type Answer = Result<Response<Body>, Rejection>;

/// One request.
pub(crate) struct Call {
    pub door: Arc<Door>,
    pub request_id: RequestId,
    /// The connection it came on.
    pub peer: Arc<Peer>,
    pub parts: Parts,
    pub body: Body,
    pub params: RawPathParams,
}

impl Call {
    /// A captured part of the path; the routes say which there are.
    pub(crate) fn param(&self, name: &str) -> &str {
        self.params
            .iter()
            .find(|(key, _)| *key == name)
            .map_or("", |(_, value)| value)
    }

    /// The query's parameters.
    pub(crate) fn query(&self) -> Result<Query, Rejection> {
        Query::read(self.parts.uri.query())
    }

    /// Refuses any query.
    pub(crate) fn no_query(&self) -> Result<(), Rejection> {
        self.query()?.finish()
    }

    /// One JSON text of at most `max` bytes.
    pub(crate) async fn json(self, max: usize) -> Result<Bytes, Rejection> {
        Media::json(&self.parts.headers)?;
        read_whole(self.body, max, self.door.settings.body_wait()).await
    }
}

/// An answer with a media type.
pub(crate) fn typed(
    status: StatusCode,
    media_type: &'static str,
    body: impl Into<Body>,
) -> Response<Body> {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    response
        .headers_mut()
        .insert(header::CONTENT_TYPE, HeaderValue::from_static(media_type));
    response
}

/// A JSON answer that no cache may keep.
pub(crate) fn json(status: StatusCode, text: String) -> Response<Body> {
    let mut response = typed(status, "application/json", text);
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// An answer that says nothing but that it is done.
pub(crate) fn no_content() -> Response<Body> {
    let mut response = Response::new(Body::empty());
    *response.status_mut() = StatusCode::NO_CONTENT;
    response
}

/// Sets a header; a value that no header can carry is percent-encoded first.
pub(crate) fn set_header(response: &mut Response<Body>, name: &'static str, text: &str) {
    let value = HeaderValue::from_str(text).or_else(|_| {
        let mut encoded = String::new();
        percent::encode(&mut encoded, text);
        HeaderValue::from_str(&encoded)
    });
    if let Ok(value) = value {
        response.headers_mut().insert(name, value);
    }
}
