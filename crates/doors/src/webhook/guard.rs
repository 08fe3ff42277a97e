//! Which addresses may be called.
//!
//! Who registers an address makes this process call it, from inside the operator's network. So what
//! is not public is refused: when it is registered, and again when the name is looked up to connect,
//! where only the addresses that pass are handed to the connector. A name that answers differently
//! the second time gains nothing.

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::str::FromStr;

/// Longest address, in bytes.
const URL_BYTES_MAX: usize = 2_048;

/// Networks that may be called although they are private.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Networks(Vec<Network>);

/// One network: an address and how many leading bits of it count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Network {
    address: IpAddr,
    bits: u8,
}

impl Networks {
    /// Whether an address may be called.
    #[must_use]
    pub fn allow(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        is_public(address) || self.0.iter().any(|network| network.has(address))
    }
}

impl std::fmt::Display for Networks {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        for (at, network) in self.0.iter().enumerate() {
            let comma = if at > 0 { "," } else { "" };
            write!(f, "{comma}{}/{}", network.address, network.bits)?;
        }
        Ok(())
    }
}

impl FromStr for Networks {
    type Err = String;

    /// `10.1.0.0/16,fd00::/8`; an address alone is itself.
    fn from_str(text: &str) -> Result<Self, String> {
        let parts = text.split(',').map(str::trim);
        let networks = parts.filter(|part| !part.is_empty()).map(|part| {
            let (address, bits) = part.split_once('/').unwrap_or((part, ""));
            let address: Option<IpAddr> = address.parse().ok();
            let widest = address.map_or(0, |address| if address.is_ipv4() { 32 } else { 128 });
            let bits = match bits {
                "" => Some(widest),
                bits => bits.parse().ok().filter(|bits| *bits <= widest),
            };
            match (address, bits) {
                (Some(address), Some(bits)) => Ok(Network { address, bits }),
                _ => Err(format!(
                    "networks such as 10.1.0.0/16 with commas between, got {part:?}"
                )),
            }
        });
        networks.collect::<Result<_, _>>().map(Self)
    }
}

impl Network {
    fn has(self, address: IpAddr) -> bool {
        let leading = |value: u128, width: u32| match u32::from(self.bits) {
            0 => 0,
            bits => value >> (width - bits.min(width)),
        };
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let value = |address: Ipv4Addr| leading(u128::from(u32::from(address)), 32);
                value(own) == value(other)
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                leading(own.into(), 128) == leading(other.into(), 128)
            }
            _ => false,
        }
    }
}

/// Whether an address belongs to the public internet.
fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_reserved = matches!(
        (a, b, c),
        // This network, shared space, protocol assignments, 6to4 relays, benchmarks, reserved.
        (0, _, _)
            | (100, 64..=127, _)
            | (192, 0, 0)
            | (192, 88, 99)
            | (198, 18..=19, _)
            | (240.., _, _)
    );
    !(is_reserved
        || address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_multicast()
        || address.is_documentation())
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let embedded = |high: u16, low: u16| {
        let [a, b] = high.to_be_bytes();
        let [c, d] = low.to_be_bytes();
        is_public_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        // Translated and tunnelled: what counts is the address inside.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] | [0x2002, high, low, ..] => embedded(high, low),
        // Teredo, benchmarks, ORCHID, documentation.
        [0x2001, 0 | 2 | 0x10..=0x2f | 0xdb8, ..] | [0x3fff, 0..=0x0fff, ..] => false,
        // Global unicast, and nothing else.
        [first, ..] => (0x2000..0x4000).contains(&first),
    }
}

/// Checks an address that somebody registers.
///
/// # Errors
/// What is wrong with it, as a sentence.
pub async fn check_url(text: &str, networks: &Networks) -> Result<(), String> {
    if text.len() > URL_BYTES_MAX {
        return Err(format!(
            "expected at most {URL_BYTES_MAX} bytes, got {}",
            text.len()
        ));
    }
    let url = parse(text)?;
    check_literal(&url, networks)?;
    let host = url.host_str().unwrap_or_default();
    if literal(&url).is_some() {
        return Ok(());
    }
    let port = url.port_or_known_default().unwrap_or(443);
    let found = tokio::net::lookup_host((host, port)).await;
    let mut found = found
        .map_err(|error| format!("expected a host that can be found, got {host:?}: {error}"))?;
    if found.any(|address| networks.allow(address.ip())) {
        return Ok(());
    }
    Err(refusal(host))
}

/// An address as webhooks take it.
pub(super) fn parse(text: &str) -> Result<Url, String> {
    let wanted = "expected an absolute http or https address without a user and a fragment";
    let url = Url::parse(text).map_err(|error| format!("{wanted}: {error}"))?;
    let is_plain = matches!(url.scheme(), "http" | "https")
        && url.host_str().is_some_and(|host| !host.is_empty())
        && url.username().is_empty()
        && url.password().is_none()
        && url.fragment().is_none();
    if is_plain {
        Ok(url)
    } else {
        Err(wanted.into())
    }
}

