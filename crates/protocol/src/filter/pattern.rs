//! Patterns by segment (AEP 4.2 as its text says, not as its first code did).
//!
//! Matching never backtracks: a wildcard inside stands for exactly one segment, and only the end
//! may stand for several.

/// How a pattern ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tail {
    /// With its last segment.
    Closed,
    /// `*`: one or more segments.
    More,
    /// `**`: none or more.
    Any,
}

/// Whether no segment of `pattern` is `*`.
pub(super) fn is_exact(pattern: &str) -> bool {
    pattern.split('.').all(|segment| segment != "*")
}

/// Whether a topic pattern ends in `**`.
pub(super) fn is_open(pattern: &str) -> bool {
    pattern == "**" || pattern.ends_with(".**")
}

/// [`is_exact`] for a party in canonical spelling.
pub(super) fn is_exact_party(pattern: &str) -> bool {
    match split_kind(pattern) {
        Some((kind, _, name)) => kind != "*" && is_exact(name),
        None => pattern != "*",
    }
}

/// Whether `text` has the segments that `pattern` asks for.
pub(super) fn matches(pattern: &str, text: &str) -> bool {
    let (head, tail) = match pattern.strip_suffix(".*") {
        Some(head) => (Some(head), Tail::More),
        None if pattern == "*" => (None, Tail::More),
        None => (Some(pattern), Tail::Closed),
    };
    fits(head, tail, text)
}

/// [`matches`], with a trailing `**`.
pub(super) fn matches_topic(pattern: &str, text: &str) -> bool {
    match pattern.strip_suffix(".**") {
        Some(head) => fits(Some(head), Tail::Any, text),
        None if pattern == "**" => true,
        None => matches(pattern, text),
    }
}

/// [`matches`] for parties in canonical spelling. The kind is the first segment; a literal kind
/// keeps its separator, because `log.x` and `log:x` are different parties.
pub(super) fn matches_party(pattern: &str, party: &str) -> bool {
    match (split_kind(pattern), split_kind(party)) {
        (Some((kind, separator, name)), Some((party_kind, party_separator, party_name))) => {
            (kind == "*" || (kind == party_kind && separator == party_separator))
                && matches(name, party_name)
        }
        (None, _) => pattern == "*" || pattern == party,
        (Some(_), None) => false,
    }
}

/// The text before, at and after the first `.` or `:`.
fn split_kind(party: &str) -> Option<(&str, u8, &str)> {
    let at = party.find(['.', ':'])?;
    Some((
        party.get(..at)?,
        *party.as_bytes().get(at)?,
        party.get(at + 1..)?,
    ))
}

fn fits(head: Option<&str>, tail: Tail, text: &str) -> bool {
    let mut segments = text.split('.');
    for wanted in head.into_iter().flat_map(|head| head.split('.')) {
        match segments.next() {
            Some(segment) if wanted == "*" || wanted == segment => {}
            _ => return false,
        }
    }
    match tail {
        Tail::Closed => segments.next().is_none(),
        Tail::More => segments.next().is_some(),
        Tail::Any => true,
    }
}

#[cfg(test)]
mod tests {
    use super::{is_exact_party, matches, matches_party, matches_topic};

    #[test]
    fn segments_follow_the_published_text() {
        let yes = [
            ("task.*", "task.cancel.requested"),
            ("task.*", "task.progress"),
            ("tool.*.progress", "tool.call.progress"),
            ("*.progress", "task.progress"),
            ("tool.*.*", "tool.call.progress"),
            ("tool.*.*", "tool.call.progress.late"),
            ("*.fact.*", "memory.fact.added"),
            ("*.*", "task.progress"),
            ("*", "task"),
            ("*", "task.progress"),
            ("task", "task"),
        ];
        let no = [
            ("task.*", "task"),
            ("task.*", "tasks.x"),
            ("task.prog*", "task.progress"),
            ("*.progress", "tool.call.progress"),
            ("tool.*.*", "tool.call"),
            ("*.*", "task"),
            ("task", "task.progress"),
            ("Task", "task"),
            ("task.**", "task.progress"),
        ];
        for (pattern, text) in yes {
            assert!(matches(pattern, text), "{pattern} should match {text}");
        }
        for (pattern, text) in no {
            assert!(!matches(pattern, text), "{pattern} should not match {text}");
        }
    }

    #[test]
    fn two_stars_end_a_topic_with_none_or_more_segments() {
        for text in ["a", "a.b", "a.b.c"] {
            assert!(matches_topic("a.**", text), "{text}");
            assert!(matches_topic("**", text), "{text}");
        }
        assert!(!matches_topic("a.**", "ab"));
        assert!(!matches_topic("*.b.**", "a"));
    }

    #[test]
    fn a_kind_is_a_segment_and_unknown_kinds_keep_their_separator() {
        assert!(matches_party("agent:*", "agent:monitor.pve"));
        assert!(matches_party("agent:*.pve", "agent:monitor.pve"));
        assert!(matches_party("*.b", "agent:b"));
        assert!(matches_party("*.b", "log.b"));
        assert!(matches_party("cli:*", "cli:x"));
        assert!(matches_party("*", "someone"));
        assert!(!matches_party("cli:*", "cli.x"));
        assert!(!matches_party("agent:*", "agent"));
        assert!(!matches_party("*.*", "someone"));
        assert!(!matches_party("someone", "someone:x"));
        assert!(is_exact_party("agent:b") && is_exact_party("someone"));
        assert!(!is_exact_party("agent:*") && !is_exact_party("*.b") && !is_exact_party("*"));
    }
}
