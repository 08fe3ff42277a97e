//! How fast the look-up index is fed and how large it grows: `index_feed FOLDER MESSAGES`.
//!
//! Messages as agents send them: an id, a conversation of ten, a task of four, a cause, and one
//! acknowledgement each.

#![expect(clippy::print_stdout, reason = "what it prints is what it is for")]

use interwire_journal::{Fact, Index};
use std::error::Error;
use std::path::Path;
use std::time::Instant;

/// As the exchange does.
const BATCH: u64 = 65_536;

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let folder = arguments.next().ok_or("expected FOLDER")?;
    let messages: u64 = arguments.next().ok_or("expected MESSAGES")?.parse()?;
    let path = Path::new(&folder).join("index.sqlite");
    let mut index = Index::open(Some(&path), 7, 1)?;
    let mut rows = index.rows();
    let start = Instant::now();
    // Every second record is the acknowledgement of the message before it.
    for message in (1..=messages).map(|n| n * 2 - 1) {
        let name = |prefix: &str, number: u64| format!("{prefix}01JFX7K2M4N8P1Q3R5{number:08}");
        rows.id(message, &name("", message));
        rows.mention(message, &name("CONV_", message / 20));
        rows.mention(message, &name("", message / 8));
        rows.mention(message, &name("", message.saturating_sub(2)));
        rows.fact(Fact {
            message,
            place: u32::try_from(message % 100)?,
            record: message + 1,
            kind: 1,
        });
        if (message + 1) % (2 * BATCH) == 0 {
            index.apply(&mut rows, message + 1)?;
        }
    }
    index.apply(&mut rows, 2 * messages)?;
    let seconds = start.elapsed().as_secs_f64();
    let bytes = std::fs::metadata(&path)?.len();
    println!(
        "{messages} messages and their acknowledgements in {seconds:.1} s: {:.0} records a second, {} bytes a message",
        2.0 * messages as f64 / seconds,
        bytes / messages
    );
    let start = Instant::now();
    while index.forget(messages)? {}
    let seconds = start.elapsed().as_secs_f64();
    println!("the older half forgotten in {seconds:.1} s");
    Ok(())
}
