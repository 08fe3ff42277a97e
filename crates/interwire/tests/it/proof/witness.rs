//! A client that writes down what it asks and what it is answered.

use client::{Client, DeliverySettings, Error, Event, Filter, From, Place};
use protocol::{Act, Header, Rules, Timestamp, decode};
use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};
use testkit::history::{
    self, Answer, Call, DeadLetter, Delivered, How, Line, Message, Stored, Terms, Wants, What,
};

/// What all witnesses of one run have seen, in one order.
#[derive(Clone, Debug, Default)]
pub struct Record {
    lines: Arc<Mutex<Vec<Line>>>,
    numbers: Arc<AtomicU64>,
}

impl Record {
    pub fn ask(&self, ask: Call) -> u64 {
        let call = self.number();
        self.note(What::Called { call, ask });
        call
    }

    pub fn answer(&self, call: u64, answer: Answer) {
        self.note(What::Answered { call, answer });
    }

    /// A number that nobody else has.
    pub fn number(&self) -> u64 {
        self.numbers.fetch_add(1, Ordering::Relaxed) + 1
    }

    pub fn died(&self) {
        self.note(What::Died);
    }

    fn note(&self, what: What) {
        let mut lines = self.lines.lock().unwrap();
        lines.push(Line { at: now(), what });
    }

    /// Adds up what is counted of each line.
    pub fn sum(&self, count: impl Fn(&What) -> usize) -> usize {
        let lines = self.lines.lock().unwrap();
        lines.iter().map(|line| count(&line.what)).sum()
    }

    /// Shows each call that was answered, in the order of the answers.
    pub fn each_answer(&self, mut see: impl FnMut(&Call, &Answer)) {
        let lines = self.lines.lock().unwrap();
        let mut asked = HashMap::new();
        for line in lines.iter() {
            match &line.what {
                What::Called { call, ask } => drop(asked.insert(call, ask)),
                What::Answered { call, answer } => see(asked[call], answer),
                What::Abandoned { .. } | What::Died => {}
            }
        }
    }

    /// Adds up what is counted of each call that was answered.
    pub fn sum_answers(&self, count: impl Fn(&Call, &Answer) -> usize) -> usize {
        let mut sum = 0;
        self.each_answer(|ask, answer| sum += count(ask, answer));
        sum
    }

    /// Every message that somebody sent, each once.
    pub fn messages(&self) -> Vec<Message> {
        let lines = self.lines.lock().unwrap();
        let sent = lines.iter().filter_map(|line| match &line.what {
            What::Called {
                ask: Call::Publish { message },
                ..
            } => Some((message.print, message.clone())),
            _ => None,
        });
        sent.collect::<BTreeMap<_, _>>().into_values().collect()
    }

    /// Judges it all. What is wrong is told, and the history is kept to be looked at.
    pub fn check(&self, name: &str) {
        let lines = self.lines.lock().unwrap();
        let broken = history::check(&lines, true);
        if broken.is_empty() {
            return;
        }
        let path = std::env::temp_dir().join(format!("interwire-{name}.history"));
        save(&path, &lines);
        let some = broken.get(..20).unwrap_or(&broken).join("\n");
        let (count, path) = (broken.len(), path.display());
        panic!("{count} promises were broken, see {path}:\n{some}");
    }
}

fn save(path: &Path, lines: &[Line]) {
    let mut text = String::new();
    for line in lines {
        text.push_str(&serde_json::to_string(line).unwrap());
        text.push('\n');
    }
    std::fs::write(path, text).unwrap();
}

/// Milliseconds of the wall clock.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    i64::try_from(since.as_millis()).unwrap()
}

/// One client whose words are written down.
#[derive(Clone, Debug)]
pub struct Witness {
    pub client: Client,
    pub record: Record,
}

/// The place as the client names it.
pub fn place(name: &str) -> Place {
    match name.split_once(' ') {
        Some(("subscription", name)) => Place::Subscription(name.into()),
        Some((_, party)) => Place::Inbox(party.into()),
        None => panic!("{name} is no place"),
    }
}

