//! One run through every door at once, without a kill: HTTP, server-sent events and the WebSocket.

use super::letters::result;
use super::witness::{Record, Witness, delivered_over_socket, place, settled_of};
use super::work::{
    Fuse, Position, TERMS, consume, finish, follow_socket, follow_stream, places, prepare,
    publish_over_http, publish_over_socket,
};
use crate::process::Exchange;
use client::SocketEvent;
use testkit::Random;
use testkit::history::{Answer, Call, How, Terms, Wants, inbox, subscription};

const PUBLISHERS: usize = 6;
const LETTERS: usize = 80;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_door_tells_the_same_story() {
    let exchange = Exchange::in_memory();
    let record = Record::default();
    let witness = || Witness::new(&exchange.url, &record);
    // What is pushed may wait in a buffer for a while, and must not lose its lease there.
    let patient = Terms {
        lease_ms: 10_000,
        ..TERMS
    };
    prepare(&witness(), patient).await;
    // More than there are answers: nobody waits for its end.
    let fuse = || Fuse::of(usize::MAX);
    let readers = [
        tokio::spawn(follow_stream(witness(), Position::start(Wants::Everything))),
        tokio::spawn(follow_socket(witness(), Position::start(Wants::Everything))),
    ];
    let over_http = |name: &str, seed| {
        let from = inbox("agent:c");
        tokio::spawn(consume(witness(), fuse(), from, name.into(), seed))
    };
    let over_socket =
        |from, name, seed| tokio::spawn(consume_over_socket(witness(), from, name, seed));
    let consumers = [
        over_http("one", 1),
        over_http("two", 2),
        over_socket(inbox("agent:b"), "one", 3),
        over_socket(inbox("agent:b"), "two", 4),
        over_socket(subscription("everything"), "one", 5),
    ];
    let mut publishers = Vec::new();
    for sender in 0..PUBLISHERS {
        let (witness, run) = (witness(), "doors".to_owned());
        publishers.push(if sender % 2 == 0 {
            tokio::spawn(publish_over_http(witness, fuse(), run, sender, LETTERS))
        } else {
            tokio::spawn(publish_over_socket(witness, fuse(), run, sender, LETTERS))
        });
    }
    for publisher in publishers {
        publisher.await.unwrap();
    }
    // Consumers go away in the middle of what they do; others take what they had.
    for consumer in consumers {
        consumer.abort();
    }
    finish(&witness(), &places(PUBLISHERS)).await;
    for reader in readers {
        reader.abort();
    }
    record.check("doors");
}

/// Reads a place over a socket, which pushes, and settles over it.
async fn consume_over_socket(witness: Witness, from: String, name: &'static str, seed: u64) {
    let mut random = Random::new(seed);
    let socket = witness.client.socket().await.unwrap();
    let reader = socket.read_as(&place(&from), Some(name), 16).await;
    let mut events = reader.unwrap();
    let ask = || Call::Pull {
        place: from.clone(),
        consumer: Some(name.into()),
        max: 1,
        wait: true,
    };
    // What is pushed answers a question that was asked when the one before had come.
    let mut call = witness.record.ask(ask());
    while let Some(event) = events.next().await.unwrap() {
        let SocketEvent::Deliver(found) = event else {
            continue;
        };
        let delivered = delivered_over_socket(&found);
        let delivery = delivered.delivery.clone();
        let answer = Answer::Delivered(vec![delivered]);
        witness.record.answer(call, answer);
        call = witness.record.ask(ask());
        if random.one_in(3)
            && from == inbox("agent:b")
            && let Some((message, envelope)) = result(&found.envelope)
        {
            witness.publish(&message, &envelope).await.unwrap();
            continue;
        }
        let how = match random.below(10) {
            0 => How::Nack(Some(120)),
            1 => How::Reject,
            _ => How::Ack,
        };
        let settle = witness.record.ask(Call::Settle {
            deliveries: vec![delivery.clone()],
            how,
        });
        let names = [delivery.as_str()];
        let settled = match how {
            How::Nack(_) => socket.nack(&names, Some(120)).await,
            How::Reject => socket.reject(&names, "never").await,
            How::Ack | How::Extend(_) => socket.ack(&names).await,
        };
        let answer = settled_of(&settled.unwrap());
        witness.record.answer(settle, answer);
    }
}
