//! The look-up index made again from nothing but the journal.

use crate::indexer::index_rows;
use journal::{Eyes, Finding, Identity, Index, RealDisk, Verified, verify};
use std::cell::Cell;
use std::path::Path;

/// Records in one transaction.
const RECORDS_MAX: u64 = 131_072;

/// Why the index cannot be made again.
#[derive(Debug, thiserror::Error)]
pub enum ReindexError {
    /// The folder, the journal or the index.
    #[error("{0}")]
    Storage(#[from] journal::Error),
    /// A record is damaged; without it the index would say that there is no such message.
    #[error("{} is damaged at byte {}: {}", .0.file, .0.offset, .0.what)]
    Damaged(Finding),
}

/// Throws the index of a data folder away and makes it again. Nobody else may use the folder
/// meanwhile. What an attempt that failed or was interrupted left is completed by the next start.
///
/// # Errors
/// [`ReindexError`].
pub fn rebuild_index(folder: &Path) -> Result<Verified, ReindexError> {
    let disk = RealDisk::read_only(folder).map_err(journal::Error::from)?;
    let nothing = journal::Error::Unfit("there is no journal in this folder");
    let Identity { lineage, epoch, .. } = journal::identify(&disk)?.ok_or(nothing)?;
    let mut index = Index::begin_anew(&super::index_path(folder), lineage, epoch)?;
    let mut rows = index.rows();
    let (mut failed, mut damage, mut last) = (None, None::<Finding>, 0);
    let is_damaged = Cell::new(false);
    let mut add = |record: &journal::Record| {
        if failed.is_some() || is_damaged.get() {
            return None;
        }
        if index_rows(&mut rows, record).is_err() {
            return Some("the record cannot be read".to_owned());
        }
        last = record.sequence;
        if last.is_multiple_of(RECORDS_MAX) {
            failed = index.apply(&mut rows, last).err();
        }
        None
    };
    let eyes = Eyes {
        record: &mut add,
        state: &mut |_| None,
    };
    let verified = verify(&disk, eyes, &mut |finding| {
        let is_of_records = finding.file.ends_with(".seg");
        if damage.is_none() && finding.is_damage && is_of_records {
            is_damaged.set(true);
            damage = Some(finding);
        }
    })?;
    match (failed, damage) {
        (Some(error), _) => Err(error.into()),
        (None, Some(damage)) => Err(ReindexError::Damaged(damage)),
        (None, None) => {
            index.apply(&mut rows, last)?;
            Ok(verified)
        }
    }
}
