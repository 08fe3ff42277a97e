//! The part of the handle that is about dead letters.

use crate::Entry;
use crate::fate::AttemptView;
use crate::handle::Handle;
use exchange::{DeadLetter, DeliveryId, Exchange, PlaceName};
use protocol::{Code, Fault, Rejection, Timestamp};
use std::sync::Arc;

/// A dead letter with everything that is known about it.
#[derive(Clone, Debug)]
pub struct DeadLetterView {
    /// Names it; the delivery's place and sequence.
    pub id: DeliveryId,
    /// The place it is dead in.
    pub place: PlaceName,
    /// Since when.
    pub at: Timestamp,
    /// Why.
    pub reason: Box<str>,
    /// How often it was handed out.
    pub attempts: u32,
    /// How each attempt failed, as far as the journal still tells.
    pub failures: Vec<AttemptView>,
    /// The message.
    pub entry: Arc<Entry>,
}

impl Handle {
    /// Dead letters of a place, or of all, at most `max`, after one of them.
    ///
    /// # Errors
    /// `not_found` for a place that is not open; `storage_failed` when a message cannot be read.
    pub async fn dead_letters(
        &self,
        place: Option<PlaceName>,
        after: Option<DeliveryId>,
        max: usize,
    ) -> Result<Vec<DeadLetterView>, Rejection> {
        let found = self
            .look(move |exchange| {
                let after = after.map(|id| (id.place, id.sequence));
                let place = match &place {
                    // A party that nobody has written to has no dead letters either.
                    Some(name) => match (exchange.place(name), name) {
                        (Some(id), _) => Some(id),
                        (None, PlaceName::Inbox(_)) => return Ok(Vec::new()),
                        (None, PlaceName::Subscription(name)) => {
                            return Err(crate::serve::no_subscription(name));
                        }
                    },
                    None => None,
                };
                let letters = exchange.dead_letters(place, after, max);
                Ok(letters
                    .into_iter()
                    .map(|letter| named(exchange, letter))
                    .collect())
            })
            .await??;
        self.dead_letter_views(found).await
    }

    /// One dead letter.
    ///
    /// # Errors
    /// `not_found`; `storage_failed` when the message cannot be read.
    pub async fn dead_letter(&self, id: DeliveryId) -> Result<DeadLetterView, Rejection> {
        let found = self
            .look(move |exchange| {
                let letter = exchange.dead_letter(id.place, id.sequence);
                letter.map(|letter| named(exchange, letter))
            })
            .await?;
        let views = self.dead_letter_views(found.into_iter().collect()).await?;
        views.into_iter().next().ok_or_else(|| no_dead_letter(id))
    }

    /// Delivers a dead letter again.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn redrive(&self, id: DeliveryId) -> Result<(), Rejection> {
        self.act(move |exchange, now, _| {
            let change = exchange.redrive(now, id.place, id.sequence);
            Ok(((), change.ok_or_else(|| no_dead_letter(id))?))
        })
        .await
    }

    /// Lets go of a dead letter.
    ///
    /// # Errors
    /// `not_found`.
    pub async fn drop_dead_letter(&self, id: DeliveryId) -> Result<(), Rejection> {
        self.act(move |exchange, now, _| {
            let change = exchange.drop_dead_letter(now, id.place, id.sequence);
            Ok(((), change.ok_or_else(|| no_dead_letter(id))?))
        })
        .await
    }

    /// Reads the dead letters' messages and failures from the journal.
    async fn dead_letter_views(
        &self,
        letters: Vec<(DeadLetter, PlaceName)>,
    ) -> Result<Vec<DeadLetterView>, Rejection> {
        let shared = Arc::clone(&self.shared);
        let views = move || {
            let mut views = Vec::with_capacity(letters.len());
            for (letter, place) in letters {
                let Some(entry) = shared.entry(letter.sequence)? else {
                    continue;
                };
                let mut failures = Vec::with_capacity(letter.failures.len());
                for failure in &letter.failures {
                    failures.extend(shared.failure(*failure, letter.sequence)?);
                }
                views.push(DeadLetterView {
                    id: DeliveryId {
                        place: letter.place,
                        sequence: letter.sequence,
                        fence: 0,
                    },
                    place,
                    at: letter.at,
                    reason: letter.reason,
                    attempts: letter.attempts,
                    failures,
                    entry,
                });
            }
            Ok(views)
        };
        self.shared.aside(views).await
    }
}

fn named(exchange: &Exchange, letter: DeadLetter) -> (DeadLetter, PlaceName) {
    let name = exchange.place_name(letter.place).cloned();
    let name = name.unwrap_or_else(|| PlaceName::Subscription(Box::default()));
    (letter, name)
}

fn no_dead_letter(id: DeliveryId) -> Rejection {
    let detail = format!("expected the delivery of a dead letter, got {id}");
    Fault::new(Code::NotFound, "", "ARCHITECTURE dead letters", detail).into()
}
