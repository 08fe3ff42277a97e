//! Readers of one task: its past, what comes, its end, and then the reader is over.

use super::connection::{Connection, End};
use super::frame::{self, Reference};
use super::readers::{Kind, Reader};
use super::work::{self, Done};
use broker::{From, TaskNews, TaskTail};
use protocol::Rejection;
use std::sync::Arc;

impl Connection {
    pub(super) fn watch_task(&mut self, reference: Reference, task: String, from: Option<From>) {
        let (handle, name) = (self.handle.clone(), Arc::clone(&reference));
        let waits = work::add(&self.work, async move {
            let tail = handle.follow_task(&task, from.as_ref()).await;
            Done::Watching {
                reference: name,
                tail: tail.map(Box::new),
            }
        });
        let kind = Kind::Live {
            cursor: self.handle.head(),
            owed: None,
            wanted: None,
        };
        self.readers.insert(reference, Reader { kind, waits });
    }

    pub(super) async fn watching(
        &mut self,
        reference: Reference,
        tail: Result<Box<TaskTail>, Rejection>,
    ) -> Result<(), End> {
        match tail {
            Ok(tail) => {
                self.writer
                    .text(frame::plain("subscribed", &reference))
                    .await?;
                self.watch_on(reference, tail);
                Ok(())
            }
            Err(refused) => {
                self.remove_reader(&reference);
                self.refuse(&reference, &refused, "").await
            }
        }
    }

    pub(super) async fn news(
        &mut self,
        reference: Reference,
        tail: Box<TaskTail>,
        news: Result<TaskNews, Rejection>,
    ) -> Result<(), End> {
        match news {
            Ok(TaskNews::Envelope(entry)) => {
                self.deliver_one(&reference, &entry).await?;
                self.watch_on(reference, tail);
                Ok(())
            }
            Ok(TaskNews::Gap(gap)) => {
                self.writer.text(frame::gap(&reference, &gap)).await?;
                self.watch_on(reference, tail);
                Ok(())
            }
            Ok(TaskNews::Ended {
                state,
                entry,
                is_repeat,
            }) => {
                if !is_repeat {
                    self.deliver_one(&reference, &entry).await?;
                }
                self.remove_reader(&reference);
                let ended =
                    frame::ended(&reference, &self.handle, tail.id(), state.as_str(), &entry);
                Ok(self.writer.text(ended).await?)
            }
            // Told as part of the drain, with the cursor.
            Err(_) if self.door.stop.is_draining() => Ok(()),
            Err(refused) => {
                self.remove_reader(&reference);
                self.refuse(&reference, &refused, "").await
            }
        }
    }

    async fn deliver_one(&mut self, reference: &str, entry: &broker::Entry) -> Result<(), End> {
        let frame = self.deliver_frame(reference, entry);
        self.writer.bytes(frame).await?;
        self.handle.meter().streamed.inc();
        self.reached(reference, self.handle.cursor(entry));
        Ok(())
    }

    fn watch_on(&mut self, reference: Reference, mut tail: Box<TaskTail>) {
        let name = Arc::clone(&reference);
        let waits = work::add(&self.work, async move {
            let news = tail.next().await;
            Done::News {
                reference: name,
                tail,
                news,
            }
        });
        if let Some(reader) = self.readers.get_mut(&reference) {
            reader.waits = waits;
        } else {
            waits.abort();
        }
    }
}
