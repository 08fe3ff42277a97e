//! One process per data folder: a lock that the system gives back however the process ends.

use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;

/// Held as long as the folder is in use.
#[derive(Debug)]
pub struct FolderLock {
    _file: File,
}

/// The file that carries the lock.
pub const NAME: &str = "LOCK";

/// Takes the folder for this process, creating it when needed.
///
/// # Errors
/// A sentence: the folder cannot be written, or who holds it.
pub fn take(folder: &Path) -> Result<FolderLock, String> {
    let shown = folder.display();
    std::fs::create_dir_all(folder)
        .map_err(|error| format!("the data folder {shown} cannot be created: {error}"))?;
    let path = folder.join(NAME);
    let mut file = File::options()
        .read(true)
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path)
        .map_err(|error| format!("the data folder {shown} cannot be written: {error}"))?;
    match file.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            let mut holder = String::new();
            // Only for the message; the lock itself is the truth.
            drop(file.read_to_string(&mut holder));
            let holder = holder.trim();
            let who = if holder.is_empty() {
                "another process".to_owned()
            } else {
                format!("process {holder}")
            };
            return Err(format!(
                "the data folder {shown} is in use by {who}; stop it, or choose another with --data"
            ));
        }
        Err(TryLockError::Error(error)) => {
            return Err(format!("the data folder {shown} cannot be locked: {error}"));
        }
    }
    let written = file
        .set_len(0)
        .and_then(|()| file.rewind())
        .and_then(|()| writeln!(file, "{}", std::process::id()));
    written.map_err(|error| format!("the data folder {shown} cannot be written: {error}"))?;
    Ok(FolderLock { _file: file })
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_folder_has_one_holder_at_a_time() {
        let folder =
            std::env::temp_dir().join(format!("interwire-lock-{}", crate::identity::ulid()));
        let held = super::take(&folder).unwrap();
        let refused = super::take(&folder).unwrap_err();
        assert!(
            refused.contains(&format!("process {}", std::process::id())),
            "{refused}"
        );
        drop(held);
        drop(super::take(&folder).unwrap());
        std::fs::remove_dir_all(&folder).unwrap();
    }
}
