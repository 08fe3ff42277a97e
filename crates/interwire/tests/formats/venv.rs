//! Python environments with the frameworks' packages, each made once.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The interpreter that has what a file of requirements lists; installs it when that has changed.
pub fn interpreter(name: &str, requirements: &Path) -> PathBuf {
    let venv = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../.venv")
        .join(name);
    fs::create_dir_all(&venv).expect("a folder");
    let lock = File::create(venv.join("lock")).expect("a lock");
    // Tests are processes of their own, and one must install.
    lock.lock().expect("the lock");
    let wanted = fs::read_to_string(requirements).expect("requirements");
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
            .arg(requirements)
            .status();
        assert!(
            installed.expect("pip").success(),
            "the packages cannot be installed"
        );
        fs::write(&stamp, &wanted).expect("the stamp");
    }
    python
}
