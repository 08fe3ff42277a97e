//! A call, made on the real handle. The answer comes when the loop has taken its turn.

use crate::history::{
    Answer, Call, DeadLetter, Delivered, How, Place, Stored, Terms, Wants, print,
};
use broker::{
    Cursor, DeadLetterView, Delivery, DeliveryId, DeliverySettings, Departure, Entry, From, Handle,
    Order, PlaceName, Settle, Tail,
};
use bytes::Bytes;
use protocol::{Act, Filter, Party, Rejection};
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

pub(super) type Answering = Pin<Box<dyn Future<Output = Answer>>>;

/// Live readers that are not waiting.
pub(super) type Readers = Rc<RefCell<BTreeMap<u64, Tail>>>;

/// Nobody keeps the time of a simulated wait: its caller leaves, or is answered.
const FOR_EVER: Duration = Duration::from_secs(1 << 30);

/// Makes the call; `envelope` is what a publish sends.
pub(super) fn call(handle: Handle, readers: Readers, ask: Call, envelope: Bytes) -> Answering {
    Box::pin(async move {
        answer(&handle, &readers, ask, envelope)
            .await
            .unwrap_or_else(|refused| Answer::Refused(refused.code().as_str().into()))
    })
}

async fn answer(
    handle: &Handle,
    readers: &Readers,
    ask: Call,
    envelope: Bytes,
) -> Result<Answer, Rejection> {
    let place = place_name;
    match ask {
        Call::Publish { .. } => {
            let receipt = handle.accept(envelope).await?;
            return Ok(Answer::Receipt {
                sequence: receipt.cursor.sequence,
                duplicate: receipt.duplicate,
            });
        }
        Call::Configure { place: at, terms } => {
            handle.configure(place(&at), settings(terms)).await?;
        }
        Call::Subscribe {
            name,
            wants,
            deliver_to,
            terms,
        } => {
            let deliver_to = deliver_to.map(|party| Party::parse(&party));
            let settings = Some(settings(terms));
            let put = handle.put_subscription(&name, filter(&wants), deliver_to, settings);
            put.await?;
        }
        Call::Unsubscribe { name } => handle.remove_subscription(&name).await?,
        Call::Pull {
            place: at,
            consumer,
            max,
            wait,
        } => {
            let wait = if wait { FOR_EVER } else { Duration::ZERO };
            let consumer = consumer.map(Into::into);
            let pulled = handle.pull(place(&at), consumer, max, wait).await?;
            return Ok(Answer::Delivered(pulled.iter().map(delivered).collect()));
        }
        Call::Settle { deliveries, how } => return settle(handle, &deliveries, how).await,
        Call::Leave {
            place: at,
            consumer,
            is_dead,
        } => {
            let how = match is_dead {
                true => Departure::IsGone,
                false => Departure::Leaves,
            };
            let consumer = consumer.map(Into::into);
            handle.leave(place(&at), consumer, how).await?;
        }
        Call::Pause {
            place: at,
            is_paused,
        } => handle.pause(place(&at), is_paused).await?,
        Call::DeadLetters { place: at } => {
            let letters = handle.dead_letters(Some(place(&at)), None, 1_000).await?;
            return Ok(Answer::Dead(letters.iter().map(dead_letter).collect()));
        }
        Call::Redrive { letter } => {
            if let Some(id) = DeliveryId::parse(&letter) {
                handle.redrive(id).await?;
            }
        }
        Call::Drop { letter } => {
            if let Some(id) = DeliveryId::parse(&letter) {
                handle.drop_dead_letter(id).await?;
            }
        }
        Call::Read => return read(handle).await,
        Call::Follow {
            reader,
            wants,
            after,
        } => {
            let cursor = Cursor {
                sequence: after,
                ..handle.head()
            };
            let from = From::Cursor(cursor.to_string());
            let tail = handle.tail(filter(&wants), &from).await?;
            readers.borrow_mut().insert(reader, tail);
        }
        Call::Next { reader, max } => return next(readers, reader, max).await,
    }
    Ok(Answer::Done)
}

