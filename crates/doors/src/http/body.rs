//! Request bodies: their media type, and reading small ones whole.

use super::problem::bad_request;
use axum::body::{Body, Bytes};
use axum::http::{HeaderMap, header};
use bytes::BytesMut;
use futures_util::StreamExt as _;
use protocol::{Code, Fault, Rejection};
use std::time::Duration;
use tokio::time::timeout;

/// How much of a body that is too large is read and thrown away, so that its sender sees the answer
/// and not a broken connection.
pub(crate) const DISCARD_BYTES_MAX: usize = 16 << 20;

/// What a body says it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Media {
    /// One JSON text.
    Json,
    /// One JSON text per line.
    Lines,
    /// One CloudEvent in its JSON form.
    Event,
    /// A list of them.
    Events,
}

impl Media {
    /// Reads `Content-Type`; JSON when there is none.
    pub(crate) fn of(headers: &HeaderMap) -> Result<Self, Rejection> {
        let Some(value) = headers.get(header::CONTENT_TYPE) else {
            return Ok(Self::Json);
        };
        let text = value.to_str().unwrap_or_default().to_ascii_lowercase();
        let mut parts = text.split(';').map(str::trim);
        let essence = parts.next().unwrap_or_default();
        let is_utf8 = parts.all(|part| match part.strip_prefix("charset=") {
            Some(charset) => matches!(charset.trim_matches('"'), "utf-8" | "utf8"),
            None => true,
        });
        let media = match essence {
            "application/json" | "text/json" => Some(Self::Json),
            "application/x-ndjson"
            | "application/ndjson"
            | "application/jsonl"
            | "application/x-jsonlines" => Some(Self::Lines),
            super::cloudevents::EVENT => Some(Self::Event),
            super::cloudevents::BATCH => Some(Self::Events),
            other if other.starts_with("application/") && other.ends_with("+json") => {
                Some(Self::Json)
            }
            _ => None,
        };
        media.filter(|_| is_utf8).ok_or_else(|| {
            Fault::new(
                Code::UnsupportedMediaType,
                "",
                "OPENAPI",
                format!(
                    "expected Content-Type application/json or application/x-ndjson in UTF-8, got {text:?}"
                ),
            )
            .into()
        })
    }

    /// As [`Self::of`], for routes that read one JSON object.
    pub(crate) fn json(headers: &HeaderMap) -> Result<(), Rejection> {
        match Self::of(headers)? {
            Self::Json | Self::Event => Ok(()),
            Self::Lines | Self::Events => Err(Fault::new(
                Code::UnsupportedMediaType,
                "",
                "OPENAPI",
                "expected Content-Type application/json here, got many texts",
            )
            .into()),
        }
    }
}

/// Reads a body of at most `max` bytes whole. `wait` bounds each wait for the next piece.
pub(crate) async fn read_whole(body: Body, max: usize, wait: Duration) -> Result<Bytes, Rejection> {
    let mut stream = body.into_data_stream();
    let mut whole = BytesMut::new();
    let mut length = 0_usize;
    loop {
        let chunk = match timeout(wait, stream.next()).await {
            Ok(Some(Ok(chunk))) => chunk,
            Ok(None) => break,
            Ok(Some(Err(_))) => {
                return Err(bad_request(
                    "",
                    "expected a whole body, got a broken connection",
                ));
            }
            Err(_) => {
                return Err(bad_request(
                    "",
                    format!(
                        "expected the body to arrive, got nothing for {} ms",
                        wait.as_millis()
                    ),
                ));
            }
        };
        length += chunk.len();
        if length <= max {
            whole.extend_from_slice(&chunk);
        } else if length > max.saturating_add(DISCARD_BYTES_MAX) {
            break;
        } else {
            whole.clear();
        }
    }
    if length > max {
        Err(too_large(max))
    } else {
        Ok(whole.freeze())
    }
}

/// The refusal of a body or line of more than `max` bytes.
pub(crate) fn too_large(max: usize) -> Rejection {
    Fault::new(
        Code::TooLarge,
        "",
        "ARCHITECTURE limits",
        format!("expected at most {max} bytes, got more"),
    )
    .into()
}

#[cfg(test)]
mod tests {
    use super::{Media, read_whole};
    use axum::body::Body;
    use axum::http::{HeaderMap, HeaderValue, header};
    use protocol::Code;
    use std::time::Duration;

    fn media(text: &'static str) -> Option<Media> {
        let mut headers = HeaderMap::new();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(text));
        Media::of(&headers).ok()
    }

    #[test]
    fn content_types_decide_how_a_body_is_read() {
        assert_eq!(Media::of(&HeaderMap::new()).ok(), Some(Media::Json));
        assert_eq!(media("application/json"), Some(Media::Json));
        assert_eq!(media("Application/JSON; charset=UTF-8"), Some(Media::Json));
        assert_eq!(media("application/ld+json"), Some(Media::Json));
        assert_eq!(media("application/cloudevents+json"), Some(Media::Event));
        let batch = "application/cloudevents-batch+json; charset=utf-8";
        assert_eq!(media(batch), Some(Media::Events));
        assert_eq!(media("application/x-ndjson"), Some(Media::Lines));
        for refused in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "application/json; charset=latin1",
            "",
        ] {
            assert_eq!(media(refused), None, "{refused}");
        }
    }

    #[tokio::test]
    async fn bodies_are_read_up_to_the_limit() {
        let wait = Duration::from_secs(5);
        let whole = read_whole(Body::from("12345"), 5, wait).await.unwrap();
        assert_eq!(&whole[..], b"12345");
        let refused = read_whole(Body::from("123456"), 5, wait).await.unwrap_err();
        assert_eq!(refused.code(), Code::TooLarge);
    }
}
