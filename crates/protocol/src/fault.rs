//! Everything that can be refused or warned about: one closed list of codes.
//!
//! A code is stable, never reused, and has a page `docs/faults/<code>.md`. Validation collects every
//! [`Fault`] in document order; it never stops at the first.
//!
//! long because: the list of codes is one table.

use std::fmt;

/// What a fault means for the peer: decides the status on every door and the code in every dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// The bytes are not acceptable JSON or not an envelope of any dialect.
    Unreadable,
    /// An envelope, a filter or a request that breaks a rule.
    Invalid,
    /// A protocol version this build does not speak.
    UnsupportedVersion,
    /// Over a size, count or depth limit.
    TooLarge,
    /// No usable credentials.
    Unauthenticated,
    /// Known caller, not allowed.
    Forbidden,
    /// Nothing of that name here.
    NotFound,
    /// The path exists, the method does not.
    WrongMethod,
    /// The content type is not one the door reads.
    WrongMedia,
    /// The same name or key already stands for something else.
    Conflict,
    /// A state machine does not allow the move.
    IllegalTransition,
    /// Too late.
    Expired,
    /// Too fast, or too much waiting.
    RateLimited,
    /// What was waited for did not come in the time that was given.
    NoAnswer,
    /// Shutting down; try again elsewhere or later.
    Draining,
    /// Our failure; try again.
    Unavailable,
    /// Nothing is refused; the sender should know.
    Advice,
}

impl Class {
    /// The HTTP status. `Advice` never reaches a status; it maps to 422 so that it cannot look like
    /// success.
    #[must_use]
    pub fn http_status(self) -> u16 {
        match self {
            Self::Unreadable | Self::UnsupportedVersion => 400,
            Self::Unauthenticated => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::WrongMethod => 405,
            Self::Conflict | Self::IllegalTransition => 409,
            Self::Expired => 410,
            Self::TooLarge => 413,
            Self::WrongMedia => 415,
            Self::Invalid | Self::Advice => 422,
            Self::RateLimited => 429,
            Self::Draining | Self::Unavailable => 503,
            Self::NoAnswer => 504,
        }
    }

    /// Whether the same request may succeed later.
    #[must_use]
    pub fn is_retryable(self) -> bool {
        self.retry_after_ms().is_some()
    }

    /// Milliseconds after which the same request may succeed, when nobody knows better.
    #[must_use]
    pub fn retry_after_ms(self) -> Option<u64> {
        match self {
            Self::RateLimited | Self::NoAnswer | Self::Draining => Some(1_000),
            Self::Unavailable => Some(5_000),
            Self::Unreadable
            | Self::Invalid
            | Self::UnsupportedVersion
            | Self::TooLarge
            | Self::Unauthenticated
            | Self::Forbidden
            | Self::NotFound
            | Self::WrongMethod
            | Self::WrongMedia
            | Self::Conflict
            | Self::IllegalTransition
            | Self::Expired
            | Self::Advice => None,
        }
    }
}