async fn settle(handle: &Handle, deliveries: &[String], how: How) -> Result<Answer, Rejection> {
    let ids = deliveries.iter().filter_map(|text| DeliveryId::parse(text));
    let how = match how {
        How::Ack => Settle::Ack,
        How::Nack(retry_after_ms) => Settle::Nack {
            retry_after_ms,
            reason: "not now".into(),
        },
        How::Reject => Settle::Reject {
            reason: "never".into(),
        },
        How::Extend(lease_ms) => Settle::Extend { lease_ms },
    };
    let results = handle.settle(ids.collect(), how).await?;
    let codes = results.into_iter().map(|result| {
        let refused = result.err()?;
        Some(refused.code().as_str().to_owned())
    });
    Ok(Answer::Settled(codes.collect()))
}

async fn read(handle: &Handle) -> Result<Answer, Rejection> {
    let mut from = From::Earliest;
    let mut messages = Vec::new();
    loop {
        let page = handle.page(Filter::default(), from, 16).await?;
        messages.extend(page.entries.iter().map(|entry| stored(entry)));
        if page.is_last {
            return Ok(Answer::Journal(messages));
        }
        from = From::Cursor(page.next.to_string());
    }
}

/// A reader that is dropped while it waits is gone.
async fn next(readers: &Readers, reader: u64, max: usize) -> Result<Answer, Rejection> {
    let tail = readers.borrow_mut().remove(&reader);
    let Some(mut tail) = tail else {
        return Ok(Answer::Journal(Vec::new()));
    };
    loop {
        let batch = tail.next(max).await?;
        if !batch.entries.is_empty() {
            readers.borrow_mut().insert(reader, tail);
            let messages = batch.entries.iter().map(|entry| stored(entry));
            return Ok(Answer::Journal(messages.collect()));
        }
    }
}

fn delivered(delivery: &Delivery) -> Delivered {
    Delivered {
        delivery: delivery.id.to_string(),
        message: stored(&delivery.entry),
        attempt: delivery.attempt,
        redelivered: delivery.redelivered,
        until: delivery.lease_until.as_millis(),
    }
}

fn dead_letter(letter: &DeadLetterView) -> DeadLetter {
    DeadLetter {
        letter: letter.id.to_string(),
        message: stored(&letter.entry),
    }
}

fn stored(entry: &Entry) -> Stored {
    Stored {
        sequence: entry.sequence,
        print: print(&entry.envelope),
        sender: entry.header.sender.to_string(),
        conversation: entry.header.conversation.as_deref().map(str::to_owned),
        ends: ends(entry),
    }
}

/// The task that a message ends.
fn ends(entry: &Entry) -> Option<String> {
    let is_end = matches!(
        entry.header.act,
        Act::Complete | Act::Fail | Act::Cancel | Act::TimeOut
    );
    let task = entry.header.task.as_deref().filter(|_| is_end);
    task.map(str::to_owned)
}

fn place_name(place: &Place) -> PlaceName {
    match place.split_once(' ') {
        Some(("subscription", name)) => PlaceName::Subscription(name.into()),
        Some((_, party)) => PlaceName::Inbox(Party::parse(party)),
        None => PlaceName::Inbox(Party::parse(place)),
    }
}

pub(super) fn settings(terms: Terms) -> DeliverySettings {
    DeliverySettings {
        lease_ms: terms.lease_ms,
        max_attempts: terms.max_attempts,
        backoff_ms: terms.backoff_ms,
        backoff_multiplier_milli: 2_000,
        backoff_ms_max: terms.backoff_ms_max,
        in_flight_max: u32::try_from(terms.in_flight_max).unwrap_or(u32::MAX),
        order: if terms.is_ordered {
            Order::Conversation
        } else {
            Order::None
        },
    }
}

fn filter(wants: &Wants) -> Filter {
    let (field, value) = match wants {
        Wants::Everything => return Filter::default(),
        Wants::Target(party) => ("target", party),
        Wants::Topic(topic) => ("topic", topic),
        Wants::Conversation(id) => ("conversation", id),
    };
    Filter::from_pairs([(field, value.as_str())]).unwrap_or_default()
}
