//! An exchange with a journal in memory and a clock that tests move.

use bytes::Bytes;
use interwire_exchange::{
    DeliveryId, Exchange, Lease, Outcome, PlaceId, PlaceName, Publication, Record, Settings, Settle,
};
use protocol::{
    Act, Code, DialectName, Filter, Header, Intake, Party, Priority, Rejection, Rules, Timestamp,
    digest,
};
use std::sync::Arc;

/// What a test says about one message; the rest is the same for all.
#[derive(Clone, Debug)]
pub struct Message {
    pub header: Header,
    pub envelope: Bytes,
}

impl Message {
    pub fn new(id: &str, recipients: &[&str]) -> Self {
        let header = Header {
            dialect: DialectName::Aep,
            id: id.into(),
            sender: Party::parse("agent:a"),
            act: Act::Inform,
            kind: "agent.ready".into(),
            recipients: recipients.iter().map(|text| Party::parse(text)).collect(),
            topics: Vec::new(),
            conversation: None,
            correlation: None,
            cause: None,
            task: None,
            session: None,
            intent: None,
            priority: Priority::Normal,
            deadline: None,
            intake: Intake::Work,
            idempotency_key: None,
            origin: None,
            retry: None,
            settles: None,
            replay_of: None,
            step: None,
            flow: None,
            coordination: None,
            fingerprint: digest(id.as_bytes()),
        };
        Self {
            header,
            envelope: Bytes::copy_from_slice(id.as_bytes()),
        }
    }

    /// A real envelope of any dialect, which must be valid.
    pub fn read(text: &str, now: Timestamp) -> Self {
        let reading = protocol::decode(text.as_bytes(), &Rules::at(now));
        assert_eq!(reading.faults, [], "{text}");
        Self {
            header: reading.header.unwrap(),
            envelope: Bytes::copy_from_slice(text.as_bytes()),
        }
    }

    pub fn with(mut self, change: impl FnOnce(&mut Header)) -> Self {
        change(&mut self.header);
        self
    }

    pub fn from(self, sender: &str) -> Self {
        self.with(|header| header.sender = Party::parse(sender))
    }

    pub fn bytes(self, text: &str) -> Self {
        let envelope = Bytes::copy_from_slice(text.as_bytes());
        Self {
            envelope,
            ..self.with(|header| header.fingerprint = digest(text.as_bytes()))
        }
    }
}

pub struct World {
    pub exchange: Exchange,
    pub settings: Settings,
    /// Kind and body of each record; the first has sequence 1.
    pub journal: Vec<(u8, Bytes)>,
    pub now: Timestamp,
}

impl World {
    pub fn new() -> Self {
        Self::with(Settings::default())
    }

    pub fn with(settings: Settings) -> Self {
        let now = Timestamp::from_millis(1_772_274_600_000);
        Self {
            exchange: Exchange::new(settings.clone()),
            settings,
            journal: Vec::new(),
            now,
        }
    }

    pub fn next_sequence(&self) -> u64 {
        self.journal.len() as u64 + 1
    }

    pub fn append(&mut self, record: &Record) {
        let mut body = Vec::new();
        record.encode_head(&mut body);
        if let Record::Published { envelope, .. } = record {
            body.extend_from_slice(envelope);
        }
        self.journal.push((record.kind(), body.into()));
    }

    pub fn append_all(&mut self, records: &[Record]) {
        records.iter().for_each(|record| self.append(record));
    }

    pub fn try_publish(&mut self, message: Message) -> Result<Publication, Rejection> {
        for id in self.exchange.missing_tasks(&message.header) {
            self.recall(&id);
        }
        let sequence = self.next_sequence();
        let header = Arc::new(message.header);
        let publication = self
            .exchange
            .publish(self.now, sequence, header, message.envelope)?;
        if let Some(record) = &publication.record {
            self.append(record);
        }
        self.append_all(&publication.then.records);
        Ok(publication)
    }

    /// The messages that speak of a task.
    pub fn rows(&self, id: &str) -> Vec<(Timestamp, u64, Arc<Header>)> {
        let mut rows = Vec::new();
        for (sequence, (kind, body)) in (1..).zip(&self.journal) {
            if let Ok(Record::Published { at, header, .. }) = Record::decode(*kind, body)
                && (header.task.as_deref() == Some(id) || *header.id == *id)
            {
                rows.push((at, sequence, header));
            }
        }
        rows
    }