macro_rules! codes {
    ($($class:ident { $($variant:ident = $code:literal, $title:literal;)* })*) => {
        /// A stable fault code. The text in wire form is [`Code::as_str`].
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum Code { $($(#[doc = $title] $variant,)*)* }

        impl Code {
            /// Every code.
            pub const ALL: &'static [Self] = &[$($(Self::$variant,)*)*];

            /// The code as written on every surface.
            #[must_use]
            pub fn as_str(self) -> &'static str {
                match self { $($(Self::$variant => $code,)*)* }
            }

            /// One short sentence, lower case.
            #[must_use]
            pub fn title(self) -> &'static str {
                match self { $($(Self::$variant => $title,)*)* }
            }

            /// The class that decides statuses.
            #[must_use]
            pub fn class(self) -> Class {
                match self { $($(Self::$variant => Class::$class,)*)* }
            }
        }
    };
}

codes! {
    Unreadable {
        // The reader (RFC 8259, I-JSON).
        MalformedJson = "malformed_json", "the bytes are not JSON";
        InvalidUtf8 = "invalid_utf8", "the bytes are not UTF-8";
        InvalidUnicode = "invalid_unicode", "a string holds half of a surrogate pair";
        ByteOrderMark = "byte_order_mark", "the text starts with a byte order mark";
        DuplicateKey = "duplicate_key", "an object names one member twice";
        TrailingBytes = "trailing_bytes", "something follows the JSON value";
        // Dialect detection.
        NotAnEnvelope = "not_an_envelope", "the JSON value is not an envelope of any dialect";
        ForeignFormat = "foreign_format", "another format that only shares the name";
        SupersededDraftShape = "superseded_draft_shape", "the first draft of UAI-1, before version 1.0";
        UnsupportedForm = "unsupported_form", "this form of the dialect is not read here";
        // UAI-1 keyless form (UAI 2).
        KeylessShape = "keyless_shape", "a keyless array has the wrong shape";
        KeylessOverflow = "keyless_overflow", "a keyless array has too many slots";
        KeylessNullValue = "keyless_null_value", "a null cannot be told from absence in a keyless array";
        KeylessUnmappedField = "keyless_unmapped_field", "a member has no slot in the keyless form";
        // Requests to the exchange itself.
        BadFrame = "bad_frame", "the frame is not an operation of this subprotocol";
        BadRequest = "bad_request", "a parameter of the request cannot be read";
        CursorUnknown = "cursor_unknown", "the cursor was not issued by this exchange";
    }
    UnsupportedVersion {
        UnsupportedVersion = "unsupported_version", "the protocol version is not spoken here";
        UnsupportedProfile = "unsupported_profile", "a required profile is not supported here";
    }
    TooLarge {
        TooLarge = "too_large", "the envelope or body is over the size limit";
        TooDeep = "too_deep", "arrays and objects are nested too deeply";
        TooManyTargets = "too_many_targets", "the envelope names too many recipients";
    }
    Invalid {
        // Shared by all dialects.
        MissingField = "missing_field", "a required member is absent";
        NullNotAllowed = "null_not_allowed", "null is not allowed here";
        TypeMismatch = "type_mismatch", "the JSON type is wrong";
        EnumUnknown = "enum_unknown", "the value is not one of the allowed words";
        TooShort = "too_short", "the text or list is shorter than allowed";
        TooLong = "too_long", "the text or list is longer than allowed";
        OutOfRange = "out_of_range", "the number is outside the allowed range";
        PatternMismatch = "pattern_mismatch", "the text does not follow the required pattern";
        TimestampMalformed = "timestamp_malformed", "the time is not RFC 3339 with a zone";
        UndeclaredField = "undeclared_field", "a member that the protocol does not declare";
        IdentityMalformed = "identity_malformed", "the identifier is not well formed";
        NumberNotInteroperable = "number_not_interoperable", "an integer beyond 2^53 - 1 cannot be canonicalised";
        NotTranslatable = "not_translatable", "the other dialect has no word for what the envelope says";
        // AEE.
        TierNotMet = "tier_not_met", "the envelope has too few fields for the admission policy";
        ReplyToMissing = "reply_to_missing", "a result or error must name the message it answers";
        LogTierOnly = "log_tier_only", "a five-field record can be logged, never delivered";
        // AEP.
        InvalidEventType = "invalid_event_type", "the event type is not in the registry";
        SubscriptionRejected = "subscription_rejected", "the subscription request cannot be served";
        InvalidCapability = "invalid_capability", "the session asks for what may not be granted";
        InvalidCommand = "invalid_command", "the command lacks what it needs";
        InvalidQuery = "invalid_query", "the query lacks what it needs";
        BudgetExceeded = "budget_exceeded", "the cost is over the remaining budget";
        // UAI-1 (UAI 6).
        TimestampNotUtc = "timestamp_not_utc", "the time must be RFC 3339, UTC, with a literal Z";
        UnknownProfile = "unknown_profile", "the profile id is not registered";
        ProfileMalformed = "profile_malformed", "the profile id does not have the registered shape";
        CorrelationIdMissing = "correlation_id_missing", "agent packets need a correlation id";
        CorrelationIdMalformed = "correlation_id_malformed", "the correlation id is not well formed";
        IdempotencyKeyMissing = "idempotency_key_missing", "agent packets need an idempotency key";
        IdempotencyKeyMalformed = "idempotency_key_malformed", "the idempotency key is not well formed";
        FallbackDirectiveMissing = "fallback_directive_missing", "agent packets need a fallback directive";
        DeliveryModeUnknown = "delivery_mode_unknown", "the delivery mode is not known";
        DuplicateTarget = "duplicate_target", "one recipient is named twice";
        AdditionalTargetsMalformed = "additional_targets_malformed", "additional_targets is not a list of one or more agents";
        MultiTargetCarriageConflict = "multi_target_carriage_conflict", "the two carriages name different recipients";
        TopicMissing = "topic_missing", "pubsub needs a topic";
        TopicUnexpected = "topic_unexpected", "a topic is allowed with pubsub and event only";
        TopicMalformed = "topic_malformed", "the topic is not well formed";
        HandoffTargetNotRecipient = "handoff_target_not_recipient", "the handoff names an agent that is no recipient";
        AssignmentMalformed = "assignment_malformed", "the assignment record does not fit the recipients";
        AcceptedWithoutTaskRef = "accepted_without_task_ref", "an accepted response needs a task reference";
        TaskProgressInconsistent = "task_progress_inconsistent", "state and progress contradict each other";
        ConformanceSummaryMismatch = "conformance_summary_mismatch", "the summary does not match the issues";
        CapabilityStatementIncomplete = "capability_statement_incomplete", "the capability statement leaves out what it must name";
        ErrorCodeUnregistered = "error_code_unregistered", "the error code is not registered";
        TraceparentMalformed = "traceparent_malformed", "traceparent is not W3C trace context";
        ChecksumMismatch = "checksum_mismatch", "the checksum does not match the envelope";
        MemoryContainsSecret = "memory_contains_secret", "a memory proposal holds something like a secret";
        ColdMemoryPromotion = "cold_memory_promotion", "cold memory may not become current truth directly";
        FinalReportIncomplete = "final_report_incomplete", "a final report needs a summary and evidence";
        BlockerRequiresHumanReview = "blocker_requires_human_review", "this kind of blocker needs a human";
        AckLoop = "ack_loop", "an acknowledgement may not ask for one";
        ExtensionRequiredUnknown = "extension_required_unknown", "a required extension is not understood";
        // Requests.
        FilterMalformed = "filter_malformed", "the filter cannot be read";
        FilterEmpty = "filter_empty", "the filter must name at least one of type, source, target, topic";
        PayloadInvalid = "payload_invalid", "the payload is not what its intent's schema allows";
        NotARequest = "not_a_request", "the envelope asks for nothing that could be waited for";
        UnknownSetting = "unknown_setting", "the configuration names a key that does not exist";
    }
    Unauthenticated {
        TrustReferenceMissing = "trust_reference_missing", "the auth scheme needs a credential or signature reference";
    }
    Forbidden {
        GovernanceDenied = "governance_denied", "the actor may not take this action";
        ReservedSender = "reserved_sender", "only the exchange itself speaks under this name";
        ForeignOrigin = "foreign_origin", "a page of another site may not use this exchange";
        SplitRequiresSender = "split_requires_sender", "only its sender can carry a signed or sealed message in another way";
    }
    NotFound {
        NotFound = "not_found", "nothing of that name is here";
        RouteNotFound = "route_not_found", "there is no such route";
        CursorForeign = "cursor_foreign", "the cursor was issued by another exchange";
        UnknownRecipient = "unknown_recipient", "no recipient of that name can be reached";
    }
    WrongMethod {
        MethodNotAllowed = "method_not_allowed", "the route does not take this method";
    }
    WrongMedia {
        UnsupportedMediaType = "unsupported_media_type", "the content type is not read here";
    }
    Conflict {
        IdConflict = "id_conflict", "this sender already used the id for other bytes";
        IdempotencyConflict = "idempotency_conflict", "this sender already used the idempotency key for another message";
        AmbiguousId = "ambiguous_id", "several senders used this id";
        SubscriptionConflict = "subscription_conflict", "the name already stands for another subscription";
        LeaseLost = "lease_lost", "the delivery was handed to someone else or already settled";
        SessionConflict = "session_conflict", "the session cannot be opened here now";
        SessionClosed = "session_closed", "the session has ended";
    }
    IllegalTransition {
        DuplicateTask = "duplicate_task", "a task of that id is already known";
        UnknownTask = "unknown_task", "no task has that id";
        IllegalTransition = "illegal_transition", "the task cannot make this move from its state";
        ChildTasksOpen = "child_tasks_open", "a task may not end before its children";
    }
    Expired {
        MessageExpired = "message_expired", "the message was already past its expiry";
        CursorEpochChanged = "cursor_epoch_changed", "the cursor belongs to another life of this journal";
        CursorExpired = "cursor_expired", "the cursor is older than what is kept";
    }
    RateLimited {
        Overloaded = "overloaded", "too much is waiting; slow down";
        SlowConsumer = "slow_consumer", "the reader fell too far behind";
    }
    NoAnswer {
        NoReply = "no_reply", "the task has not ended in the time that was given";
        SessionTimeout = "session_timeout", "nothing was heard of the session's peer for three heartbeats";
    }
    Draining {
        Draining = "draining", "the exchange is shutting down";
    }
    Unavailable {
        StorageFailed = "storage_failed", "the journal cannot be written; restart the exchange";
        InternalError = "internal_error", "an error of ours";
        Unreachable = "unreachable", "the exchange cannot be reached";
    }
    Advice {
        // The exchange itself.
        HopLimit = "hop_limit", "the message ends a chain of automatic reactions and goes to nobody";
        PairBudget = "pair_budget", "two parties react to each other too much; the message goes to nobody";
        ConversationBudget = "conversation_budget", "the conversation reacts to itself too much; the message goes to nobody";
        // AEE 1 to 5, 13.
        IdForm = "id_form", "the id is neither ULID nor UUID";
        IdTimeSkew = "id_time_skew", "the time inside the ULID and ts differ widely";
        ReplyToAbsent = "reply_to_absent", "reply_to should always be written, null where there is no cause";
        ReplyToNotNull = "reply_to_not_null", "the published text says reply_to should be null for this type";
        EntityForm = "entity_form", "the entity is outside human, agent, service, bus";
        EntityWildcard = "entity_wildcard", "the entity is a wildcard";
        IntentForm = "intent_form", "the intent is not dotted lower-case text";
        ReservedIntent = "reserved_intent", "the intent is in the reserved aee namespace but not one of the seven";
        RequiresForm = "requires_form", "a known requires key has the wrong type";
        ReferenceForm = "reference_form", "an entry of payload.references is not well formed";
        DecisionEvidenceIncomplete = "decision_evidence_incomplete", "the decision evidence lacks members of the asked level";
        PayloadForm = "payload_form", "the payload does not fit the published shape of its intent";
        ErrorPayloadForm = "error_payload_form", "an error payload should carry code and message";
        LogTier = "log_tier", "stored in the log intake, not delivered";
        // AEP.
        UnknownEventType = "unknown_event_type", "the event type is not in the registry and is carried as is";
        LegacyVersion = "legacy_version", "the older spelling of the version was accepted";
        // UAI-1.
        UndeclaredFieldKept = "undeclared_field_kept", "a member that the protocol does not declare was kept";
        AckExpectationMismatch = "ack_expectation_mismatch", "ack_required and requires_acknowledgement differ";
        UnsupportedRuntimeClaim = "unsupported_runtime_claim", "the text claims what no packet can grant";
        UnknownWord = "unknown_word", "a word outside the proposed list was carried";
        UnknownProfileCarried = "unknown_profile_carried", "the profile id is not registered and its body is carried as is";
        UnknownModeAsAsync = "unknown_mode_as_async", "the delivery mode is not known and is treated as async";
        SenderIsRecipient = "sender_is_recipient", "the sender is among its own recipients";
    }
}

impl Code {
    /// The code written as `text`, if there is one.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// One thing wrong in one place, or one warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// What kind of thing.
    pub code: Code,
    /// RFC 6901 pointer into the envelope; empty for the whole.
    pub pointer: String,
    /// The rule, as `AEE 1.1`, `AEP 4.1`, `UAI 9.1 M2` or `RFC 8259 7`.
    pub rule: &'static str,
    /// What was expected and what came, one sentence.
    pub detail: String,
}

impl Fault {
    /// A fault at `pointer`.
    #[must_use]
    pub fn new(
        code: Code,
        pointer: impl Into<String>,
        rule: &'static str,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            code,
            pointer: pointer.into(),
            rule,
            detail: detail.into(),
        }
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} at {:?}: {} ({})",
            self.code, self.pointer, self.detail, self.rule
        )
    }
}

