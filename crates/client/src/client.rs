//! One connection pool to one exchange, and the way every request goes.

use crate::{Error, Problem, Socket, Trust};
use bytes::Bytes;
use reqwest::header::{AUTHORIZATION, RETRY_AFTER};
use reqwest::{Method, RequestBuilder, Response};
use std::sync::Arc;
use std::time::Duration;

/// How long a connection attempt may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);

/// A client of one exchange. Cheap to clone; clones share connections.
#[derive(Clone, Debug)]
pub struct Client {
    http: reqwest::Client,
    base: String,
    token: Option<String>,
    tls: Arc<rustls::ClientConfig>,
}

impl Client {
    /// A client of the exchange at `url`, such as `http://127.0.0.1:4747`. No byte is sent yet;
    /// connections are made when they are needed.
    ///
    /// # Errors
    /// `Input` when `url` is not an `http` or `https` address.
    pub fn connect(url: &str) -> Result<Self, Error> {
        Self::connect_with(url, &Trust::default())
    }

    /// As [`Self::connect`], with certificates of its own.
    ///
    /// # Errors
    /// As [`Self::connect`], and `Input` when a certificate or a key cannot be used.
    pub fn connect_with(url: &str, trust: &Trust) -> Result<Self, Error> {
        let parsed = reqwest::Url::parse(url).map_err(|error| {
            Error::Input(format!(
                "expected an address such as http://127.0.0.1:4747, got {url:?}: {error}"
            ))
        })?;
        if !matches!(parsed.scheme(), "http" | "https") || parsed.host_str().is_none() {
            return Err(Error::Input(format!(
                "expected an http:// or https:// address, got {url:?}"
            )));
        }
        let tls = trust.config()?;
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT_TIMEOUT)
            .tcp_nodelay(true)
            .no_proxy()
            .tls_backend_preconfigured(tls.clone())
            .build()
            .map_err(|error| Error::Input(format!("the http client cannot be built: {error}")))?;
        Ok(Self {
            http,
            base: parsed.as_str().trim_end_matches('/').to_owned(),
            token: None,
            tls: Arc::new(tls),
        })
    }

    /// The same client, with a bearer token on every request.
    #[must_use]
    pub fn token(mut self, token: impl Into<String>) -> Self {
        self.token = Some(token.into());
        self
    }

    /// The address of the exchange, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.base
    }

    /// Opens a duplex connection.
    ///
    /// # Errors
    /// `Unreachable`, or `Refused` when the upgrade is.
    pub async fn socket(&self) -> Result<Socket, Error> {
        Socket::open(&self.base, self.token.as_deref(), &self.tls).await
    }

    /// Whether the exchange takes work now.
    ///
    /// # Errors
    /// `Unreachable`, or `Refused` while it is draining or has failed.
    pub async fn ready(&self) -> Result<(), Error> {
        self.send(self.request(Method::GET, "/readyz"))
            .await
            .map(drop)
    }

    /// What the exchange says about itself at a route, as it came.
    ///
    /// # Errors
    /// As every request.
    pub async fn get(&self, path: &str) -> Result<Bytes, Error> {
        let response = self.send(self.request(Method::GET, path)).await?;
        self.body(response).await
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let builder = self.http.request(method, format!("{}{path}", self.base));
        match &self.token {
            Some(token) => builder.header(AUTHORIZATION, format!("Bearer {token}")),
            None => builder,
        }
    }

    /// Sends; a status that is not a success becomes the problem document it carries.
    pub(crate) async fn send(&self, request: RequestBuilder) -> Result<Response, Error> {
        let response = request.send().await.map_err(|error| self.broken(&error))?;
        if response.status().is_success() {
            return Ok(response);
        }
        let status = response.status().as_u16();
        let retry_after = response.headers().get(RETRY_AFTER).cloned();
        let body = self.body(response).await?;
        let mut problem = Problem::read(status, &body);
        if problem.code.is_empty()
            && let Some(seconds) = retry_after.and_then(|value| value.to_str().ok()?.parse().ok())
        {
            // Somebody in between, who knows no more than HTTP.
            problem.retryable = true;
            problem.retry_after_ms = Some(u64::saturating_mul(seconds, 1_000));
        }
        Err(Error::Refused(Box::new(problem)))
    }

    pub(crate) async fn body(&self, response: Response) -> Result<Bytes, Error> {
        response.bytes().await.map_err(|error| self.broken(&error))
    }

    pub(crate) async fn text(&self, response: Response) -> Result<String, Error> {
        let body = self.body(response).await?;
        String::from_utf8(body.to_vec()).map_err(|_| Error::Answer {
            expected: "UTF-8",
            got: "other bytes".into(),
        })
    }

    pub(crate) fn broken(&self, error: &reqwest::Error) -> Error {
        if error.is_builder() {
            // Nothing was sent: an address, a token or a header that HTTP cannot carry.
            return Error::Input(format!("the request cannot be written: {error}"));
        }
        Error::unreachable(&self.base, error)
    }
}

/// `text` as one segment of a path.
pub(crate) fn segment(text: &str) -> String {
    use std::fmt::Write as _;
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b':' => {
                out.push(char::from(byte));
            }
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{Client, segment};

    #[test]
    fn only_http_addresses_are_taken() {
        assert!(Client::connect("127.0.0.1:4747").is_err());
        assert!(Client::connect("ftp://example.com").is_err());
        assert_eq!(
            Client::connect("http://127.0.0.1:1/").unwrap().url(),
            "http://127.0.0.1:1"
        );
    }

    #[test]
    fn ids_with_any_character_stay_one_segment() {
        assert_eq!(segment("agent:b/..?x=ä"), "agent:b%2F..%3Fx%3D%C3%A4");
    }
}
