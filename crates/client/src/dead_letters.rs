//! Dead letters: what nobody is given again by itself, until somebody looks.

use crate::client::segment;
use crate::inbox::Place;
use crate::{Client, Error, FailedAttempt};
use bytes::Bytes;
use reqwest::Method;
use serde::Deserialize;
use serde_json::value::RawValue;

/// One dead letter.
#[derive(Clone, Debug)]
pub struct DeadLetter {
    /// Names it.
    pub delivery: String,
    /// Where it is dead.
    pub place: Place,
    /// Why: `attempts_exhausted` or `rejected`.
    pub reason: String,
    /// How often it was handed out.
    pub attempts: u32,
    /// RFC 3339 moment since when.
    pub at: String,
    /// How each attempt failed.
    pub failures: Vec<FailedAttempt>,
    /// The envelope's id.
    pub id: String,
    /// Its sender.
    pub sender: String,
    /// Where it stands in the journal.
    pub cursor: String,
    /// The bytes.
    pub envelope: Bytes,
    /// All of it as it came.
    pub raw: String,
}

/// Some dead letters.
#[derive(Clone, Debug)]
pub struct DeadLetters {
    /// In the order of places and age.
    pub letters: Vec<DeadLetter>,
    /// Where to go on; `None` at the end.
    pub next: Option<String>,
}

#[derive(Deserialize)]
struct List<'a> {
    #[serde(borrow)]
    dead_letters: Vec<&'a RawValue>,
    next: Option<String>,
}

#[derive(Deserialize)]
struct Letter<'a> {
    delivery: String,
    inbox: Option<String>,
    subscription: Option<String>,
    reason: String,
    attempts: u32,
    at: String,
    failures: Vec<FailedAttempt>,
    id: String,
    sender: String,
    cursor: String,
    #[serde(borrow)]
    envelope: &'a RawValue,
}

impl Client {
    /// Up to `limit` dead letters of a place, or of all, after one of them.
    ///
    /// # Errors
    /// `Refused` with `not_found` for a subscription that does not exist.
    pub async fn dead_letters(
        &self,
        place: Option<&Place>,
        after: Option<&str>,
        limit: usize,
    ) -> Result<DeadLetters, Error> {
        let mut query = vec![("limit", limit.to_string())];
        query.extend(place.map(|place| match place {
            Place::Inbox(party) => ("inbox", party.clone()),
            Place::Subscription(name) => ("subscription", name.clone()),
        }));
        query.extend(after.map(|after| ("after", after.to_owned())));
        let request = self.request(Method::GET, "/v1/dead-letters").query(&query);
        let response = self.send(request).await?;
        let text = self.text(response).await?;
        let list: List<'_> = serde_json::from_str(&text).map_err(|_| unexpected(&text))?;
        let letters = list.dead_letters.iter().map(|raw| read(raw.get()));
        Ok(DeadLetters {
            letters: letters.collect::<Result<_, _>>()?,
            next: list.next,
        })
    }

    /// One dead letter.
    ///
    /// # Errors
    /// `Refused` with `not_found`.
    pub async fn dead_letter(&self, delivery: &str) -> Result<DeadLetter, Error> {
        let request = self.request(Method::GET, &path(delivery));
        let response = self.send(request).await?;
        read(&self.text(response).await?)
    }

    /// Delivers a dead letter again.
    ///
    /// # Errors
    /// As [`Self::dead_letter`].
    pub async fn redrive(&self, delivery: &str) -> Result<(), Error> {
        let path = format!("{}/redrive", path(delivery));
        let request = self.request(Method::POST, &path);
        self.send(request).await.map(drop)
    }

    /// Lets go of a dead letter.
    ///
    /// # Errors
    /// As [`Self::dead_letter`].
    pub async fn drop_dead_letter(&self, delivery: &str) -> Result<(), Error> {
        let request = self.request(Method::DELETE, &path(delivery));
        self.send(request).await.map(drop)
    }
}

fn path(delivery: &str) -> String {
    format!("/v1/dead-letters/{}", segment(delivery))
}

fn read(text: &str) -> Result<DeadLetter, Error> {
    let letter: Letter<'_> = serde_json::from_str(text).map_err(|_| unexpected(text))?;
    let place = match (letter.inbox, letter.subscription) {
        (Some(party), _) => Place::Inbox(party),
        (None, name) => Place::Subscription(name.unwrap_or_default()),
    };
    Ok(DeadLetter {
        delivery: letter.delivery,
        place,
        reason: letter.reason,
        attempts: letter.attempts,
        at: letter.at,
        failures: letter.failures,
        id: letter.id,
        sender: letter.sender,
        cursor: letter.cursor,
        envelope: Bytes::copy_from_slice(letter.envelope.get().as_bytes()),
        raw: text.to_owned(),
    })
}

fn unexpected(text: &str) -> Error {
    Error::Answer {
        expected: "dead letters",
        got: text.to_owned(),
    }
}
