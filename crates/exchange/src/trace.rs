//! The trace of a conversation: every message under the one that caused it, across dialects, with
//! what became of each; and what is missing.
//!
//! [`Gather`] decides what belongs to a trace. It asks for messages by id and by mention, is offered
//! what a journal has, and takes what is linked; it reads nothing itself. [`Gather::finish`] gives the
//! [`Trace`], which is told what became of the messages ([`Trace::happened`]) and then written in one
//! of four forms. Time and memory grow with the messages of the trace, not with the journal.
//!
//! | file | what it decides |
//! |---|---|
//! | `look` | what a name stands for |
//! | `gather` | what belongs to a trace |
//! | `resolve` | which message an id means that several senders used |
//! | `forest` | what is under what; circles; what is missing |
//! | `fate` | what became of each message in each place |
//! | `text`, `json`, `mermaid`, `dot` | how it is written |

mod dot;
mod fate;
mod forest;
mod gather;
mod json;
mod look;
mod mermaid;
mod node;
mod query;
mod resolve;
mod text;
mod texts;

pub use forest::Trace;
pub use gather::Gather;
pub use node::Offered;
pub use query::{Ask, By, Candidate, Found, Query};
pub use text::Style;
