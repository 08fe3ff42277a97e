//! The Python environment with the client libraries, made once for all tests.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The folder of this suite.
pub fn suite() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/doors")
}

/// The interpreter that has the libraries of `requirements.txt`; installs them when that has changed.
pub fn interpreter() -> PathBuf {
    let venv = root().join(".venv/doors");
    fs::create_dir_all(&venv).expect("a folder");
    let lock = File::create(venv.join("lock")).expect("a lock");
    // Tests are processes of their own, and one must install.
    lock.lock().expect("the lock");
    let wanted = fs::read_to_string(suite().join("requirements.txt")).expect("requirements");
    let (stamp, python) = (venv.join("installed"), venv.join("bin/python"));
    if fs::read_to_string(&stamp).ok().as_deref() != Some(&*wanted) {
        let made = Command::new("python3")
            .args(["-m", "venv"])
            .arg(&venv)
            .status();
        assert!(made.expect("python3").success(), "no virtual environment");
        let installed = Command::new(&python)
            .args([
                "-m",
                "pip",
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "-r",
            ])
            .arg(suite().join("requirements.txt"))
            .status();
        assert!(installed.expect("pip").success(), "nothing was installed");
        fs::write(&stamp, wanted).expect("the stamp");
    }
    python
}

/// A program of that environment.
pub fn tool(name: &str) -> PathBuf {
    interpreter().with_file_name(name)
}
