//! A bundle's folder: read whole, with bounds, and written file by file.

use crate::failure::Failure;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use trust::volt::Bundle;

/// Files in a bundle, at most.
const FILES_MAX: usize = 200_000;
/// Bytes of a bundle, at most.
const BYTES_MAX: u64 = 4 << 30;
/// Folders inside each other, at most: `attachments/ab/<hash>` are two.
const DEPTH_MAX: usize = 4;

/// Every file below `folder`. Links are not followed: they could lead out of the bundle.
pub fn read(folder: &Path) -> Result<Bundle, Failure> {
    let mut bundle = Bundle::default();
    let mut left = BYTES_MAX;
    walk(folder, "", 0, &mut bundle, &mut left)?;
    Ok(bundle)
}

fn walk(
    folder: &Path,
    inside: &str,
    depth: usize,
    bundle: &mut Bundle,
    left: &mut u64,
) -> Result<(), Failure> {
    let wrong = |path: &Path, what: &str| Failure::Usage(format!("{}: {what}", path.display()));
    let entries = fs::read_dir(folder).map_err(|error| wrong(folder, &error.to_string()))?;
    for entry in entries {
        let path = entry
            .map_err(|error| wrong(folder, &error.to_string()))?
            .path();
        let kind = fs::symlink_metadata(&path)
            .map_err(|error| wrong(&path, &error.to_string()))?
            .file_type();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            return Err(wrong(&path, "expected a name in UTF-8"));
        };
        let inside = match inside {
            "" => name.to_owned(),
            before => format!("{before}/{name}"),
        };
        if kind.is_symlink() {
            return Err(wrong(&path, "expected a bundle without links"));
        }
        if kind.is_dir() {
            if depth >= DEPTH_MAX {
                return Err(wrong(
                    &path,
                    "expected a bundle with fewer folders inside each other",
                ));
            }
            walk(&path, &inside, depth + 1, bundle, left)?;
            continue;
        }
        if !kind.is_file() {
            return Err(wrong(&path, "expected a file"));
        }
        if bundle.files.len() >= FILES_MAX {
            return Err(wrong(&path, "expected a bundle with fewer files"));
        }
        let mut bytes = Vec::new();
        fs::File::open(&path)
            .and_then(|file| file.take(*left + 1).read_to_end(&mut bytes))
            .map_err(|error| wrong(&path, &error.to_string()))?;
        *left = left
            .checked_sub(bytes.len() as u64)
            .ok_or_else(|| wrong(&path, "expected a bundle of at most 4 GiB"))?;
        bundle.files.insert(inside, bytes);
    }
    Ok(())
}

/// Writes one file of a new bundle.
pub fn write(folder: &Path, path: &str, bytes: &[u8]) -> Result<(), Failure> {
    let file = folder.join(path);
    let wrong = |error: std::io::Error| Failure::Refused(format!("{}: {error}", file.display()));
    if let Some(parent) = file.parent() {
        fs::create_dir_all(parent).map_err(wrong)?;
    }
    fs::write(&file, bytes).map_err(wrong)
}
