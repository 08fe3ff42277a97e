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
//! | `pull`, `settle` | leases: handing out, acknowledging, giving back, running out |
//! | `apply` | the same state again, from records |
//! | `record` | the bytes of a record |

mod apply;
mod dedupe;
mod delivery;
mod exchange;
mod listen;
mod matcher;
mod place;
mod places;
mod publish;
mod pull;
mod record;
mod settings;
mod settle;
mod subscribe;

pub use delivery::{DeliveryId, Lease, Settle};
pub use exchange::{Counts, Exchange};
pub use listen::ChannelId;
pub use place::{PlaceId, PlaceName};
pub use publish::{Publication, RecipientState};
pub use record::{Record, RecordError};
pub use settings::Settings;
pub use settle::Settled;
pub use subscribe::SubscriptionView;
