//! One subscription of a session (AEP 4), and where it stands.

use super::capabilities::DELIVERY_MODES;
use crate::filter::Field;
use crate::json::{Kind, Limits, Value, push_string, read};
use crate::{Code, Fault, Filter, Rejection, Timestamp};

/// What a subscription is owed (AEP 6).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum DeliveryMode {
    /// Once at most.
    #[default]
    BestEffort,
    /// Until it is acknowledged.
    AtLeastOnce,
    /// Again from a cursor, then live.
    Replayable,
}

impl DeliveryMode {
    /// The protocol's word.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        let [best_effort, at_least_once, replayable] = DELIVERY_MODES;
        match self {
            Self::BestEffort => best_effort,
            Self::AtLeastOnce => at_least_once,
            Self::Replayable => replayable,
        }
    }

    /// The reverse of [`Self::as_str`].
    #[must_use]
    pub fn parse(word: &str) -> Option<Self> {
        [Self::BestEffort, Self::AtLeastOnce, Self::Replayable]
            .into_iter()
            .find(|mode| mode.as_str() == word)
    }
}

/// A place in the journal: its number, which is compared, and its cursor, which is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The sequence in the journal.
    pub sequence: u64,
    /// The cursor, as every door writes it.
    pub cursor: Box<str>,
}

/// One subscription.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subscription {
    /// Its id in the session: `sub_0001`.
    pub id: Box<str>,
    /// What it wants.
    pub filter: Filter,
    /// The filter as the peer wrote it.
    pub asked: Box<str>,
    /// What it is owed.
    pub mode: DeliveryMode,
    /// The cursor or event id after which it begins; `None` is now.
    pub from: Option<Box<str>>,
    /// When it ends by itself.
    pub expires: Option<Timestamp>,
    /// Where it began.
    pub(super) start: Option<Place>,
    /// Everything up to here was sent.
    pub(super) sent: Option<Place>,
    /// Everything up to here was acknowledged.
    pub(super) acknowledged: Option<Place>,
    /// It came back with its session, and may be asked for once more.
    pub(super) is_resumed: bool,
}

impl Subscription {
    /// Reads the payload of `subscription.requested`. Members that are no part of a filter are passed
    /// over, because the published schema allows any.
    pub(super) fn read(id: Box<str>, payload: Value<'_>) -> Result<Self, Rejection> {
        let mut known = String::from("{");
        for (key, value) in payload.members() {
            let name = key.text();
            if Field::parse(&name).is_none() || value.is_null() {
                continue;
            }
            if known.len() > 1 {
                known.push(',');
            }
            push_string(&mut known, &name);
            known.push(':');
            known.push_str(value.raw());
        }
        known.push('}');
        let limits = Limits {
            bytes_max: known.len(),
            ..Limits::default()
        };
        let filter = Filter::from_json(read(known.as_bytes(), limits)?.root())?;
        let text =
            |name: &str| -> Option<Box<str>> { Some(Box::from(&*payload.get(name)?.as_str()?)) };
        let expires = match payload.get("expires_at").filter(|value| !value.is_null()) {
            None => None,
            Some(value) => {
                let moment = value.as_str();
                let moment = moment.and_then(|text| Timestamp::parse_rfc3339(&text));
                Some(
                    moment
                        .map(|(moment, _)| moment)
                        .ok_or_else(|| expiry(value))?,
                )
            }
        };
        let from = text("from_cursor");
        let mode = text("delivery_mode").and_then(|word| DeliveryMode::parse(&word));
        // Who names a cursor wants a replay, which a durable place, that begins now, cannot give.
        let mode = match (mode, &from) {
            (None | Some(DeliveryMode::AtLeastOnce), Some(_)) => DeliveryMode::Replayable,
            (mode, _) => mode.unwrap_or_default(),
        };
        Ok(Self {
            id,
            filter,
            asked: payload.raw().into(),
            mode,
            from,
            expires,
            start: None,
            sent: None,
            acknowledged: None,
            is_resumed: false,
        })
    }

    /// Whether both ask for the same.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        self.filter == other.filter && self.mode == other.mode
    }

    /// Where it goes on when its connection was lost: what is owed again comes again.
    pub(super) fn resume_at(&self) -> Option<&Place> {
        match self.mode {
            DeliveryMode::BestEffort => self.sent.as_ref().or(self.start.as_ref()),
            DeliveryMode::Replayable => self.acknowledged.as_ref().or(self.start.as_ref()),
            // Its place keeps what is owed.
            DeliveryMode::AtLeastOnce => None,
        }
    }

    /// The cursor a peer may hand in later.
    pub(super) fn cursor(&self) -> Option<&str> {
        let place = self.sent.as_ref().or(self.start.as_ref())?;
        Some(&place.cursor)
    }
}

fn expiry(value: Value<'_>) -> Rejection {
    let got = if value.kind() == Kind::String {
        "another text"
    } else {
        value.kind().as_str()
    };
    let detail = format!("expected an RFC 3339 moment, got {got}");
    Fault::new(
        Code::SubscriptionRejected,
        "/payload/expires_at",
        "AEP 4.3",
        detail,
    )
    .into()
}
