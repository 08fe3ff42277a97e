//! The machine, envelope by envelope.

mod ends;
mod moves;
mod world;
