//! Neighbours: an exchange that asks for no credentials must not be open to web pages.
//!
//! A browser lets any page open a WebSocket to loopback, and a name that is re-pointed at loopback
//! passes the same-origin rule. The first is told by `Origin`, the second by `Host`.

use axum::http::HeaderMap;
use axum::http::header::{HOST, ORIGIN};
use axum::http::request::Parts;
use protocol::{Code, Fault, Rejection};
use std::net::IpAddr;

/// Refuses what a page of another site sent.
pub(crate) fn check(parts: &Parts, is_loopback: bool, hosts: &[String]) -> Result<(), Rejection> {
    // HTTP/2 has the host in the target, HTTP/1.1 in its header.
    let host = parts
        .uri
        .authority()
        .map(axum::http::uri::Authority::as_str)
        .or_else(|| text(&parts.headers, &HOST));
    if is_loopback
        && let Some(host) = host
        && !is_of_this_machine(name_of(host), hosts)
    {
        let detail = format!("expected a Host of this machine, got {host:?}");
        return Err(refused(detail));
    }
    match parts.headers.get(ORIGIN) {
        None => Ok(()),
        Some(origin) => {
            let origin = origin.to_str().unwrap_or("?");
            let own = origin.split_once("://").map(|(_, authority)| authority);
            if own.is_some() && own == host {
                return Ok(());
            }
            let detail = format!("expected no Origin or this exchange's own, got {origin:?}");
            Err(refused(detail))
        }
    }
}

fn text<'h>(headers: &'h HeaderMap, name: &axum::http::HeaderName) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// The host without its port, and an IPv6 address without its brackets.
fn name_of(authority: &str) -> &str {
    if let Some(rest) = authority.strip_prefix('[') {
        return rest.split(']').next().unwrap_or(rest);
    }
    authority
        .rsplit_once(':')
        .map_or(authority, |(name, _)| name)
}

fn is_of_this_machine(name: &str, hosts: &[String]) -> bool {
    let name = name.to_ascii_lowercase();
    name == "localhost"
        || name.ends_with(".localhost")
        || name
            .parse()
            .is_ok_and(|address: IpAddr| address.is_loopback())
        || hosts.contains(&name)
}

fn refused(detail: String) -> Rejection {
    Fault::new(Code::ForeignOrigin, "", "ARCHITECTURE neighbours", detail).into()
}

#[cfg(test)]
mod tests {
    use super::check;
    use axum::http::Request;

    fn is_taken(headers: &[(&str, &str)], is_loopback: bool) -> bool {
        let mut request = Request::get("/v1/socket");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (parts, ()) = request.body(()).unwrap().into_parts();
        check(&parts, is_loopback, &["exchange.example".to_owned()]).is_ok()
    }

    #[test]
    fn programs_and_own_pages_are_served_and_foreign_pages_are_not() {
        let own = ("host", "127.0.0.1:4747");
        assert!(is_taken(&[own], true));
        assert!(is_taken(&[own, ("origin", "http://127.0.0.1:4747")], true));
        for origin in [
            "https://evil.example",
            "http://127.0.0.1:8080",
            "null",
            "http://localhost",
        ] {
            assert!(!is_taken(&[own, ("origin", origin)], true), "{origin}");
            assert!(!is_taken(&[own, ("origin", origin)], false), "{origin}");
        }
    }

    #[test]
    fn on_loopback_the_host_must_be_this_machine() {
        for host in [
            "localhost:1",
            "LOCALHOST",
            "127.1.2.3:1",
            "[::1]:4747",
            "a.localhost",
            "exchange.example",
        ] {
            assert!(is_taken(&[("host", host)], true), "{host}");
        }
        for host in [
            "evil.example:4747",
            "10.0.0.1",
            "localhost.evil.example",
            "",
        ] {
            assert!(!is_taken(&[("host", host)], true), "{host}");
            assert!(is_taken(&[("host", host)], false), "{host}");
        }
    }
}
