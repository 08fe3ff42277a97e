//! Reading and writing the values of settings as text. Errors finish "expected NAME to be ...".

use protocol::Filter;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::str::FromStr;

/// A whole number of at least `least`, with `_` allowed between digits and the units `KiB`, `MiB`
/// and `GiB` after it.
pub fn whole<T: FromStr + TryFrom<u64>>(text: &str, least: u64, most: u64) -> Result<T, String> {
    let (digits, factor) = match text.trim() {
        text if text.ends_with("KiB") => (text.trim_end_matches("KiB"), 1 << 10),
        text if text.ends_with("MiB") => (text.trim_end_matches("MiB"), 1 << 20),
        text if text.ends_with("GiB") => (text.trim_end_matches("GiB"), 1 << 30),
        text => (text, 1),
    };
    let digits: String = digits.trim().chars().filter(|c| *c != '_').collect();
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number
        .then(|| digits.parse::<u64>().ok()?.checked_mul(factor))
        .flatten()
        .filter(|number| (least..=most).contains(number))
        .and_then(|number| T::try_from(number).ok())
        .ok_or_else(|| match most {
            u64::MAX => format!("a whole number of at least {least}"),
            _ => format!("a whole number from {least} to {most}"),
        })
}

/// `true` or `false`.
pub fn flag(text: &str) -> Result<bool, String> {
    match text {
        "true" => Ok(true),
        "false" => Ok(false),
        _ => Err("true or false".into()),
    }
}

/// An address with a port.
pub fn address(text: &str) -> Result<SocketAddr, String> {
    let named = text
        .strip_prefix("localhost:")
        .map(|port| format!("127.0.0.1:{port}"));
    named
        .as_deref()
        .unwrap_or(text)
        .parse()
        .map_err(|_| "an address and port such as 127.0.0.1:4747".into())
}

/// A path.
pub fn folder(text: &str) -> Result<PathBuf, String> {
    if text.is_empty() {
        Err("the path of a folder".into())
    } else {
        Ok(text.into())
    }
}

/// The path of a file, or nothing.
#[expect(
    clippy::unnecessary_wraps,
    reason = "as all settings are read; any text is a path"
)]
pub fn file(text: &str) -> Result<PathBuf, String> {
    Ok(text.into())
}

/// One word of a closed list.
pub fn word<T>(found: Option<T>, words: &str) -> Result<T, String> {
    found.ok_or_else(|| format!("one of {words}"))
}

/// A name, or the first part of names, on a message broker.
pub fn bus_name(text: &str) -> Result<String, String> {
    let allowed = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    let is_name = (1..=64).contains(&text.len()) && text.chars().all(allowed);
    is_name
        .then(|| text.to_owned())
        .ok_or_else(|| "letters, digits, - and _, at most 64".into())
}

/// A filter: `field=value` with `&` between; a field again for another value.
pub fn filter(text: &str) -> Result<Filter, String> {
    let parts = text
        .split('&')
        .map(str::trim)
        .filter(|part| !part.is_empty());
    let pairs: Option<Vec<_>> = parts.map(|part| part.split_once('=')).collect();
    let pairs = pairs.ok_or("a filter such as type=task.*&target=agent.b")?;
    Filter::from_pairs(pairs).map_err(|refusal| {
        let detail = &refusal.first().detail;
        format!("a filter such as type=task.*&target=agent.b ({detail})")
    })
}

/// The reverse of [`filter`].
pub fn filter_text(filter: &Filter) -> String {
    let terms = filter.terms();
    let pairs = terms.flat_map(|(field, values)| {
        let name = field.as_str();
        values.iter().map(move |value| format!("{name}={value}"))
    });
    pairs.collect::<Vec<_>>().join("&")
}

#[cfg(test)]
mod tests {
    use super::{address, bus_name, filter, filter_text, whole};

    #[test]
    fn sizes_may_carry_their_unit() {
        assert_eq!(whole::<u64>("64 MiB", 1, u64::MAX), Ok(64 << 20));
        assert_eq!(whole::<usize>("1_024", 1, u64::MAX), Ok(1024));
        assert_eq!(whole::<u64>("4KiB", 1, u64::MAX), Ok(4096));
        for text in [
            "",
            "-1",
            "1.5",
            "0",
            "99999999999999999999",
            "1 TB",
            "16777217GiB ",
        ] {
            let read = whole::<u32>(text, 1, u64::MAX);
            assert_eq!(read, Err("a whole number of at least 1".into()), "{text}");
        }
    }

    #[test]
    fn filters_are_written_as_in_queries() {
        let read = filter("type=task.*&target=agent.b&type=tool.*").unwrap();
        assert_eq!(filter_text(&read), "target=agent:b&type=task.*&type=tool.*");
        assert!(filter("").unwrap().is_unconstrained());
        assert!(filter("task.*").is_err() && filter("no=x").is_err());
    }

    #[test]
    fn names_on_a_bus_have_no_wildcards() {
        assert_eq!(bus_name("aep"), Ok("aep".into()));
        assert!(
            ["", "a.b", "a*", "a b", ">"]
                .iter()
                .all(|text| bus_name(text).is_err())
        );
    }

    #[test]
    fn localhost_is_the_loopback_address() {
        assert_eq!(address("localhost:1").unwrap().to_string(), "127.0.0.1:1");
        assert!(address("4747").is_err());
    }
}
