//! Watchers of a socket: each follows what becomes of one message, until nothing more can.

use super::connection::{Connection, End};
use super::frame::{self, Reference};
use super::readers::{Kind, Reader};
use super::work::{self, Done};
use crate::http::receipts::{self, Watcher};
use protocol::{Party, Rejection};
use std::sync::Arc;

impl Connection {
    /// Tells once what became of a message.
    pub(super) fn tell_receipt(&mut self, reference: Reference, id: String, sender: Option<Party>) {
        let (door, handle) = (Arc::clone(&self.door), self.handle.clone());
        self.operations += 1;
        work::add(&self.work, async move {
            let fate = match handle.find(&id, sender).await {
                Ok(entry) => handle.fate(entry).await,
                Err(refused) => Err(refused),
            };
            Done::Answer(match fate {
                Ok(fate) => frame::fate(&reference, &receipts::to_json(&handle, &fate)).into(),
                Err(refused) => frame::fault(&reference, &door.advise(refused), "").into(),
            })
        });
    }

    pub(super) fn watch(&mut self, reference: Reference, id: String, sender: Option<Party>) {
        let (handle, name) = (self.handle.clone(), Arc::clone(&reference));
        let waits = work::add(&self.work, async move {
            let watcher = match handle.find(&id, sender).await {
                Ok(entry) => Watcher::new(handle, entry).await,
                Err(refused) => Err(refused),
            };
            match watcher {
                Ok(watcher) => next(name, watcher).await,
                Err(refused) => Done::Told {
                    reference: name,
                    watcher: None,
                    told: Some(Err(refused)),
                },
            }
        });
        let kind = Kind::Watch;
        self.readers.insert(reference, Reader { kind, waits });
    }

    pub(super) async fn told(
        &mut self,
        reference: Reference,
        watcher: Option<Watcher>,
        told: Option<Result<String, Rejection>>,
    ) -> Result<(), End> {
        match (told, watcher) {
            (Some(Ok(receipt)), Some(watcher)) => {
                self.writer.text(frame::fate(&reference, &receipt)).await?;
                if let Some(reader) = self.readers.get_mut(&reference) {
                    reader.waits = work::add(&self.work, next(reference, watcher));
                }
                Ok(())
            }
            (Some(Err(_)), _) if self.door.stop.is_draining() => Ok(()),
            (Some(Err(refused)), _) => {
                self.remove_reader(&reference);
                self.refuse(&reference, &refused, "").await
            }
            (Some(Ok(_)) | None, _) => {
                self.remove_reader(&reference);
                Ok(())
            }
        }
    }
}

async fn next(reference: Reference, mut watcher: Watcher) -> Done {
    let told = watcher.next().await;
    Done::Told {
        reference,
        watcher: Some(watcher),
        told,
    }
}