/// Most faults, and most warnings, that one envelope is told about. Without it a document of one
/// mistake repeated would cost a hundred times its own size to answer.
pub const FAULTS_MAX: usize = 1_000;

/// Adds `fault` unless `list` is full.
pub(crate) fn note(list: &mut Vec<Fault>, fault: Fault) {
    if list.len() < FAULTS_MAX {
        list.push(fault);
    }
}

/// A refusal: the sender's doing, always safe to show. The first fault heads it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rejection {
    /// Boxed: refusals are rare and results are moved often.
    inside: Box<Inside>,
}

/// Every fault, in document order, and what a program can act on besides.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Inside {
    /// Decides code and status.
    first: Fault,
    rest: Vec<Fault>,
    retry_after_ms: Option<u64>,
    kept: Option<(Box<str>, Box<str>)>,
}

impl Rejection {
    /// A refusal for several reasons. `None` when there is no reason.
    #[must_use]
    pub fn from_faults(faults: Vec<Fault>) -> Option<Self> {
        let mut rest = faults.into_iter();
        let first = rest.next()?;
        Some(Self::of(first, rest.collect()))
    }

    fn of(first: Fault, rest: Vec<Fault>) -> Self {
        Self {
            inside: Box::new(Inside {
                first,
                rest,
                retry_after_ms: None,
                kept: None,
            }),
        }
    }