impl Witness {
    pub fn new(url: &str, record: &Record) -> Self {
        Self {
            client: Client::connect(url).unwrap(),
            record: record.clone(),
        }
    }

    /// Writes the answer down, unless the connection broke: then nobody knows.
    fn end<T>(
        &self,
        call: u64,
        result: Result<T, Error>,
        answer: impl Fn(&T) -> Answer,
    ) -> Option<T> {
        match result {
            Ok(found) => {
                self.record.answer(call, answer(&found));
                Some(found)
            }
            Err(error) => {
                if let Some(problem) = error.problem() {
                    let refused = Answer::Refused(problem.code.clone());
                    self.record.answer(call, refused);
                }
                None
            }
        }
    }

    /// None when the exchange is gone.
    pub async fn publish(&self, message: &Message, envelope: &str) -> Option<()> {
        let call = self.record.ask(Call::Publish {
            message: message.clone(),
        });
        let result = self.client.publish(envelope.to_owned()).await;
        let has_broken = |error: &Error| error.problem().is_none();
        let is_gone = result.as_ref().is_err_and(has_broken);
        self.end(call, result, receipt_of);
        (!is_gone).then_some(())
    }

    pub async fn configure(&self, party: &str, terms: Terms) {
        let place = history::inbox(party);
        let call = self.record.ask(Call::Configure { place, terms });
        let result = self.client.put_inbox(party, &settings(terms)).await;
        self.end(call, result, |_| Answer::Done).unwrap();
    }

    pub async fn subscribe(&self, name: &str, wants: Wants, terms: Terms) {
        let call = self.record.ask(Call::Subscribe {
            name: name.into(),
            wants: wants.clone(),
            deliver_to: None,
            terms,
        });
        let (filter, settings) = (filter(&wants), settings(terms));
        let put = self
            .client
            .put_subscription_with(name, &filter, None, Some(&settings));
        self.end(call, put.await, |_| Answer::Done).unwrap();
    }

    /// None when the exchange is gone.
    pub async fn pull(
        &self,
        from: &str,
        consumer: Option<&str>,
        max: usize,
        wait: Duration,
    ) -> Option<Vec<client::Delivery>> {
        let call = self.record.ask(Call::Pull {
            place: from.into(),
            consumer: consumer.map(Into::into),
            max,
            wait: !wait.is_zero(),
        });
        let pulled = self.client.pull_as(&place(from), consumer, max, wait).await;
        let answer = |found: &Vec<client::Delivery>| {
            Answer::Delivered(found.iter().map(delivered).collect())
        };
        self.end(call, pulled, answer)
    }

    /// None when the exchange is gone.
    pub async fn settle(&self, names: &[&str], how: How) -> Option<()> {
        let call = self.record.ask(Call::Settle {
            deliveries: names.iter().map(|name| (*name).to_owned()).collect(),
            how,
        });
        let (verb, extra) = match how {
            How::Ack => ("ack", serde_json::json!({})),
            How::Nack(None) => ("nack", serde_json::json!({"reason": "not now"})),
            How::Nack(Some(ms)) => ("nack", serde_json::json!({"retry_after_ms": ms})),
            How::Reject => ("reject", serde_json::json!({"reason": "never"})),
            How::Extend(_) => ("extend", serde_json::json!({})),
        };
        let settled = self.client.settle(verb, names, extra).await;
        self.end(call, settled, |results| settled_of(results))
            .map(drop)
    }

    /// None when the exchange is gone.
    pub async fn leave(&self, from: &str, consumer: &str) -> Option<()> {
        let call = self.record.ask(Call::Leave {
            place: from.into(),
            consumer: Some(consumer.into()),
            is_dead: false,
        });
        let left = self.client.leave(&place(from), consumer).await;
        self.end(call, left, |()| Answer::Done)
    }

    /// Lists the dead letters of a place.
    pub async fn dead_letters(&self, from: &str) {
        let call = self.record.ask(Call::DeadLetters { place: from.into() });
        let (mut letters, mut after) = (Vec::new(), None);
        loop {
            let place = place(from);
            let page = self
                .client
                .dead_letters(Some(&place), after.as_deref(), 100);
            let page = page.await.unwrap();
            letters.extend(page.letters.iter().map(|letter| DeadLetter {
                letter: letter.delivery.clone(),
                message: stored(&letter.cursor, &letter.envelope),
            }));
            after = page.next;
            if after.is_none() {
                break;
            }
        }
        self.record.answer(call, Answer::Dead(letters));
    }

