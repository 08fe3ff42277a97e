//! Python with the foreign clients that drive the doors, in `.venv/doors` of the workspace.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

/// The folder of scripts and of the list of what they need.
pub fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/doors")
}

/// The interpreter. Installs what the list names, when it is not yet there; one process at a time.
pub fn interpreter() -> PathBuf {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let folder = root.join(".venv");
    fs::create_dir_all(&folder).expect("a folder for environments");
    let lock = File::create(folder.join("doors.lock")).expect("a lock file");
    lock.lock().expect("the lock");
    let wanted = fs::read_to_string(scripts().join("requirements.txt")).expect("the list");
    let (venv, stamp) = (folder.join("doors"), folder.join("doors.installed"));
    let python = venv.join("bin/python");
    if fs::read_to_string(&stamp).ok().as_deref() != Some(&wanted) {
        run(Command::new("python3").args(["-m", "venv"]).arg(&venv));
        let list = scripts().join("requirements.txt");
        let install = [
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
        ];
        run(Command::new(&python).args(install).arg("-r").arg(list));
        fs::write(&stamp, wanted).expect("the stamp");
    }
    python
}

fn run(command: &mut Command) {
    let status = command.status().expect("the command starts");
    assert!(status.success(), "{command:?}");
}

/// Runs a script to its end; what it printed.
pub fn script(path: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(interpreter());
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("INTERWIRE_") {
            command.env_remove(name);
        }
    }
    let output = command
        .arg("-W")
        .arg("ignore")
        .arg(scripts().join(path))
        .args(arguments)
        .output()
        .expect("the script starts");
    let (out, err) = (
        String::from_utf8_lossy(&output.stdout).into_owned(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    );
    assert!(output.status.success(), "{path}:\n{out}\n{err}");
    out
}
