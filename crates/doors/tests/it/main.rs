//! The HTTP door as its users meet it: a real listener over a real exchange.

mod deliveries;
mod drain;
mod fidelity;
mod lines;
mod messages;
mod operations;
mod problems;
mod socket;
mod socket_readers;
mod stream;
mod subscriptions;
mod validate;
mod world;
