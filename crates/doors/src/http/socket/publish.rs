//! Publishing over a socket: pipelined in, answered as the results come.

use super::connection::{Connection, End};
use super::frame::{self, Reference};
use super::pipeline::Pending;
use axum::body::Bytes;
use broker::{Published, Submission, label};
use protocol::{DialectName, Reading};

impl Connection {
    pub(super) async fn publish(
        &mut self,
        reference: Reference,
        reading: Reading,
        envelope: Bytes,
    ) -> Result<(), End> {
        let dialect = reading.dialect.map_or("none", DialectName::as_str);
        match reading.into_result() {
            Ok((header, warnings)) => {
                let number = self.pipeline.next();
                self.pipeline.push(Pending { reference, dialect });
                self.pipeline.together.push(Submission {
                    number,
                    header,
                    envelope,
                    warnings,
                });
                Ok(())
            }
            Err(refused) => {
                self.handle.count(dialect, refused.code().as_str());
                self.refuse(&reference, &refused, "/envelope").await
            }
        }
    }

    /// Gives the exchange what arrived together, so that one commit can take it.
    pub(super) async fn hand_over(&mut self) {
        if self.pipeline.together.is_empty() {
            return;
        }
        let together = std::mem::take(&mut self.pipeline.together);
        self.handle.submit(together, &self.pipeline.submit).await;
    }

    pub(super) async fn answer(&mut self, number: u64, result: Published) -> Result<(), End> {
        let Some(Pending { reference, dialect }) = self.pipeline.take(number) else {
            return Ok(());
        };
        let result = result.and_then(|receipt| self.handle.complete(receipt));
        self.handle.count(dialect, label(&result));
        match result {
            Ok(receipt) => Ok(self
                .writer
                .text(frame::receipt(&reference, &receipt))
                .await?),
            Err(refused) => self.refuse(&reference, &refused, "/envelope").await,
        }
    }

    pub(super) async fn answer_ready(&mut self) -> Result<(), End> {
        while let Ok((number, result)) = self.pipeline.results.try_recv() {
            self.answer(number, result).await?;
        }
        Ok(())
    }

    /// Waits for the results of publishes that are in the exchange.
    pub(super) async fn answer_rest(&mut self) -> Result<(), End> {
        while self.pipeline.open() > 0
            && let Some((number, result)) = self.pipeline.results.recv().await
        {
            self.answer(number, result).await?;
        }
        Ok(())
    }
}
