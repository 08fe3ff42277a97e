//! How versions grow.

/// The version after this one, both as canonical JSON: an integer, or a number at the end of a text,
/// grows by one; any other text gets `.1`, any other value becomes 1.
pub(super) fn next(version: &str) -> Box<str> {
    if let Ok(number) = version.parse::<i64>() {
        return number.saturating_add(1).to_string().into();
    }
    let text = version.strip_prefix('"');
    let Some(text) = text.and_then(|rest| rest.strip_suffix('"')) else {
        return "1".into();
    };
    let stem = text.trim_end_matches(|c: char| c.is_ascii_digit());
    let digits = text.get(stem.len()..).unwrap_or_default();
    match digits.parse::<u64>() {
        Ok(number) if number < u64::MAX => format!("\"{stem}{}\"", number + 1).into(),
        Ok(_) | Err(_) => format!("\"{text}.1\"").into(),
    }
}

#[cfg(test)]
mod tests {
    use super::next;

    #[test]
    fn every_version_is_followed_by_another() {
        for (version, expected) in [
            ("0", "1"),
            ("-1", "0"),
            ("41", "42"),
            ("null", "1"),
            ("1.5", "1"),
            ("{\"a\":1}", "1"),
            ("\"v9\"", "\"v10\""),
            ("\"1.2\"", "\"1.3\""),
            ("\"abc\"", "\"abc.1\""),
            ("\"\"", "\".1\""),
            ("\"a\\\"\"", "\"a\\\".1\""),
            ("\"18446744073709551615\"", "\"18446744073709551615.1\""),
        ] {
            assert_eq!(&*next(version), expected, "{version}");
        }
    }
}
