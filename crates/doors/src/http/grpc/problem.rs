//! Refusals as gRPC says them: a status, and the whole problem in its details.

use super::generated::interwire_v1 as wire;
use prost::Message as _;
use protocol::fault::Class;
use protocol::{Fault, Rejection};
use tonic::{Code, Status};

/// `google.rpc.Status`, the content of `grpc-status-details-bin`.
#[derive(Clone, PartialEq, prost::Message)]
struct Details {
    #[prost(int32, tag = "1")]
    code: i32,
    #[prost(string, tag = "2")]
    message: String,
    #[prost(message, repeated, tag = "3")]
    details: Vec<Any>,
}

/// `google.protobuf.Any`.
#[derive(Clone, PartialEq, prost::Message)]
struct Any {
    #[prost(string, tag = "1")]
    type_url: String,
    #[prost(bytes = "vec", tag = "2")]
    value: Vec<u8>,
}

const PROBLEM_TYPE: &str = "type.googleapis.com/interwire.v1.Problem";

/// Bytes of details that a trailer is given: peers refuse trailers of more than 8 KiB, and base64 makes
/// them longer. Faults beyond are left out, the first stays.
const DETAILS_BYTES_MAX: usize = 4 << 10;

/// Characters of the status's own message.
const MESSAGE_CHARS_MAX: usize = 512;

/// The status of a refusal.
pub(super) fn status(rejection: &Rejection) -> Status {
    let code = code(rejection.code().class());
    let first = rejection.first();
    let message: String = format!("{}: {}", first.code, first.detail)
        .chars()
        .take(MESSAGE_CHARS_MAX)
        .collect();
    let mut problem = problem(rejection, "");
    while problem.encoded_len() > DETAILS_BYTES_MAX && problem.errors.len() > 1 {
        let half = problem.errors.len() / 2;
        problem.errors.truncate(half);
    }
    if problem.encoded_len() > DETAILS_BYTES_MAX {
        problem.errors.clear();
        problem.detail = problem.detail.chars().take(MESSAGE_CHARS_MAX).collect();
        problem.pointer = problem.pointer.chars().take(MESSAGE_CHARS_MAX).collect();
    }
    let details = Details {
        code: code as i32,
        message: message.clone(),
        details: vec![Any {
            type_url: PROBLEM_TYPE.into(),
            value: problem.encode_to_vec(),
        }],
    };
    Status::with_details(code, message, details.encode_to_vec().into())
}

/// A refusal as a message; `prefix` stands before every pointer.
pub(super) fn problem(rejection: &Rejection, prefix: &str) -> wire::Problem {
    let first = rejection.first();
    let (earliest, head) = rejection.kept().unwrap_or_default();
    wire::Problem {
        code: first.code.to_string(),
        title: first.code.title().into(),
        detail: first.detail.to_string(),
        pointer: format!("{prefix}{}", first.pointer),
        rule: first.rule.into(),
        retryable: first.code.class().is_retryable(),
        retry_after_ms: rejection.retry_after_ms(),
        earliest: earliest.into(),
        head: head.into(),
        errors: rejection.all().map(|one| fault(one, prefix)).collect(),
    }
}

/// One fault as a message.
pub(super) fn fault(fault: &Fault, prefix: &str) -> wire::Fault {
    wire::Fault {
        code: fault.code.to_string(),
        pointer: format!("{prefix}{}", fault.pointer),
        rule: fault.rule.into(),
        detail: fault.detail.to_string(),
    }
}

/// The status code of a class of faults (`docs/grpc.md`; AEP 9.4 where that says one).
fn code(class: Class) -> Code {
    match class {
        Class::Unreadable
        | Class::Invalid
        | Class::UnsupportedVersion
        | Class::WrongMedia
        | Class::Advice
        | Class::TooLarge => Code::InvalidArgument,
        Class::Unauthenticated => Code::Unauthenticated,
        Class::Forbidden => Code::PermissionDenied,
        Class::NotFound => Code::NotFound,
        Class::WrongMethod => Code::Unimplemented,
        Class::Conflict => Code::AlreadyExists,
        Class::IllegalTransition => Code::FailedPrecondition,
        Class::Expired => Code::OutOfRange,
        Class::RateLimited => Code::ResourceExhausted,
        Class::NoAnswer => Code::DeadlineExceeded,
        Class::Draining | Class::Unavailable => Code::Unavailable,
    }
}

#[cfg(test)]
mod tests {
    use super::{DETAILS_BYTES_MAX, Details, PROBLEM_TYPE, status, wire};
    use prost::Message as _;
    use protocol::{Fault, Rejection};

    #[test]
    fn a_status_carries_the_whole_problem() {
        let fault = Fault::new(
            protocol::Code::MissingField,
            "/to",
            "AEE 1.2",
            "expected `to`",
        );
        let status = status(&fault.into());
        assert_eq!(status.code(), tonic::Code::InvalidArgument);
        assert_eq!(status.message(), "missing_field: expected `to`");
        let details = Details::decode(status.details()).unwrap();
        let any = &details.details[0];
        assert_eq!(any.type_url, PROBLEM_TYPE);
        let problem = wire::Problem::decode(&*any.value).unwrap();
        assert_eq!(problem.code, "missing_field");
        assert_eq!(problem.errors[0].pointer, "/to");
        assert!(!problem.retryable);
        assert_eq!(problem.retry_after_ms, None);
    }

    #[test]
    fn a_thousand_faults_fit_into_a_trailer_and_the_first_is_there() {
        let fault = |at: usize| {
            let pointer = format!("/payload/{at}");
            Fault::new(
                protocol::Code::TypeMismatch,
                pointer,
                "AEE 1.3",
                "x".repeat(300),
            )
        };
        let rejection = Rejection::from_faults((0..1_000).map(fault).collect()).unwrap();
        let status = status(&rejection);
        assert!(status.details().len() < DETAILS_BYTES_MAX + 1_024);
        let details = Details::decode(status.details()).unwrap();
        let problem = wire::Problem::decode(&*details.details[0].value).unwrap();
        assert_eq!(problem.errors[0].pointer, "/payload/0");
    }
}
