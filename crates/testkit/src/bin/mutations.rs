//! `mutations [word]`: breaks the program on purpose, one line at a time, and shows what notices.
//!
//! Each mutation of `mutations.toml` is a text that is replaced in a copy of the sources; nothing of it
//! is ever in the program itself. The copy is built and the simulation is run on it, or the test
//! that the mutation names. One that nothing notices is a hole in the tests, and fails.
#![expect(
    clippy::print_stdout,
    reason = "what a program prints is what it is for"
)]

use interwire_testkit::mutations::{self, Mutation};
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

type Failed = Box<dyn std::error::Error>;

/// Longer than any mutation needs that ends at all.
const PATIENCE: Duration = Duration::from_secs(300);
const SEEDS: &str = "600";

fn main() -> ExitCode {
    let word = std::env::args().nth(1).unwrap_or_default();
    match run(&word) {
        Ok(0) => ExitCode::SUCCESS,
        Ok(survivors) => {
            println!("{survivors} mutations were noticed by nothing");
            ExitCode::FAILURE
        }
        Err(error) => {
            println!("mutations: {error}");
            ExitCode::from(2)
        }
    }
}

/// How many were noticed by nothing.
fn run(word: &str) -> Result<usize, Failed> {
    let root = mutations::root();
    let list = mutations::read(&root)?;
    let work = root.join("target/mutations");
    let tree = work.join("tree");
    fs::create_dir_all(&tree)?;
    copy(&root, &tree)?;
    let bench = Bench {
        tree,
        target: work.join("target"),
    };
    println!("{:<44} {:<12} seed, events", "mutation", "noticed by");
    if let Some(noticed) = bench.simulate()? {
        return Err(format!("unchanged sources fail: {noticed}").into());
    }
    println!("{:<44} {:<12} {SEEDS} seeds", "(none)", "nothing");
    let wanted = || list.iter().filter(|one| one.name.contains(word));
    // A test that fails anyway notices nothing.
    let tests: BTreeSet<&String> = wanted().filter_map(|one| one.test.as_ref()).collect();
    for test in tests {
        if bench.test(test)?.is_some() {
            return Err(format!("unchanged sources fail: {test}").into());
        }
    }
    let mut survivors = 0;
    for mutation in wanted() {
        let noticed = match bench.try_out(mutation) {
            Ok(noticed) => noticed,
            Err(error) => {
                println!("{:<44} CANNOT BE TRIED: {error}", mutation.name);
                survivors += 1;
                continue;
            }
        };
        let by = match &mutation.test {
            Some(_) => "a test",
            None => "simulation",
        };
        match &noticed {
            Some(how) => println!("{:<44} {by:<12} {how}", mutation.name),
            None => println!("{:<44} NOTHING", mutation.name),
        }
        survivors += usize::from(noticed.is_none());
    }
    Ok(survivors)
}

/// A copy of the sources to break, and where it is built.
struct Bench {
    tree: PathBuf,
    target: PathBuf,
}

impl Bench {
    fn try_out(&self, mutation: &Mutation) -> Result<Option<String>, Failed> {
        let path = self.tree.join(&mutation.file);
        let whole = fs::read_to_string(&path)?;
        fs::write(&path, mutation.apply(&whole)?)?;
        let noticed = match &mutation.test {
            Some(test) => self.test(test),
            None => self.simulate(),
        };
        fs::write(&path, whole)?;
        noticed.map_err(|error| format!("{}: {error}", mutation.name).into())
    }

    /// What the simulation finds, if anything.
    fn simulate(&self) -> Result<Option<String>, Failed> {
        let package = ["build", "-p", "interwire-testkit", "--bin", "soak"];
        self.build(&package)?;
        let mut soak = Command::new(self.target.join("debug/soak"));
        soak.args(["--seeds", SEEDS, "--short"]);
        let (code, out) = wait(&mut soak)?;
        Ok(match code {
            Some(0) => None,
            Some(_) => Some(out.lines().last().unwrap_or_default().to_owned()),
            None => Some("it never ends".into()),
        })
    }

    /// What a test of one crate says: `crate::name of the test`.
    fn test(&self, test: &str) -> Result<Option<String>, Failed> {
        let (package, name) = test
            .split_once("::")
            .ok_or("expected a test as `crate::name`")?;
        // What cannot be built is not noticed by a test.
        self.build(&["test", "-p", package, "--test", "it", "--no-run"])?;
        let mut cargo = self.cargo(&["test", "-p", package, "--test", "it", "--", "--exact"]);
        let (code, out) = wait(cargo.arg(name))?;
        if code == Some(0) {
            // A name that is not there passes as well.
            let is_there = out.contains("1 passed");
            return if is_there {
                Ok(None)
            } else {
                Err(format!("no test {test}").into())
            };
        }
        Ok(Some(test.to_owned()))
    }

    fn build(&self, arguments: &[&str]) -> Result<(), Failed> {
        let built = self.cargo(arguments).output()?;
        match built.status.success() {
            true => Ok(()),
            false => Err(String::from_utf8_lossy(&built.stderr).into_owned().into()),
        }
    }

    fn cargo(&self, arguments: &[&str]) -> Command {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        let target = self.target.as_os_str();
        cargo
            .current_dir(&self.tree)
            .env("CARGO_TARGET_DIR", target)
            .env("CARGO_PROFILE_DEV_DEBUG", "0")
            .env("RUSTFLAGS", "-Awarnings")
            .args(arguments);
        cargo
    }
}

/// Runs to the end, or gives up: then there is no code.
fn wait(command: &mut Command) -> Result<(Option<i32>, String), Failed> {
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let Some(mut out) = child.stdout.take() else {
        return Err("no output".into());
    };
    let reader = std::thread::spawn(move || std::io::read_to_string(&mut out));
    let start = Instant::now();
    let code = loop {
        if let Some(status) = child.try_wait()? {
            break Some(status.code().unwrap_or(-1));
        }
        if start.elapsed() > PATIENCE {
            child.kill()?;
            child.wait()?;
            break None;
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let text = reader.join().map_err(|_| "its output cannot be read")??;
    Ok((code, text))
}

/// Copies what a build needs; files that are the same keep their age, so that they are not built
/// again.
fn copy(from: &Path, to: &Path) -> Result<(), Failed> {
    for name in ["Cargo.toml", "Cargo.lock", "crates"] {
        copy_all(&from.join(name), &to.join(name))?;
    }
    Ok(())
}

fn copy_all(from: &Path, to: &Path) -> Result<(), Failed> {
    if from.is_file() {
        let bytes = fs::read(from)?;
        if fs::read(to).ok().as_ref() != Some(&bytes) {
            fs::write(to, bytes)?;
        }
        return Ok(());
    }
    fs::create_dir_all(to)?;
    let mut names = Vec::new();
    for entry in fs::read_dir(from)? {
        let name = entry?.file_name();
        copy_all(&from.join(&name), &to.join(&name))?;
        names.push(name);
    }
    for entry in fs::read_dir(to)? {
        let entry = entry?;
        if !names.contains(&entry.file_name()) {
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else {
                fs::remove_file(entry.path())?;
            }
        }
    }
    Ok(())
}
