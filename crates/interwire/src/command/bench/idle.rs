//! What quiet readers cost the server: its resident memory before and after they come.

use super::ours::Ours;
use super::wire::{Connection, READER};
use anyhow::{Context, Result};
use std::time::{Duration, Instant};

/// Memory counts as settled when it has not grown for so long.
const QUIET: Duration = Duration::from_millis(500);

/// The longest wait for that.
const PATIENCE: Duration = Duration::from_secs(10);

/// Resident memory in mebibytes, before and after.
pub async fn run(ours: &Ours, run: &str, readers: usize, pid: u32) -> Result<(f64, f64)> {
    let before = settled(pid).await?;
    let mut open = Vec::with_capacity(readers);
    for reader in 0..readers {
        let mut connection = Connection::open(ours, run, READER + reader as u64).await?;
        connection.subscribe(ours, run, reader).await?;
        open.push(connection);
    }
    let after = settled(pid).await?;
    drop(open);
    Ok((before, after))
}

/// The resident memory once it has stopped growing.
async fn settled(pid: u32) -> Result<f64> {
    let start = Instant::now();
    let mut last = resident(pid)?;
    loop {
        tokio::time::sleep(QUIET).await;
        let now = resident(pid)?;
        if now <= last || start.elapsed() > PATIENCE {
            return Ok(now);
        }
        last = now;
    }
}

/// The resident memory of a process in mebibytes.
pub fn resident(pid: u32) -> Result<f64> {
    let path = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(&path).with_context(|| path.clone())?;
    mebibytes(&text).with_context(|| format!("expected `VmRSS: N kB` in {path}"))
}

/// The resident memory in the text of `/proc/PID/status`.
fn mebibytes(status: &str) -> Option<f64> {
    let line = status
        .lines()
        .find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kibibytes: f64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes / 1_024.0)
}

#[cfg(test)]
mod tests {
    use super::{mebibytes, resident};

    #[test]
    fn resident_memory_is_one_line_of_many() {
        let status = "Name:\tinterwire\nVmHWM:\t  999 kB\nVmRSS:\t   2048 kB\nThreads:\t3\n";
        assert_eq!(mebibytes(status), Some(2.0));
        assert_eq!(mebibytes("Name:\tkthreadd\n"), None);
        assert_eq!(mebibytes("VmRSS:\t x kB\n"), None);
    }

    #[test]
    fn this_process_has_some() {
        assert!(resident(std::process::id()).unwrap() > 0.0);
    }
}
