//! What was asked of an exchange and what it answered, as whoever asked saw it.
//!
//! One vocabulary for the simulation and for runs against the real program. A history is a list of
//! [`Line`]s; as text, one JSON value a line.

mod check;
mod text;
mod told;

pub use check::check;

use serde::{Deserialize, Serialize};
use std::hash::{DefaultHasher, Hasher as _};

/// The name of something that messages wait in: `inbox agent:b`, `subscription watch`.
pub type Place = String;

/// Who sends what the exchange itself has to say.
pub const EXCHANGE: &str = "service:interwire";

/// The place of a party's inbox.
pub fn inbox(party: &str) -> Place {
    format!("inbox {party}")
}

/// The place of a named subscription.
pub fn subscription(name: &str) -> Place {
    format!("subscription {name}")
}

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Line {
    /// When, in milliseconds of the observer's clock.
    pub at: i64,
    /// What.
    pub what: What,
}

/// A call, its answer, or the end of the exchange.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    /// Somebody asked for something. A call has at most one answer.
    Called {
        /// Numbers the calls.
        call: u64,
        /// What was asked.
        ask: Call,
    },
    /// The exchange answered.
    Answered {
        /// Which call.
        call: u64,
        /// What it said.
        answer: Answer,
    },
    /// Whoever made this call went away before its answer.
    Abandoned {
        /// Which call.
        call: u64,
    },
    /// The exchange was killed; what was asked and not answered may have happened or not.
    Died,
}

/// What can be asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
#[expect(
    missing_docs,
    reason = "the names are those of the exchange's own operations"
)]
pub enum Call {
    Publish {
        message: Message,
    },
    Configure {
        place: Place,
        terms: Terms,
    },
    Subscribe {
        name: String,
        wants: Wants,
        /// Whose inbox gets it, instead of the subscription's own place.
        deliver_to: Option<String>,
        terms: Terms,
    },
    Unsubscribe {
        name: String,
    },
    Pull {
        place: Place,
        consumer: Option<String>,
        max: usize,
        /// Wait for the first.
        wait: bool,
    },
    Settle {
        deliveries: Vec<String>,
        how: How,
    },
    /// What this consumer holds goes to others; if it died over it, as failed attempts.
    Leave {
        place: Place,
        consumer: Option<String>,
        is_dead: bool,
    },
    Pause {
        place: Place,
        is_paused: bool,
    },
    DeadLetters {
        place: Place,
    },
    Redrive {
        letter: String,
    },
    Drop {
        letter: String,
    },
    /// Read everything back.
    Read,
    /// Follow what comes after this place in the journal.
    Follow {
        reader: u64,
        wants: Wants,
        after: u64,
    },
    /// What comes next for this reader; waits for it.
    Next {
        reader: u64,
        max: usize,
    },
}

/// What a reader says about deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum How {
    /// Done.
    Ack,
    /// Again, after so many milliseconds or the place's own wait.
    Nack(Option<i64>),
    /// Never again.
    Reject,
    /// Not yet; hold it so many milliseconds more.
    Extend(Option<i64>),
}

/// How a place delivers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[expect(
    missing_docs,
    reason = "the names are those of the exchange's own settings"
)]
pub struct Terms {
    pub lease_ms: i64,
    pub max_attempts: u32,
    pub backoff_ms: i64,
    /// Every wait is twice the one before, up to this.
    pub backoff_ms_max: i64,
    pub in_flight_max: usize,
    /// Whether a conversation keeps to one consumer and in order.
    pub is_ordered: bool,
}

/// The facts of a message that decide who gets it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Message {
    /// Who sent it.
    pub sender: String,
    /// With the sender, what makes two publishes the same message.
    pub key: String,
    /// The [`print()`] of its bytes.
    pub print: u64,
    /// Whom it names; one that ends in `*` means every inbox that begins so, but the sender's.
    pub targets: Vec<String>,
    /// Its topics.
    pub topics: Vec<String>,
    /// Its conversation.
    pub conversation: Option<String>,
    /// 0 for low, 1 for normal, and so on.
    pub priority: u8,
    /// After this nobody needs it.
    pub deadline: Option<i64>,
    /// Its own limit of attempts.
    pub max_attempts: Option<u32>,
    /// The key of a message to its sender that it acknowledges.
    pub acknowledges: Option<String>,
    /// The task that it opens or ends, which has the key of the message that opened it.
    pub task: Option<TaskStep>,
}

/// What a message does to a task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TaskStep {
    /// Opens one, that has to end in so many milliseconds.
    Opens(Option<i64>),
    /// Ends the one of that key.
    Ends(String),
}

/// A filter of at most one value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Wants {
    /// Every message.
    Everything,
    /// Messages that name this recipient or channel.
    Target(String),
    /// Messages with this topic.
    Topic(String),
    /// Messages of this conversation.
    Conversation(String),
}

/// What the exchange said.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Answer {
    /// The message is durable.
    Receipt {
        /// Where.
        sequence: u64,
        /// Whether it had been published before.
        duplicate: bool,
    },
    /// Deliveries, now this reader's.
    Delivered(Vec<Delivered>),
    /// For each delivery nothing, or why not.
    Settled(Vec<Option<String>>),
    /// Done.
    Done,
    /// Dead letters.
    Dead(Vec<DeadLetter>),
    /// Messages of the journal, in order.
    Journal(Vec<Stored>),
    /// Refused, with this code.
    Refused(String),
}

/// One delivery.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Delivered {
    /// What settles it.
    pub delivery: String,
    /// The message.
    pub message: Stored,
    /// How often this place has handed it out, from 1.
    pub attempt: u32,
    /// Whether it may have been handed out before.
    pub redelivered: bool,
    /// Until when it is this reader's.
    pub until: i64,
}

/// One dead letter.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct DeadLetter {
    /// What redrives or drops it.
    pub letter: String,
    /// The message.
    pub message: Stored,
}

/// A message as it came out.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// Its place in the journal.
    pub sequence: u64,
    /// The [`print()`] of its bytes.
    pub print: u64,
    /// Who sent it.
    pub sender: String,
    /// Its conversation.
    pub conversation: Option<String>,
    /// The task that it ends, if it does.
    pub ends: Option<String>,
}

/// A number that stands for bytes; different bytes have different numbers, as far as tests go.
pub fn print(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

impl Message {
    /// Whether a filter asks for it.
    pub fn is_wanted_by(&self, wants: &Wants) -> bool {
        match wants {
            Wants::Everything => true,
            Wants::Target(party) => self.targets.contains(party),
            Wants::Topic(topic) => self.topics.contains(topic),
            Wants::Conversation(id) => self.conversation.as_ref() == Some(id),
        }
    }

    /// Whether both are what one sender calls by one name.
    pub fn has_key_of(&self, other: &Self) -> bool {
        self.sender == other.sender && self.key == other.key
    }
}
