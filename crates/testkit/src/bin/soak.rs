//! `soak --seeds N [--from S] [--threads T]` runs many seeds of the simulation; `soak --seed S` runs one
//! and prints what happened. `--short` prints one line about a failure.
#![expect(
    clippy::print_stdout,
    reason = "what a program prints is what it is for"
)]

use interwire_testkit::sim::{self, Report};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

fn main() -> ExitCode {
    // A panic of the exchange is a finding like others; it is told with its history.
    std::panic::set_hook(Box::new(|_| {}));
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1)?.parse::<u64>().ok()
    };
    if let Some(seed) = number("--seed") {
        return replay(seed);
    }
    let Some(count) = number("--seeds") else {
        eprintln!("expected --seeds <count> or --seed <number>");
        return ExitCode::from(2);
    };
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64);
    let threads = number("--threads").unwrap_or(cores);
    soak(number("--from").unwrap_or(0), count, threads)
}

fn soak(from: u64, count: u64, threads: u64) -> ExitCode {
    let (next, has_failed) = (AtomicU64::new(from), AtomicBool::new(false));
    let total = Mutex::new(Report::default());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut report = Report::default();
                while !has_failed.load(Ordering::Relaxed) {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if seed >= from + count {
                        break;
                    }
                    match sim::run(seed) {
                        Ok(one) => report.extend(&one),
                        Err(_) => {
                            if !has_failed.swap(true, Ordering::Relaxed) {
                                explain(seed);
                            }
                        }
                    }
                }
                if let Ok(mut total) = total.lock() {
                    total.extend(&report);
                }
            });
        }
    });
    if let Ok(total) = total.lock()
        && !std::env::args().any(|argument| argument == "--short")
    {
        println!("{total}");
    }
    match has_failed.load(Ordering::Relaxed) {
        true => ExitCode::FAILURE,
        false => {
            println!("{count} seeds from {from} on: no promise was broken");
            ExitCode::SUCCESS
        }
    }
}

fn replay(seed: u64) -> ExitCode {
    match sim::run(seed) {
        Ok(report) => {
            println!("{report}\nseed {seed}: no promise was broken");
            ExitCode::SUCCESS
        }
        Err(_) => {
            explain(seed);
            ExitCode::FAILURE
        }
    }
}

/// The shortest history that was found to fail.
fn explain(seed: u64) {
    let Some((events, failure)) = sim::shrink(seed) else {
        println!("seed {seed} failed once and does not fail again: something is not from the seed");
        return;
    };
    let count = sim::events(seed).len();
    if std::env::args().any(|argument| argument == "--short") {
        println!("{seed}, {} of {count}: {}", events.len(), failure.broken);
        return;
    }
    for line in &failure.history {
        println!("{line}");
    }
    println!("of {count} events {} matter: {events:?}", events.len());
    println!("seed {seed}: {}", failure.broken);
    println!("again with: ./test --seed {seed}");
}
