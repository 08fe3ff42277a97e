//! The running exchange: one loop that handles a batch, commits once, then speaks.
//!
//! [`Broker::open`] rebuilds the [`exchange::Exchange`] from the journal and starts the loop on its
//! own thread. Everything else goes through a [`Handle`], which is cheap to clone. Doors move frames;
//! every rule is behind the handle.

mod agreements;
mod channel;
mod checkpointer;
mod clock;
mod dead_letters;
mod deliveries;
mod desk;
mod directory;
mod entry;
mod fate;
mod find;
mod follow;
mod gap;
mod give_up;
mod handle;
mod indexer;
mod keys;
mod lane;
mod meter;
mod open;
mod owed;
mod page;
mod parked;
mod payload;
mod places;
mod publish;
mod recall;
mod receipt;
mod recent;
mod reindex;
mod request;
mod resume;
mod retention;
mod ring;
mod schemas;
mod serve;
mod settings;
mod stepped;
mod tail;
mod task_rows;
mod task_tail;
mod tasks;
mod trace;
mod turn;
mod turns;
mod watch;

pub use clock::Clock;
pub use entry::{Entry, Shown};
pub use find::{Found, From};
pub use gap::{Follow, Gap, GapReason, Mode, OnGap};
pub use handle::Handle;
pub use indexer::index_rows;
pub use meter::Meter;
pub use open::{Broker, OpenError};
pub use owed::{OwedPage, OwedView};
pub use page::Page;
pub use publish::{Submission, label};
pub use receipt::{Receipt, durability_word};
pub use reindex::{ReindexError, rebuild_index};
pub use request::Published;
pub use settings::{Owed, Retention, Settings, Storage};
pub use stepped::Stepped;
pub use tail::{Batch, Feed, Tail};
pub use task_tail::{TaskNews, TaskTail};

pub use dead_letters::DeadLetterView;
pub use deliveries::{Delivery, Departure, Outcome, Portion};
pub use desk::answer_questions;
pub use directory::AgentPage;
pub use exchange::trace::{By, Query as TraceQuery, Style as TraceStyle, Trace};
pub use exchange::{
    AgentQuery, AgentView, CardSource, Consumer, Counts, DeliveryId, DeliverySettings,
    DeliveryState, Order, PlaceId, PlaceName, PlaceView, Presence, Push, RecipientState, Settle,
    SubscriptionView,
};
pub use fate::{AttemptView, Fate, PlaceFate, RecipientFate, Standing};
pub use journal::{Cursor, Durability};
pub use schemas::{PayloadCheck, Schemas};

/// The look-up index of a data folder.
#[must_use]
pub fn index_path(folder: &std::path::Path) -> std::path::PathBuf {
    folder.join("index.sqlite")
}
