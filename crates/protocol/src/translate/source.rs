//! What a valid envelope says, wherever its dialect keeps it.

use std::borrow::Cow;

use super::names::text;
use crate::json::{Kind, Value};
use crate::{Act, Code, DialectName, Fault, Header, SettlementVerdict, Timestamp, canonical};

/// The longest text that is written a second time, outside the origin: in characters.
const SHOWN_MAX: usize = 500;
/// 0001-01-01 and 9999-12-31: what four digits of a year can say.
const MILLIS_MIN: i64 = -62_135_596_800_000;
const MILLIS_MAX: i64 = 253_402_300_799_999;

/// What part of its content an act carries to the reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    Input,
    Result,
    Whole,
}

/// A part of the origin as canonical JSON, and where it stands there; `None` when it stands nowhere.
pub(super) struct Piece {
    pub(super) json: String,
    pub(super) from: Option<&'static str>,
    pub(super) is_object: bool,
}

/// One envelope in keyed form, with its header.
pub(super) struct Source<'d> {
    pub(super) header: &'d Header,
    /// What is said; an acknowledgement that says "not now" rejects.
    pub(super) act: Act,
    /// When, as the sender wrote it.
    pub(super) written_at: Cow<'d, str>,
    pub(super) at: Timestamp,
    content: Option<Value<'d>>,
    /// Whether the pointers of pieces are true of the origin: not of a keyless one.
    is_keyed: bool,
}

impl<'d> Source<'d> {
    pub(super) fn of(doc: Value<'d>, header: &'d Header, is_keyed: bool) -> Result<Self, Fault> {
        let (pointer, content) = match header.dialect {
            DialectName::Aee => ("/ts", "payload"),
            DialectName::Aep => ("/created_at", "payload"),
            DialectName::Uai => ("/provenance/issued_at", "body"),
        };
        let written_at = doc.at(pointer).and_then(Value::as_str).unwrap_or_default();
        let at = Timestamp::parse_rfc3339(&written_at)
            .map(|(at, _)| at)
            .filter(is_sayable);
        let Some(at) = at else {
            let detail = format!(
                "expected an RFC 3339 time, which every other dialect asks for, got {written_at:?}"
            );
            return Err(Fault::new(
                Code::TimestampMalformed,
                pointer,
                super::RULE,
                detail,
            ));
        };
        Ok(Self {
            header,
            act: act(header),
            written_at,
            at,
            content: doc.get(content),
            is_keyed,
        })
    }

    /// The part of the content that this act is about.
    pub(super) fn piece(&self, part: Part) -> Result<Piece, Fault> {
        let (whole, input, result) = match self.header.dialect {
            DialectName::Aee => ("/payload", None, None),
            DialectName::Aep => (
                "/payload",
                Some(("input", "/payload/input")),
                Some(("result", "/payload/result")),
            ),
            DialectName::Uai => (
                "/body",
                Some(("parameters", "/body/parameters")),
                Some(("result", "/body/result")),
            ),
        };
        let narrow = match part {
            Part::Input => input,
            Part::Result => result,
            Part::Whole => None,
        };
        let narrow = narrow.and_then(|(name, pointer)| {
            let value = self.content?.get(name).filter(|value| !value.is_null())?;
            Some((value, pointer))
        });
        let Some((value, pointer)) = narrow.or(self.content.map(|content| (content, whole))) else {
            return Ok(Piece {
                json: "{}".into(),
                from: None,
                is_object: true,
            });
        };
        Ok(Piece {
            json: canonical::canonicalize(value, &[])?,
            from: self.is_keyed.then_some(pointer),
            is_object: value.kind() == Kind::Object,
        })
    }

    fn first_text(&self, names: &[&str]) -> Option<String> {
        let content = self.content?;
        let found = names.iter().find_map(|name| text(content, name))?;
        Some(found.chars().take(SHOWN_MAX).collect())
    }

    /// What its content says in words.
    pub(super) fn message(&self) -> Option<String> {
        let of_error = || {
            let message = self.content?.get("error")?.get("message")?.as_str()?;
            Some(message.chars().take(SHOWN_MAX).collect())
        };
        let of_notice = || {
            let notice = self.content?.get("notices")?.items().next()?.as_str()?;
            Some(notice.chars().take(SHOWN_MAX).collect())
        };
        self.first_text(&[
            "message",
            "reason",
            "detail",
            "content",
            "notes",
            "summary",
            "description",
            "text",
        ])
        .or_else(of_error)
        .or_else(of_notice)
    }

