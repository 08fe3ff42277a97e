//! The names of a crashing folder: those that are synced, and the changes since.

use super::file::Content;
use crate::Random;
use parking_lot::Mutex;
use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

type Inode = Arc<Mutex<Content>>;
type Names = BTreeMap<String, Inode>;

/// One change of names, kept or lost as a whole.
#[derive(Debug)]
enum Change {
    Put(String, Inode),
    Move(String, String, Inode),
    Take(String),
}

#[derive(Debug, Default)]
pub(super) struct Folder {
    current: Names,
    durable: Names,
    changes: Vec<Change>,
}

impl Folder {
    pub(super) fn names(&self) -> Vec<String> {
        self.current.keys().cloned().collect()
    }

    pub(super) fn get(&self, name: &str) -> io::Result<Inode> {
        self.current
            .get(name)
            .cloned()
            .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// As `open(2)` with `O_CREAT | O_TRUNC`: an old file is emptied and stays the same file.
    pub(super) fn create(&mut self, name: &str) -> Inode {
        if let Some(old) = self.current.get(name) {
            old.lock().cut(0);
            return Arc::clone(old);
        }
        let file = Inode::default();
        self.change(Change::Put(name.to_owned(), Arc::clone(&file)));
        file
    }

    pub(super) fn rename(&mut self, from: &str, to: &str) -> io::Result<()> {
        let file = self.get(from)?;
        self.change(Change::Move(from.to_owned(), to.to_owned(), file));
        Ok(())
    }

    pub(super) fn remove(&mut self, name: &str) -> io::Result<()> {
        self.get(name)?;
        self.change(Change::Take(name.to_owned()));
        Ok(())
    }

    pub(super) fn sync(&mut self) {
        self.durable = self.current.clone();
        self.changes.clear();
    }

    /// A folder that could be found after a crash now. Folders are journalled in order, so mostly a
    /// first part of the changes is there; some file systems promise less, so now and then any part.
    pub(super) fn crash(&self, random: &mut Random) -> Self {
        let mut names = self.durable.clone();
        let any_part = random.one_in(4);
        let kept = match random.below(3) {
            0 => 0,
            1 => self.changes.len(),
            _ => random.index(self.changes.len() + 1),
        };
        for (place, change) in self.changes.iter().enumerate() {
            if if any_part {
                random.one_in(2)
            } else {
                place < kept
            } {
                change.apply(&mut names);
            }
        }
        let mut images: Vec<(*const Mutex<Content>, Inode)> = Vec::new();
        for file in names.values_mut() {
            let known = images.iter().find(|(of, _)| *of == Arc::as_ptr(file));
            let image = match known {
                Some((_, image)) => Arc::clone(image),
                None => {
                    let image = Arc::new(Mutex::new(file.lock().crash(random)));
                    images.push((Arc::as_ptr(file), Arc::clone(&image)));
                    image
                }
            };
            *file = image;
        }
        Self {
            current: names.clone(),
            durable: names,
            changes: Vec::new(),
        }
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.current);
        self.changes.push(change);
    }
}

impl Change {
    fn apply(&self, names: &mut Names) {
        match self {
            Self::Put(name, file) => {
                names.insert(name.clone(), Arc::clone(file));
            }
            Self::Move(from, to, file) => {
                names.remove(from);
                names.insert(to.clone(), Arc::clone(file));
            }
            Self::Take(name) => {
                names.remove(name);
            }
        }
    }
}
