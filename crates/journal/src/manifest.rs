//! The MANIFEST file: which journal this is. 64 bytes, replaced whole.

use crate::frame::array;
use crate::{Disk, Durability, Error};

/// Its file name.
pub(crate) const NAME: &str = "MANIFEST";
/// The file name that it has in a backup, which is no journal to write to.
pub(crate) const BACKUP: &str = "BACKUP";
/// Version of the manifest, the segments and the records' framing.
pub const FORMAT_VERSION: u16 = 1;
const MAGIC: &[u8; 8] = b"IWJMAN01";
const BYTES: usize = 64;

/// What identifies a journal and how it was left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Manifest {
    pub lineage: u64,
    pub epoch: u32,
    pub created_ms: i64,
    /// The newest sequence, when the last life was closed with everything synced.
    pub clean_last: Option<u64>,
    /// The first kept sequence: where the first segment begins.
    pub first: u64,
    /// The durability of the life that wrote it.
    pub durability: Durability,
}

impl Manifest {
    pub(crate) fn read(disk: &dyn Disk) -> Result<Option<Self>, Error> {
        Self::read_as(disk, NAME)
    }

    /// As [`Self::read`], from a file of another name.
    pub(crate) fn read_as(disk: &dyn Disk, name: &str) -> Result<Option<Self>, Error> {
        let file = match disk.open(name) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(error.into()),
        };
        let mut bytes = [0; BYTES];
        let count = file.read_at(&mut bytes, 0)?;
        let damaged = || Error::corrupt(name, 0, "expected a manifest with a check sum that fits");
        if count < BYTES || !bytes.starts_with(MAGIC) {
            return Err(damaged());
        }
        let covered = bytes.get(..BYTES - 4).unwrap_or_default();
        let crc = u32::from_le_bytes(array(&bytes, BYTES - 4).ok_or_else(damaged)?);
        if crc32c::crc32c(covered) != crc {
            return Err(damaged());
        }
        let version = u16::from_le_bytes(array(&bytes, 8).ok_or_else(damaged)?);
        if version != FORMAT_VERSION {
            return Err(Error::UnknownFormat {
                file: name.into(),
                version,
            });
        }
        let flags = u16::from_le_bytes(array(&bytes, 10).ok_or_else(damaged)?);
        Ok(Some(Self {
            lineage: u64::from_le_bytes(array(&bytes, 16).ok_or_else(damaged)?),
            epoch: u32::from_le_bytes(array(&bytes, 12).ok_or_else(damaged)?),
            created_ms: i64::from_le_bytes(array(&bytes, 24).ok_or_else(damaged)?),
            clean_last: if flags & 1 == 0 {
                None
            } else {
                Some(u64::from_le_bytes(array(&bytes, 32).ok_or_else(damaged)?))
            },
            first: u64::from_le_bytes(array(&bytes, 40).ok_or_else(damaged)?),
            durability: match flags >> 8 {
                0 => Durability::Fsync,
                1 => Durability::Os,
                _ => Durability::Memory,
            },
        }))
    }

    /// Replaces the manifest: written aside, synced, renamed, folder synced.
    pub(crate) fn write(&self, disk: &dyn Disk) -> Result<(), Error> {
        self.write_as(disk, NAME)
    }

    /// As [`Self::write`], under another name.
    pub(crate) fn write_as(&self, disk: &dyn Disk, name: &str) -> Result<(), Error> {
        let durability: u16 = match self.durability {
            Durability::Fsync => 0,
            Durability::Os => 1,
            Durability::Memory => 2,
        };
        let flags = u16::from(self.clean_last.is_some()) | durability << 8;
        let mut bytes = Vec::with_capacity(BYTES);
        bytes.extend_from_slice(MAGIC);
        bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
        bytes.extend_from_slice(&flags.to_le_bytes());
        bytes.extend_from_slice(&self.epoch.to_le_bytes());
        bytes.extend_from_slice(&self.lineage.to_le_bytes());
        bytes.extend_from_slice(&self.created_ms.to_le_bytes());
        bytes.extend_from_slice(&self.clean_last.unwrap_or(0).to_le_bytes());
        bytes.extend_from_slice(&self.first.to_le_bytes());
        bytes.resize(BYTES - 4, 0);
        let crc = crc32c::crc32c(&bytes);
        bytes.extend_from_slice(&crc.to_le_bytes());
        let aside = &format!("{name}.new");
        let file = disk.create(aside)?;
        file.write_at(&bytes, 0)?;
        file.sync()?;
        disk.rename(aside, name)?;
        disk.sync_folder()?;
        Ok(())
    }
}