    /// The same refusal, worth another attempt after so many milliseconds.
    #[must_use]
    pub fn retry_after(mut self, ms: u64) -> Self {
        self.inside.retry_after_ms = Some(ms);
        self
    }

    /// Milliseconds after which the same request may succeed; none when it cannot.
    #[must_use]
    pub fn retry_after_ms(&self) -> Option<u64> {
        let usual = self.code().class().retry_after_ms()?;
        Some(self.inside.retry_after_ms.unwrap_or(usual))
    }

    /// The same refusal, with the cursors between which reading is possible.
    #[must_use]
    pub fn between(mut self, earliest: impl Into<Box<str>>, head: impl Into<Box<str>>) -> Self {
        self.inside.kept = Some((earliest.into(), head.into()));
        self
    }

    /// The earliest cursor and the newest, of a refusal that is about a place to read from.
    #[must_use]
    pub fn kept(&self) -> Option<(&str, &str)> {
        let (earliest, head) = self.inside.kept.as_ref()?;
        Some((earliest, head))
    }

    /// The fault that decides code and status.
    #[must_use]
    pub fn first(&self) -> &Fault {
        &self.inside.first
    }

    /// Every fault.
    pub fn all(&self) -> impl Iterator<Item = &Fault> {
        std::iter::once(&self.inside.first).chain(&self.inside.rest)
    }

    /// The code of the first fault.
    #[must_use]
    pub fn code(&self) -> Code {
        self.first().code
    }
}

impl From<Fault> for Rejection {
    fn from(fault: Fault) -> Self {
        Self::of(fault, Vec::new())
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self.first(), f)
    }
}

impl std::error::Error for Rejection {}

#[cfg(test)]
mod tests {
    use super::{Code, Fault, Rejection};
    use std::collections::HashSet;

    #[test]
    fn codes_are_unique_and_readable_back() {
        let mut seen = HashSet::new();
        for code in Code::ALL {
            assert!(seen.insert(code.as_str()), "{code} is used twice");
            assert_eq!(Code::parse(code.as_str()), Some(*code));
        }
    }
    #[test]
    fn only_what_may_succeed_later_says_when() {
        for code in Code::ALL {
            let refused: Rejection = Fault::new(*code, "", "", "").into();
            let is_retryable = code.class().is_retryable();
            assert_eq!(refused.retry_after_ms().is_some(), is_retryable, "{code}");
            let told = refused.retry_after(250).retry_after_ms();
            assert_eq!(told, is_retryable.then_some(250), "{code}");
        }
    }
}