/// Refuses an address that names a number which may not be called: no name is looked up for it.
pub(super) fn check_literal(url: &Url, networks: &Networks) -> Result<(), String> {
    match literal(url) {
        Some(address) if !networks.allow(address) => Err(refusal(&address.to_string())),
        _ => Ok(()),
    }
}

fn literal(url: &Url) -> Option<IpAddr> {
    let host = url.host_str()?;
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.parse().ok()
}

fn refusal(host: &str) -> String {
    format!(
        "expected a public address, got {host:?}, which is private or reserved; the setting webhook.networks allows networks"
    )
}

/// Looks names up and gives the connector only what may be called.
#[derive(Debug)]
pub(super) struct Guarded(pub(super) Networks);

impl Resolve for Guarded {
    fn resolve(&self, name: Name) -> Resolving {
        let networks = self.0.clone();
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let allowed: Vec<SocketAddr> = found
                .filter(|address| networks.allow(address.ip()))
                .collect();
            if allowed.is_empty() {
                return Err(refusal(name.as_str()).into());
            }
            Ok(Box::new(allowed.into_iter()) as Addrs)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Guarded, Networks, check_literal, check_url, parse};
    use reqwest::dns::Resolve as _;

    #[test]
    fn only_public_addresses_may_be_called() {
        let none = Networks::default();
        for good in [
            "1.1.1.1",
            "100.63.0.1",
            "172.32.0.1",
            "2606:4700::1111",
            "64:ff9b::1.1.1.1",
        ] {
            assert!(none.allow(good.parse().unwrap()), "{good}");
        }
        for bad in [
            "127.0.0.1",
            "10.0.0.1",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "100.64.0.1",
            "192.0.0.8",
            "198.18.0.1",
            "224.0.0.1",
            "255.255.255.255",
            "240.0.0.1",
            "192.0.2.1",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "ff02::1",
            "2001:db8::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::10.0.0.1",
            "2002:7f00:1::",
            "2001::1",
            "64:ff9b:1::1",
            "fec0::1",
        ] {
            assert!(!none.allow(bad.parse().unwrap()), "{bad}");
        }
    }

    #[test]
    fn a_setting_allows_named_networks_and_no_others() {
        let networks: Networks = "127.0.0.0/8, 10.1.0.0/16,fd00::/8,192.168.7.7"
            .parse()
            .unwrap();
        for good in [
            "127.9.9.9",
            "10.1.255.255",
            "fd12::1",
            "192.168.7.7",
            "::ffff:127.0.0.1",
        ] {
            assert!(networks.allow(good.parse().unwrap()), "{good}");
        }
        for bad in ["10.2.0.1", "fc00::1", "192.168.7.8", "::1"] {
            assert!(!networks.allow(bad.parse().unwrap()), "{bad}");
        }
        assert_eq!(networks.to_string().parse::<Networks>().unwrap(), networks);
        assert!(
            "0.0.0.0/0"
                .parse::<Networks>()
                .unwrap()
                .allow("127.0.0.1".parse().unwrap())
        );
        for wrong in ["10.0.0.0/33", "here", "10.0.0.0/x", "::/129"] {
            assert!(wrong.parse::<Networks>().is_err(), "{wrong}");
        }
    }

    #[tokio::test]
    async fn addresses_are_refused_in_every_spelling() {
        let none = Networks::default();
        for bad in [
            "http://127.0.0.1/",
            "http://2130706433/",
            "http://0x7f.1/",
            "http://017700000001/",
            "http://[::1]/",
            "http://[::ffff:127.0.0.1]:80/",
            "http://localhost/",
            "ftp://1.1.1.1/",
            "http://user@1.1.1.1/",
            "http://1.1.1.1/#x",
            "/path",
            "http://",
        ] {
            assert!(check_url(bad, &none).await.is_err(), "{bad}");
        }
        assert!(check_url("http://1.1.1.1/x", &none).await.is_ok());
        assert!(
            check_url(&format!("http://1.1.1.1/{}", "x".repeat(2_048)), &none)
                .await
                .is_err()
        );
        let loopback: Networks = "127.0.0.0/8".parse().unwrap();
        assert!(check_url("http://127.0.0.1:9/", &loopback).await.is_ok());
        assert!(check_literal(&parse("http://[::1]/").unwrap(), &loopback).is_err());
    }

    #[tokio::test]
    async fn a_name_that_leads_inside_is_not_connected_to() {
        let resolve = |networks: &str| {
            Guarded(networks.parse().unwrap()).resolve("localhost".parse().unwrap())
        };
        assert!(resolve("").await.is_err());
        let found: Vec<_> = resolve("127.0.0.0/8").await.unwrap().collect();
        assert!(found.iter().all(std::net::SocketAddr::is_ipv4), "{found:?}");
    }
}