    /// Tells the exchange what the journal knows of a task.
    pub fn recall(&mut self, id: &str) {
        let mut next = Some(Box::from(id));
        while let Some(id) = next {
            let rows = self.rows(&id);
            let rows = rows.iter().map(|(at, n, header)| (*at, *n, &**header));
            next = self.exchange.recall_task(&id, rows);
        }
    }

    pub fn publish(&mut self, message: Message) -> Publication {
        self.try_publish(message).unwrap()
    }

    pub fn refusal(&mut self, message: Message) -> (Code, String) {
        let refusal = self.try_publish(message).unwrap_err();
        (refusal.code(), refusal.first().pointer.clone())
    }

    pub fn subscribe(&mut self, name: &str, filter: Filter, deliver_to: Option<&str>) -> PlaceId {
        let deliver_to = deliver_to.map(Party::parse);
        let (view, record) = self
            .exchange
            .put_subscription(name, filter, deliver_to, None)
            .unwrap();
        if let Some(record) = record {
            self.append(&record);
        }
        view.id
    }

    pub fn unsubscribe(&mut self, name: &str) {
        let record = self.exchange.remove_subscription(name).unwrap();
        self.append(&record);
    }

    pub fn inbox(&self, party: &str) -> Option<PlaceId> {
        self.exchange.place(&PlaceName::Inbox(Party::parse(party)))
    }

    pub fn pull(&mut self, place: PlaceId, max: usize) -> Vec<Lease> {
        self.pull_as(place, None, max)
    }

    pub fn pull_as(&mut self, place: PlaceId, consumer: Option<&str>, max: usize) -> Vec<Lease> {
        let consumer = consumer.map(Into::into);
        let (leases, outcome) = self
            .exchange
            .pull(self.now, place, &consumer, max, usize::MAX);
        self.append_all(&outcome.records);
        leases
    }

    /// Pulls from an inbox that must exist; the sequences.
    pub fn pull_inbox(&mut self, party: &str) -> Vec<u64> {
        let place = self.inbox(party).unwrap();
        sequences(&self.pull(place, usize::MAX))
    }

    pub fn settle(
        &mut self,
        deliveries: &[DeliveryId],
        how: Settle,
    ) -> (Vec<Option<Code>>, Vec<PlaceId>) {
        let next = self.next_sequence();
        let (results, outcome) = self.exchange.settle(self.now, next, deliveries, &how);
        self.append_all(&outcome.records);
        (
            results
                .into_iter()
                .map(|result| result.err().map(|refusal| refusal.code()))
                .collect(),
            outcome.wake,
        )
    }

    pub fn ack(&mut self, leases: &[Lease]) {
        let ids: Vec<_> = leases.iter().map(Lease::id).collect();
        let (results, _) = self.settle(&ids, Settle::Ack);
        assert!(results.iter().all(Option::is_none), "{results:?}");
    }

    /// Moves the clock and lets time do its work.
    pub fn pass(&mut self, millis: i64) -> Vec<PlaceId> {
        self.now = self.now.plus_millis(millis);
        self.expire().wake
    }

    /// What is due now.
    pub fn expire(&mut self) -> Outcome {
        let outcome = self.exchange.expire(self.now, self.next_sequence());
        self.append_all(&outcome.records);
        for envelope in &outcome.speak {
            let text = std::str::from_utf8(envelope).unwrap();
            self.publish(Message::read(text, self.now));
        }
        outcome
    }

    /// The state after a restart, from the bytes of the journal.
    pub fn rebuilt(&self) -> World {
        self.rebuilt_with(|_| {})
    }

    /// The same, when something was known before the first record was read.
    pub fn rebuilt_with(&self, prepare: impl FnOnce(&mut Exchange)) -> World {
        let mut exchange = Exchange::new(self.settings.clone());
        prepare(&mut exchange);
        self.apply(&mut exchange, 0..self.journal.len());
        self.after_restart(exchange)
    }

    /// Applies some of the records.
    pub fn apply(&self, exchange: &mut Exchange, which: std::ops::Range<usize>) {
        for at in which {
            let (kind, body) = &self.journal[at];
            exchange.apply(at as u64 + 1, Record::decode(*kind, body).unwrap());
        }
    }

    /// This world with another exchange.
    pub fn after_restart(&self, exchange: Exchange) -> World {
        World {
            exchange,
            settings: self.settings.clone(),
            journal: self.journal.clone(),
            now: self.now.plus_millis(1),
        }
    }
}

pub fn sequences(leases: &[Lease]) -> Vec<u64> {
    leases.iter().map(|lease| lease.sequence).collect()
}

pub fn filter<const N: usize>(pairs: [(&str, &str); N]) -> Filter {
    Filter::from_pairs(pairs).unwrap()
}
