//! Codes of errors in another dialect's words (AEE 7.2, AEP 7).

/// Codes that mean the same; all others are spelled over.
const PAIRS: [(&str, &str); 8] = [
    ("E_TIMEOUT", "task_timeout"),
    ("E_CANCELLED", "task_cancelled"),
    ("E_FORBIDDEN", "unauthorized"),
    ("E_INTERNAL", "internal_error"),
    ("E_RATE_LIMITED", "rate_limited"),
    ("E_SCHEMA", "invalid_envelope"),
    ("E_UNAVAILABLE", "transport_unavailable"),
    ("E_VERSION", "unsupported_version"),
];

/// The longest code that is spelled over, in characters.
const LENGTH_MAX: usize = 64;

/// An AEE code: `E_TOOL_ERROR` for `tool_error`.
pub(super) fn to_aee(code: &str) -> String {
    if let Some((aee, _)) = PAIRS.iter().find(|(_, aep)| *aep == code) {
        return (*aee).into();
    }
    let word = plain(code).to_ascii_uppercase();
    if word.starts_with("E_") {
        word
    } else {
        format!("E_{word}")
    }
}

/// An AEP code: `tool_error` for `E_TOOL_ERROR`.
pub(super) fn to_aep(code: &str) -> String {
    if let Some((_, aep)) = PAIRS.iter().find(|(aee, _)| *aee == code) {
        return (*aep).into();
    }
    let word = plain(code).to_ascii_lowercase();
    word.strip_prefix("e_").map(String::from).unwrap_or(word)
}

fn plain(code: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    code.chars().take(LENGTH_MAX).map(plain).collect()
}
