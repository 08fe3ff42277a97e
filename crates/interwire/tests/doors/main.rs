//! One contract for every door: the same cases through each, with a well-known client library of that
//! transport, against a real exchange.
//!
//! `./test --doors` prints the table. A case that a transport cannot have says why, and is listed in
//! [`door`]; it does not count as passed.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::print_stdout,
    missing_docs
)]

mod aep_daemon;
mod cases;
mod cloudevents;
mod compression;
mod door;
mod driver;
mod exchange;
#[cfg(all(feature = "mcp", feature = "nats"))]
mod five_doors;
mod grpc_services;
mod python;
#[allow(
    dead_code,
    reason = "another test program kills and freezes brokers too"
)]
mod server;
mod webhook;

/// Every case on every door is a test of its own.
macro_rules! contract {
    ($($door:ident),* $(,)?) => {$(
        mod $door {
            contract!(@cases $door:
                publishes_and_recognises_a_repeat,
                receives_what_passes_its_filter,
                keeps_every_byte,
                acknowledges,
                gives_back_and_gets_it_again,
                resumes_at_its_cursor,
                is_told_of_a_gap,
                exceeds_each_limit_and_lives_on,
                sends_nonsense_and_lives_on,
                reads_slowly_and_harms_nobody,
                is_told_of_a_drain,
            );
        }
    )*};
    (@cases $door:ident: $($case:ident),* $(,)?) => {$(
        #[test]
        fn $case() {
            crate::door::run(&crate::door::$door(), stringify!($case), crate::cases::$case);
        }
    )*};
}

contract!(
    http,
    websocket,
    grpc,
    harmovela,
    harmovela_grpc,
    harmovela_sse,
    stdio
);
#[cfg(feature = "mcp")]
contract!(mcp);
#[cfg(feature = "nats")]
contract!(nats);
#[cfg(feature = "redis")]
contract!(redis);
#[cfg(feature = "kafka")]
contract!(kafka);
