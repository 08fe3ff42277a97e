//! A disk without room: writing ends, what was promised stays, and a start with room goes on.
//!
//! The disk is a small file system in memory, in a name space of its own. Where none can be made, a
//! limit on the length of files stands in for it.

use super::letters::letter;
use super::witness::{Record, Witness};
use super::work::{Fuse, TERMS, finish, places, prepare, publish_over_socket};
use crate::process::Exchange;
use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use testkit::history::{Answer, Call, What};

const SMALL: &str = "size=6m";
const LARGE: &str = "size=200m";
/// In blocks of 512 bytes.
const LENGTH_MAX: &str = "4000";
const SENDERS: usize = 4;
/// The first, twenty-one over HTTP and five over a socket.
const REFUSED: usize = 27;

/// A small file system that lives as long as this.
struct SmallDisk {
    holder: Option<Child>,
    folder: tempfile::TempDir,
    /// The program that runs others where the file system is.
    enter: Vec<String>,
}

impl SmallDisk {
    fn make() -> Self {
        let folder = tempfile::tempdir().unwrap();
        // As root, or as anybody where users may have name spaces.
        for flags in [&["--mount"][..], &["--mount", "--user", "--map-root-user"]] {
            let Some(holder) = hold(folder.path().to_str().unwrap(), flags) else {
                continue;
            };
            let target = format!("--target={}", holder.id());
            let mut enter = vec!["nsenter".into(), target, "--mount".into()];
            if flags.len() > 1 {
                enter.extend(["--user".into(), "--preserve-credentials".into()]);
            }
            return Self {
                holder: Some(holder),
                folder,
                enter,
            };
        }
        eprintln!(
            "NO SMALL FILE SYSTEM CAN BE MADE HERE; a limit on the length of files stands in"
        );
        let script = format!("trap '' XFSZ; ulimit -f {LENGTH_MAX}; exec \"$0\" \"$@\"");
        Self {
            holder: None,
            folder,
            enter: vec!["sh".into(), "-c".into(), script],
        }
    }

    fn start(&self) -> Exchange {
        let data = self.folder.path().join("data");
        let arguments = ["--listen", "127.0.0.1:0", "--data", data.to_str().unwrap()];
        Exchange::start_through(&self.enter, &arguments)
    }

    fn make_room(&mut self) {
        if self.holder.is_none() {
            self.enter = vec!["env".into()];
            return;
        }
        let remount = Command::new(&self.enter[0])
            .args(&self.enter[1..])
            .args(["mount", "-o", &format!("remount,{LARGE}")])
            .arg(self.folder.path())
            .status();
        assert!(remount.unwrap().success());
    }
}

/// A process that keeps a small file system on `path` in a name space of its own.
fn hold(path: &str, flags: &[&str]) -> Option<Child> {
    let script = format!("mount -t tmpfs -o {SMALL} none '{path}' && echo ready && exec cat");
    let mut holder = Command::new("unshare")
        .args(flags)
        .args(["sh", "-c", &script])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    let mut line = String::new();
    let mut out = BufReader::new(holder.stdout.take()?);
    out.read_line(&mut line).ok()?;
    if line.trim() == "ready" {
        return Some(holder);
    }
    drop(holder.kill());
    drop(holder.wait());
    None
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        if let Some(mut holder) = self.holder.take() {
            drop(holder.kill());
            drop(holder.wait());
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_ends_writing_and_takes_nothing_back() {
    let mut disk = SmallDisk::make();
    let record = Record::default();
    let exchange = disk.start();
    let witness = Witness::new(&exchange.url, &record);
    prepare(&witness, TERMS).await;
    let mut number = 0;
    while refused(&record) == 0 {
        assert!(number < 100_000, "the disk is never full");
        let (message, envelope) = letter("full", number % SENDERS, number);
        witness.publish(&message, &envelope).await.unwrap();
        number += 1;
    }
    // From now on every write is refused, and what there is can be read.
    assert!(witness.client.ready().await.is_err());
    for more in number..number + 20 {
        let (message, envelope) = letter("full", more % SENDERS, more);
        witness.publish(&message, &envelope).await.unwrap();
    }
    let (message, envelope) = letter("full", 0, number + 20);
    let call = record.ask(Call::Publish { message });
    let refusal = witness.client.publish(envelope).await.unwrap_err();
    let problem = refusal.problem().unwrap();
    let told = (problem.status, problem.code.as_str(), problem.retryable);
    assert_eq!(told, (503, "storage_failed", true));
    record.answer(call, Answer::Refused(problem.code.clone()));
    let (never, run) = (Fuse::of(usize::MAX), "socket".to_owned());
    publish_over_socket(witness.clone(), never, run, 0, 5).await;
    assert_eq!(
        refused(&record),
        REFUSED,
        "nothing is taken after the first"
    );
    assert!(!witness.read().await.is_empty());
    exchange.kill();
    record.died();

    disk.make_room();
    let exchange = disk.start();
    let witness = Witness::new(&exchange.url, &record);
    let (message, envelope) = letter("room", 0, 0);
    witness.publish(&message, &envelope).await.unwrap();
    finish(&witness, &places(SENDERS)).await;
    let taken = record.sum(|what| match what {
        What::Answered { answer, .. } => usize::from(matches!(answer, Answer::Receipt { .. })),
        _ => 0,
    });
    let asked = record.sum(|what| match what {
        What::Called { ask, .. } => usize::from(matches!(ask, Call::Publish { .. })),
        _ => 0,
    });
    println!("{taken} receipts, the last of them after there was room again");
    assert_eq!(taken + REFUSED, asked);
    record.check("full-disk");
}

/// How many were refused because the disk failed.
fn refused(record: &Record) -> usize {
    record.sum(|what| match what {
        What::Answered {
            answer: Answer::Refused(code),
            ..
        } => usize::from(code == "storage_failed"),
        _ => 0,
    })
}
