//! Who gets what, when, and what is owed: a state machine without clock, socket or file.
//!
//! The broker calls one method per request, appends the records it returns to the journal, commits,
//! and only then lets anybody know. On start it feeds the journal through [`Exchange::apply`], which
//! rebuilds the same state.
//!
//! | file | what it decides |
//! |---|---|
//! | `publish` | whether a message is new, legal and deliverable, and which places get it |
//! | `subscribe`, `listen` | durable subscriptions; live channels |
//! | `pull`, `settle`, `expire` | leases: handing out, acknowledging, giving back, running out |
//! | `fail`, `dead_letters` | failed attempts: again later, or a dead letter |
//! | `in_band` | messages that settle the delivery of another |
//! | `tasks` | what is asked about tasks; what they may do is decided in `protocol` |
//! | `loop_guard` | which message ends a loop and goes to nobody |
//! | `configure` | how a place delivers, and whether it does |
//! | `seen` | which keys of older messages are in memory, and which are asked for elsewhere |
//! | `directory` | cards of agents, and whether each is there |
//! | `owed` | what is owed, for those who look |
//! | `retain` | what old messages are still owed, and letting go of them |
//! | `apply` | the same state again, from records |
//! | `snapshot` | the state as bytes, and back |
//! | `record` | the bytes of a record |

mod apply;
mod claims;
mod configure;
mod dead_letters;
mod dedupe;
mod delivery;
mod delivery_settings;
mod directory;
mod exchange;
mod expire;
mod fail;
mod in_band;
mod listen;
mod loop_guard;
mod matcher;
mod outcome;
mod owed;
mod place;
mod places;
mod publish;
mod pull;
mod push;
mod record;
mod retain;
mod seen;
mod settings;
mod settle;
mod snapshot;
mod subscribe;
mod tasks;
pub mod trace;

pub use configure::PlaceView;
pub use dead_letters::DeadLetter;
pub use dedupe::{First, FrozenKeys, Key, Older, OlderUnreadable};
pub use delivery::{DeliveryId, Lease, Settle};
pub use delivery_settings::{DeliverySettings, Order};
pub use directory::{AgentQuery, AgentView, CardSource, DirectoryLimits, Presence};
pub use exchange::{Counts, Exchange};
pub use listen::ChannelId;
pub use loop_guard::{LoopLimit, LoopLimits, Step, Stop};
pub use outcome::{Notice, Outcome};
pub use owed::OwedDelivery;
pub use place::{Consumer, DeliveryState, PlaceId, PlaceName};
pub use publish::{Publication, RecipientState, inboxes_of_lines};
pub use push::Push;
pub use record::{Ending, FailedDelivery, Failure, Record, RecordError};
pub use retain::{Looked, RETENTION};
pub use seen::KeyGatherer;
pub use settings::Settings;
pub use settle::Results;
pub use snapshot::SnapshotError;
pub use subscribe::SubscriptionView;