    /// What it is about in words, for a request.
    pub(super) fn subject(&self) -> Option<String> {
        self.first_text(&[
            "description",
            "work_description",
            "subject",
            "exact_next_action",
            "content",
            "message",
        ])
    }

    /// The error's own code.
    pub(super) fn code(&self) -> Option<String> {
        let content = self.content?;
        let code = content.get("error").and_then(|error| text(error, "code"));
        code.or_else(|| text(content, "code")).map(Cow::into_owned)
    }

    /// Whether the sender says that it may succeed later.
    pub(super) fn is_retryable(&self) -> bool {
        let said = self.content.and_then(|content| {
            let error = content.get("error").unwrap_or(content);
            error.get("retryable")?.as_bool()
        });
        let is_again = self
            .header
            .settles
            .as_ref()
            .is_some_and(|settled| matches!(settled.verdict, SettlementVerdict::Again { .. }));
        said.unwrap_or(is_again || self.act == Act::TimeOut)
    }

    /// Whether it says of a delivery that it shall not come again.
    pub(super) fn is_never(&self) -> bool {
        let settles = self.header.settles.as_ref();
        settles.is_some_and(|settled| matches!(settled.verdict, SettlementVerdict::Never { .. }))
    }

    /// How much is done, from 0 to 1.
    pub(super) fn progress(&self) -> Option<f64> {
        let progress = self.content?.get("progress")?.as_f64()?;
        let scale = if self.header.dialect == DialectName::Uai {
            100.0
        } else {
            1.0
        };
        Some((progress / scale).clamp(0.0, 1.0))
    }

    /// The intent, where the dialect or the writer of an AEP payload names one.
    pub(super) fn intent(&self) -> Option<Cow<'d, str>> {
        match self.header.intent.as_deref() {
            Some(intent) => Some(Cow::Borrowed(intent)),
            None => text(self.content?, "intent"),
        }
    }

    /// What its own dialect calls it: AEE intent, AEP type, UAI-1 profile.
    pub(super) fn label(&self) -> &'d str {
        match self.header.dialect {
            DialectName::Aee => self.header.intent.as_deref().unwrap_or(&self.header.kind),
            DialectName::Aep | DialectName::Uai => &self.header.kind,
        }
    }

    /// Where it may be late, when a year of four digits can say it.
    pub(super) fn deadline(&self) -> Option<Timestamp> {
        self.header.deadline.filter(is_sayable)
    }

    /// The task, or what stands nearest to one.
    pub(super) fn task(&self) -> &'d str {
        let header = self.header;
        let named = [
            &header.task,
            &header.cause,
            &header.correlation,
            &header.conversation,
        ];
        let found = named.into_iter().find_map(|id| id.as_deref());
        found.unwrap_or(&header.id)
    }

    /// The message that this one follows.
    pub(super) fn cause(&self) -> Option<&'d str> {
        self.header.cause.as_deref()
    }

    /// What an answer answers: the task it is about, else the message before it.
    pub(super) fn answered(&self) -> &'d str {
        let says_which = matches!(
            self.label(),
            "uai.intent.response.v1" | "uai.agent.ack.v1" | "uai.error.v1" | "uai.agent.message.v1"
        );
        match &self.header.cause {
            Some(cause) if says_which => cause,
            Some(_) | None => self.task(),
        }
    }

    /// Conversation, correlation, or the message itself, which then begins one.
    pub(super) fn conversation(&self) -> &'d str {
        let header = self.header;
        header
            .conversation
            .as_deref()
            .or(header.correlation.as_deref())
            .unwrap_or(&header.id)
    }
}

/// What an envelope says. An acknowledgement of "not now" rejects.
pub(super) fn act(header: &Header) -> Act {
    let is_no = header
        .settles
        .as_ref()
        .is_some_and(|settled| !matches!(settled.verdict, SettlementVerdict::Acknowledged));
    if header.act == Act::Ack && is_no {
        Act::Reject
    } else {
        header.act
    }
}

fn is_sayable(moment: &Timestamp) -> bool {
    (MILLIS_MIN..=MILLIS_MAX).contains(&moment.as_millis())
}
