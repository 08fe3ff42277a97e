//! Names of tools as intents, and names of speakers as parties.

/// The intent of a call: a name that is dotted already; `ops__backup__check`, which is how dotted names
/// are spelled where dots are not allowed; or the name below `tool.`.
pub(crate) fn of_tool(name: &str) -> String {
    let dotted = name.replace("__", ".");
    for intent in [name, &*dotted] {
        if is_dotted(intent) && !intent.starts_with("aee.") && intent.len() <= 255 {
            return intent.to_owned();
        }
    }
    let mut word: String = name
        .chars()
        .take(200)
        .map(|c| match c.to_ascii_lowercase() {
            c @ ('a'..='z' | '0'..='9' | '_') => c,
            _ => '_',
        })
        .collect();
    if !word.starts_with(|c: char| c.is_ascii_lowercase()) {
        word.insert(0, 't');
    }
    format!("tool.{word}")
}

/// The name of the tool that an intent asks for, as every framework takes it.
pub(crate) fn tool_of(intent: &str) -> String {
    match intent.strip_prefix("tool.") {
        Some(name) if !name.contains('.') => name.to_owned(),
        Some(_) | None => intent.replace('.', "__"),
    }
}

/// A word of a format as a segment of an intent: `TextMessage` is `text_message`.
pub(crate) fn segment(word: &str) -> String {
    let mut out = String::new();
    for c in word.chars().take(64) {
        if c.is_ascii_uppercase() {
            if !out.is_empty() && !out.ends_with('_') {
                out.push('_');
            }
            out.push(c.to_ascii_lowercase());
        } else if c.is_ascii_lowercase() || c.is_ascii_digit() {
            out.push(c);
        } else if !out.ends_with('_') {
            out.push('_');
        }
    }
    if !out.starts_with(|c: char| c.is_ascii_lowercase()) {
        out.insert(0, 'x');
    }
    out
}

fn is_dotted(intent: &str) -> bool {
    let is_segment = |segment: &str| {
        segment.starts_with(|c: char| c.is_ascii_lowercase())
            && segment
                .bytes()
                .all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
    };
    intent.contains('.') && intent.split('.').all(is_segment)
}

/// A speaker as AEE writes parties: one that is written so already, `human.user`, or an agent.
pub(crate) fn party(name: &str) -> String {
    let is_word = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    let is_party = name.split_once('.').is_some_and(|(kind, rest)| {
        matches!(kind, "human" | "agent" | "service" | "bus")
            && rest
                .split('.')
                .all(|part| !part.is_empty() && part.chars().all(is_word))
    });
    if is_party && name.len() <= 255 {
        return name.to_owned();
    }
    if name == "user" {
        return "human.user".into();
    }
    let word: String = name
        .chars()
        .take(200)
        .map(|c| if is_word(c) { c } else { '_' })
        .collect();
    format!("agent.{word}")
}

#[cfg(test)]
mod tests {
    use super::{of_tool, party, segment, tool_of};

    #[test]
    fn names_of_tools_are_intents_and_back() {
        for (name, intent) in [
            ("get_weather", "tool.get_weather"),
            ("ops__backup__check", "ops.backup.check"),
            ("mcp__github__search", "mcp.github.search"),
        ] {
            assert_eq!(
                (of_tool(name).as_str(), tool_of(intent).as_str()),
                (intent, name)
            );
        }
        for (name, intent) in [
            ("ops.backup.check", "ops.backup.check"),
            ("Search-Web", "tool.search_web"),
            ("9lives", "tool.t9lives"),
            ("aee.status.ping", "tool.aee_status_ping"),
            ("", "tool.t"),
        ] {
            assert_eq!(of_tool(name), intent);
        }
    }

    #[test]
    fn speakers_are_parties() {
        assert_eq!(party("Senior Researcher"), "agent.Senior_Researcher");
        assert_eq!(party("service.billing"), "service.billing");
        assert_eq!(party("user"), "human.user");
        assert_eq!(segment("ToolCallRequestEvent"), "tool_call_request_event");
    }
}
