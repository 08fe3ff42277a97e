//! Texts that look like credentials.
//!
//! Memory is read by many and kept for long, so a proposal that holds such a text is refused. The
//! patterns are few and wide on purpose; this is no scanner for leaks. Implements the secrets row of
//! UAI 6.2.

/// Whether a text holds a private key, a well-known key form, a bearer token, or an assignment to
/// `password`, `token` or `api_key`.
pub(super) fn is_secret_like(text: &str) -> bool {
    let text = text.to_ascii_lowercase();
    holds_private_key(&text)
        || starts(&text, "sk-").any(|rest| run(rest, |c| c.is_ascii_alphanumeric()) >= 16)
        || starts(&text, "akia").any(|rest| {
            run(rest, |c| c.is_ascii_alphanumeric() || c == '_') == 16 && !rest.starts_with('_')
        })
        || starts(&text, "bearer").any(|rest| {
            let token = rest.trim_start();
            token.len() < rest.len()
                && run(token, |c| {
                    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
                }) >= 16
        })
        || SECRET_NAMES
            .iter()
            .any(|name| starts(&text, name).any(is_assignment))
}

/// Whether a member of that name holds a secret when it holds a text of some length.
pub(super) fn is_secret_name(name: &str) -> bool {
    SECRET_NAMES.contains(&&*name.to_ascii_lowercase())
}

/// Length from which a value counts as a secret.
pub(super) const SECRET_LENGTH_MIN: usize = 6;

const SECRET_NAMES: [&str; 5] = ["password", "token", "api_key", "api-key", "apikey"];

fn is_assignment(rest: &str) -> bool {
    let rest = rest.trim_start();
    rest.strip_prefix([':', '='])
        .is_some_and(|value| run(value.trim_start(), |c| !c.is_whitespace()) >= SECRET_LENGTH_MIN)
}

fn holds_private_key(text: &str) -> bool {
    text.match_indices("-----begin ").any(|(at, begin)| {
        let rest = text.get(at + begin.len()..).unwrap_or_default();
        let kind = rest
            .split(|c: char| !c.is_ascii_lowercase() && c != ' ')
            .next();
        kind.is_some_and(|kind| kind.contains("private key"))
    })
}

/// What follows each place where `word` starts a word.
fn starts<'t>(text: &'t str, word: &'t str) -> impl Iterator<Item = &'t str> {
    text.match_indices(word).filter_map(move |(at, _)| {
        let before = text.get(..at)?.chars().next_back();
        let is_start = !before.is_some_and(|c| c.is_alphanumeric() || c == '_');
        is_start.then(|| text.get(at + word.len()..)).flatten()
    })
}

/// How many characters belong, up to more than any rule asks for: a text of many starts would cost
/// the square of its length otherwise.
fn run(text: &str, belongs: impl Fn(char) -> bool) -> usize {
    text.chars()
        .take(RUN_MAX)
        .take_while(|c| belongs(*c))
        .count()
}

const RUN_MAX: usize = 32;

#[cfg(test)]
mod tests {
    use super::is_secret_like;

    #[test]
    fn credentials_are_told_from_prose() {
        for text in [
            "-----BEGIN RSA PRIVATE KEY-----",
            "key sk-abcdefghijklmnop",
            "AKIAABCDEFGHIJKLMNOP",
            "Authorization: Bearer abcdefghijklmnop",
            "password: hunter22",
            "api_key=abcdef",
            "API-KEY : abcdef",
            "token = 123456",
        ] {
            assert!(is_secret_like(text), "{text}");
        }
        for text in [
            "-----BEGIN PUBLIC KEY-----",
            "risk-abcdefghijklmnop",
            "sk-short",
            "AKIAABCDEFGHIJKLMNOPQ",
            "a bearer of news",
            "the password is kept elsewhere",
            "password: none",
            "stoken = 123456",
            "Dataset x has twelve partitions.",
        ] {
            assert!(!is_secret_like(text), "{text}");
        }
    }
}
