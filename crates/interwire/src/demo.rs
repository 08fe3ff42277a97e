//! The demo: a real exchange, real agent processes, the flows of the three protocols.
//!
//! Everything goes through the public doors. Agents keep no state that matters: a reply's id and
//! bytes follow from the message it answers, so an agent that is killed and asked again repeats
//! itself exactly, and the exchange recognises the repetition.

pub mod agent;
mod ending;
pub mod play;
mod process;
mod reply;
mod roles;
mod script;
mod traced;
