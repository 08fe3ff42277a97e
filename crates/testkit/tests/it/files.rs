//! All bytes of a folder, to compare and to damage.

use journal::{Disk, Error, Eyes, Finding, MemoryDisk, Verified, verify};
use std::collections::BTreeMap;
use std::sync::Arc;

pub type Files = BTreeMap<String, Vec<u8>>;

pub fn take(disk: &dyn Disk) -> Files {
    let names = disk.list().unwrap();
    names
        .into_iter()
        .map(|name| {
            let file = disk.open(&name).unwrap();
            let mut bytes = vec![0; usize::try_from(file.len().unwrap()).unwrap()];
            file.read_at(&mut bytes, 0).unwrap();
            (name, bytes)
        })
        .collect()
}

pub fn put(files: &Files) -> Arc<MemoryDisk> {
    let disk = MemoryDisk::default();
    for (name, bytes) in files {
        disk.create(name).unwrap().write_at(bytes, 0).unwrap();
    }
    Arc::new(disk)
}

/// A deep look by somebody who cannot read bodies.
pub fn look(disk: &dyn Disk) -> Result<(Verified, Vec<Finding>), Error> {
    let eyes = Eyes {
        record: &mut |_| None,
        state: &mut |_| None,
    };
    let mut findings = Vec::new();
    let verified = verify(disk, eyes, &mut |finding| findings.push(finding))?;
    Ok((verified, findings))
}
