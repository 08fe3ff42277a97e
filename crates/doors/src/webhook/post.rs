//! One attempt: the request, and what its answer means.

use super::guard::{Guarded, check_literal, parse};
use super::{Networks, WebhookSettings, sign};
use broker::{Delivery, Handle, Push};
use reqwest::header::{CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER};
use reqwest::redirect::Policy;
use reqwest::{Client, StatusCode};
use std::error::Error as _;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// The longest wait that an answer can ask for: a day.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(86_400);

/// Calls addresses.
#[derive(Debug)]
pub(super) struct Post {
    client: Client,
    networks: Networks,
    wait: Duration,
}

/// What became of an attempt.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answered {
    /// The message was taken.
    Taken(u16),
    /// Nobody is there any more.
    Gone,
    /// It was not taken.
    Failed {
        /// Why, for the dead letter.
        reason: String,
        /// When it may be tried again, if the answer says so.
        retry_after: Option<Duration>,
        /// Whether that is asked for everything, not for this message.
        rests: bool,
    },
}

impl Answered {
    /// As the metrics name it.
    pub(super) const fn result(&self) -> &'static str {
        match self {
            Self::Taken(_) => "taken",
            Self::Gone => "gone",
            Self::Failed { .. } => "failed",
        }
    }
}

impl Post {
    pub(super) fn new(settings: &WebhookSettings) -> Result<Self, String> {
        let mut roots = rustls::RootCertStore::empty();
        roots.extend(webpki_roots::TLS_SERVER_ROOTS.iter().cloned());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| error.to_string())?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let client = Client::builder()
            // A redirect leads where nobody checked; a proxy looks names up itself.
            .redirect(Policy::none())
            .no_proxy()
            .dns_resolver(Arc::new(Guarded(settings.networks.clone())))
            .tls_backend_preconfigured(tls)
            .user_agent(concat!("interwire/", env!("CARGO_PKG_VERSION")))
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Self {
            client,
            networks: settings.networks.clone(),
            wait: Duration::from_millis(settings.wait_ms.max(1)),
        })
    }

    pub(super) fn wait(&self) -> Duration {
        self.wait
    }

    /// Sends one delivery; waits so long for the head of the answer.
    pub(super) async fn call(
        &self,
        push: &Push,
        subscription: &str,
        handle: &Handle,
        delivery: &Delivery,
        wait: Duration,
    ) -> Answered {
        let failed = |reason: String| Answered::Failed {
            reason,
            retry_after: None,
            rests: false,
        };
        let url =
            parse(&push.url).and_then(|url| check_literal(&url, &self.networks).map(|()| url));
        let url = match url {
            Ok(url) => url,
            Err(reason) => return failed(reason),
        };
        let entry = &delivery.entry;
        let id = sign::message_id(&entry.header);
        let timestamp = handle.now().as_millis().div_euclid(1_000);
        let Some(signature) = sign::signature(&push.secret, &id, timestamp, &entry.envelope) else {
            return failed("the secret cannot be read".into());
        };
        let texts = [
            ("webhook-id", id),
            ("webhook-timestamp", timestamp.to_string()),
            ("webhook-signature", signature),
            ("interwire-subscription", subscription.to_owned()),
            ("interwire-delivery", delivery.id.to_string()),
            ("interwire-attempt", delivery.attempt.to_string()),
            ("interwire-cursor", handle.cursor(entry).to_string()),
            (
                "interwire-dialect",
                entry.header.dialect.as_str().to_owned(),
            ),
        ];
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        for (name, text) in texts {
            if let Ok(value) = HeaderValue::from_str(&text) {
                headers.insert(HeaderName::from_static(name), value);
            }
        }
        let request = self.client.post(url).headers(headers).timeout(wait);
        match request.body(entry.envelope.clone()).send().await {
            Ok(response) => judge(response.status(), response.headers()),
            Err(error) if error.is_timeout() => {
                failed(format!("no answer in {} ms", wait.as_millis()))
            }
            Err(error) => failed(innermost(&error)),
        }
    }
}

/// What an answer means.
fn judge(status: StatusCode, headers: &HeaderMap) -> Answered {
    if status.is_success() {
        return Answered::Taken(status.as_u16());
    }
    if status == StatusCode::GONE {
        return Answered::Gone;
    }
    let told = headers
        .get(RETRY_AFTER)
        .and_then(|value| value.to_str().ok());
    let retry_after = told.and_then(|text| wait_of(text, SystemTime::now()));
    let reason = if status.is_redirection() {
        format!("answered {}; redirects are not followed", status.as_u16())
    } else {
        format!("answered {}", status.as_u16())
    };
    Answered::Failed {
        reason,
        retry_after,
        rests: matches!(status.as_u16(), 429 | 503),
    }
}

/// `Retry-After`: seconds or a date.
fn wait_of(text: &str, now: SystemTime) -> Option<Duration> {
    let text = text.trim();
    let wait = match text.parse() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let date = httpdate::parse_http_date(text).ok()?;
            date.duration_since(now).unwrap_or_default()
        }
    };
    Some(wait.min(RETRY_AFTER_MAX))
}

/// The cause of an error: the outer ones repeat the address, which may hold a token.
fn innermost(error: &reqwest::Error) -> String {
    let mut reason = error.to_string();
    let mut source = error.source();
    while let Some(inner) = source {
        reason = inner.to_string();
        source = inner.source();
    }
    reason.chars().take(512).collect()
}

#[cfg(test)]
mod tests {
    use super::{Answered, judge, wait_of};
    use reqwest::StatusCode;
    use reqwest::header::{HeaderMap, HeaderValue, RETRY_AFTER};
    use std::time::{Duration, SystemTime};

    #[test]
    fn an_answer_means_what_its_status_says() {
        let judge = |status: u16, after: Option<&'static str>| {
            let mut headers = HeaderMap::new();
            if let Some(after) = after {
                headers.insert(RETRY_AFTER, HeaderValue::from_static(after));
            }
            judge(StatusCode::from_u16(status).unwrap(), &headers)
        };
        assert_eq!(judge(204, None), Answered::Taken(204));
        assert_eq!(judge(410, None), Answered::Gone);
        assert_eq!(
            judge(503, Some("7")),
            Answered::Failed {
                reason: "answered 503".into(),
                retry_after: Some(Duration::from_secs(7)),
                rests: true,
            }
        );
        assert_eq!(
            judge(302, None),
            Answered::Failed {
                reason: "answered 302; redirects are not followed".into(),
                retry_after: None,
                rests: false,
            }
        );
    }

    #[test]
    fn retry_after_is_seconds_or_a_date_and_at_most_a_day() {
        let now = httpdate::parse_http_date("Sun, 06 Nov 1994 08:49:37 GMT").unwrap();
        let wait = |text| wait_of(text, now).map(|wait| wait.as_secs());
        assert_eq!(wait("120"), Some(120));
        assert_eq!(wait("Sun, 06 Nov 1994 08:50:07 GMT"), Some(30));
        assert_eq!(wait("Sun, 06 Nov 1994 08:00:00 GMT"), Some(0));
        assert_eq!(wait("999999999"), Some(86_400));
        assert_eq!(wait("soon"), None);
        assert!(wait_of("Fri, 31 Dec 9999 23:59:59 GMT", SystemTime::now()).is_some());
    }
}
