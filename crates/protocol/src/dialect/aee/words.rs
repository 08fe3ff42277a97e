//! The error codes AEE peers read in an error payload (AEE 7.2).
//!
//! AEE publishes no catalogue; these are the words of its starter set that an exchange can mean.

use crate::Code;
use crate::fault::Class;

/// The word for a class of fault.
pub(super) fn for_class(class: Class) -> &'static str {
    match class {
        Class::Unreadable | Class::Invalid | Class::IllegalTransition | Class::Advice => "E_SCHEMA",
        Class::UnsupportedVersion => "E_VERSION",
        Class::TooLarge => "E_TOO_LARGE",
        Class::Unauthenticated => "E_UNAUTHENTICATED",
        Class::Forbidden => "E_FORBIDDEN",
        Class::NotFound | Class::WrongMethod => "E_NOT_FOUND",
        Class::WrongMedia => "E_PAYLOAD",
        Class::Conflict => "E_ID_CONFLICT",
        Class::Expired => "E_EXPIRED",
        Class::RateLimited => "E_RATE_LIMITED",
        Class::NoAnswer => "E_TIMEOUT",
        Class::Draining | Class::Unavailable => "E_UNAVAILABLE",
    }
}

/// The word for one code: more exact than its class where AEE has a word of its own.
pub(super) fn for_code(code: Code) -> &'static str {
    let is_payload = matches!(
        code,
        Code::PayloadForm | Code::ErrorPayloadForm | Code::ReferenceForm
    );
    if is_payload {
        "E_PAYLOAD"
    } else if code == Code::UnknownRecipient {
        "E_UNKNOWN_RECIPIENT"
    } else if code == Code::InternalError {
        "E_INTERNAL"
    } else {
        for_class(code.class())
    }
}

#[cfg(test)]
mod tests {
    use super::for_code;
    use crate::Code;

    #[test]
    fn every_code_has_a_word_of_the_starter_set() {
        for code in Code::ALL {
            assert!(for_code(*code).starts_with("E_"), "{code}");
        }
        assert_eq!(for_code(Code::UnknownRecipient), "E_UNKNOWN_RECIPIENT");
        assert_eq!(for_code(Code::NotFound), "E_NOT_FOUND");
        assert_eq!(for_code(Code::InternalError), "E_INTERNAL");
        assert_eq!(for_code(Code::StorageFailed), "E_UNAVAILABLE");
        assert_eq!(for_code(Code::TooShort), "E_SCHEMA");
    }
}
