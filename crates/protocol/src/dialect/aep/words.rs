//! The error codes that AEP peers know (AEP 7), for every fault of ours.

use crate::Code;
use crate::fault::Class;

/// The AEP code for a class of fault.
#[must_use]
pub fn of_class(class: Class) -> &'static str {
    match class {
        Class::Unreadable
        | Class::WrongMethod
        | Class::WrongMedia
        | Class::Conflict
        | Class::NotFound
        | Class::TooLarge => "protocol_error",
        Class::Invalid | Class::Advice => "invalid_envelope",
        Class::UnsupportedVersion => "unsupported_version",
        Class::Unauthenticated | Class::Forbidden => "unauthorized",
        Class::IllegalTransition => "task_error",
        Class::Expired => "timeout",
        Class::RateLimited => "rate_limited",
        Class::NoAnswer => "task_timeout",
        Class::Draining => "transport_unavailable",
        Class::Unavailable => "internal_error",
    }
}

/// The AEP code for a fault: finer than its class where AEP has a word.
#[must_use]
#[expect(
    clippy::wildcard_enum_match_arm,
    reason = "every code without an AEP word of its own goes by its class"
)]
pub fn of_code(code: Code) -> &'static str {
    match code {
        Code::InvalidEventType | Code::UnknownEventType => "invalid_event_type",
        Code::BudgetExceeded => "budget_exceeded",
        Code::InvalidCommand => "invalid_command",
        Code::InvalidQuery => "invalid_query",
        Code::SubscriptionRejected | Code::FilterEmpty | Code::FilterMalformed => {
            "subscription_rejected"
        }
        Code::SubscriptionConflict => "subscription_error",
        Code::SessionConflict => "session_error",
        Code::SessionClosed => "session_closed",
        Code::SessionTimeout => "session_timeout",
        Code::UnsupportedProfile => "unsupported_profile",
        Code::InvalidCapability => "invalid_capability",
        Code::NotAnEnvelope | Code::ForeignFormat => "invalid_envelope",
        other => of_class(other.class()),
    }
}

/// Whether AEP says that the same event may succeed later.
#[must_use]
pub fn is_retryable(word: &str) -> bool {
    matches!(
        word,
        "internal_error"
            | "session_timeout"
            | "task_timeout"
            | "tool_timeout"
            | "rate_limited"
            | "transport_unavailable"
    )
}

#[cfg(test)]
mod tests {
    use super::{is_retryable, of_code};
    use crate::Code;

    #[test]
    fn every_code_of_ours_has_a_word_that_agrees_about_retrying() {
        for code in Code::ALL {
            let word = of_code(*code);
            assert!(!word.is_empty(), "{code}");
            assert_eq!(
                is_retryable(word),
                code.class().is_retryable(),
                "{code} as {word}"
            );
        }
    }

    #[test]
    fn the_words_of_the_reference_are_used() {
        for (code, word) in [
            (Code::MissingField, "invalid_envelope"),
            (Code::InvalidEventType, "invalid_event_type"),
            (Code::UnsupportedVersion, "unsupported_version"),
            (Code::GovernanceDenied, "unauthorized"),
            (Code::BudgetExceeded, "budget_exceeded"),
            (Code::UnknownTask, "task_error"),
            (Code::ChildTasksOpen, "task_error"),
            (Code::SubscriptionRejected, "subscription_rejected"),
            (Code::MalformedJson, "protocol_error"),
        ] {
            assert_eq!(of_code(code), word, "{code}");
        }
    }
}