    /// Reads the whole journal.
    pub async fn read(&self) -> Vec<Stored> {
        let call = self.record.ask(Call::Read);
        let mut found = Vec::new();
        let mut reader = self.client.subscribe(Filter::new(), From::Earliest);
        loop {
            match reader.next().await.unwrap() {
                Event::Envelope { cursor, envelope } => found.push(stored(&cursor, &envelope)),
                Event::CaughtUp => break,
                other => panic!("{other:?}"),
            }
        }
        self.record.answer(call, Answer::Journal(found.clone()));
        found
    }
}

pub fn receipt_of(receipt: &client::Receipt) -> Answer {
    Answer::Receipt {
        sequence: sequence(&receipt.cursor),
        duplicate: receipt.duplicate,
    }
}

pub fn settled_of(results: &[client::Settled]) -> Answer {
    let code = |result: &client::Settled| result.as_ref().err().map(|fault| fault.code.clone());
    Answer::Settled(results.iter().map(code).collect())
}

/// The sequence in a cursor: what is behind its last dash.
pub fn sequence(cursor: &str) -> u64 {
    let (_, sequence) = cursor.rsplit_once('-').unwrap();
    sequence.parse().unwrap()
}

pub fn header(envelope: &[u8]) -> Header {
    let rules = Rules::at(Timestamp::from_millis(now()));
    decode(envelope, &rules).header.unwrap()
}

pub fn stored(cursor: &str, envelope: &[u8]) -> Stored {
    let header = header(envelope);
    let is_end = matches!(
        header.act,
        Act::Complete | Act::Fail | Act::Cancel | Act::TimeOut
    );
    let task = header.task.as_deref().or(header.cause.as_deref());
    Stored {
        sequence: sequence(cursor),
        print: history::print(envelope),
        sender: header.sender.to_string(),
        conversation: header.conversation.as_deref().map(str::to_owned),
        ends: task.filter(|_| is_end).map(str::to_owned),
    }
}

fn delivered(delivery: &client::Delivery) -> Delivered {
    Delivered {
        delivery: delivery.delivery.clone(),
        message: stored(&delivery.cursor, &delivery.envelope),
        attempt: delivery.attempt,
        redelivered: delivery.redelivered,
        until: millis(&delivery.lease_until),
    }
}

pub fn delivered_over_socket(found: &client::SocketDelivery) -> Delivered {
    Delivered {
        delivery: found.delivery.clone().unwrap(),
        message: stored(&found.cursor, &found.envelope),
        attempt: found.attempt,
        redelivered: found.redelivered,
        until: millis(&found.lease_until),
    }
}

/// The moment in a text of RFC 3339.
pub fn millis(text: &str) -> i64 {
    let (moment, _) = Timestamp::parse_rfc3339(text).unwrap();
    moment.as_millis()
}

pub fn filter(wants: &Wants) -> Filter {
    match wants {
        Wants::Everything => Filter::new(),
        Wants::Target(party) => Filter::new().with("target", party),
        Wants::Topic(topic) => Filter::new().with("topic", topic),
        Wants::Conversation(id) => Filter::new().with("conversation", id),
    }
}

fn settings(terms: Terms) -> DeliverySettings {
    let ms = |value: i64| u64::try_from(value).ok();
    DeliverySettings {
        lease_ms: ms(terms.lease_ms),
        max_attempts: Some(terms.max_attempts),
        backoff_ms: ms(terms.backoff_ms),
        backoff_multiplier: Some(2.0),
        backoff_ms_max: ms(terms.backoff_ms_max),
        max_in_flight: u32::try_from(terms.in_flight_max).ok(),
        order: Some(
            if terms.is_ordered {
                "conversation"
            } else {
                "none"
            }
            .into(),
        ),
    }
}
