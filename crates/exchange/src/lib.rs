//! Who gets what, when, and what is owed: a state machine without clock, socket or file.
//!
//! The broker calls one method per request, appends the records it returns to the journal, commits,
//! and only then lets anybody know. On start it feeds the journal through [`Exchange::apply`].

mod contract;
pub use contract::*;
