//! Every record reads back as it was, and no bytes are trusted.

use super::{Ending, FailedDelivery, Failure, Record};
use crate::delivery_settings::{DeliverySettings, Order};
use crate::directory::CardSource;
use crate::place::{PlaceId, PlaceName};
use crate::publish::RecipientState;
use crate::push::Push;
use bytes::Bytes;
use proptest::prelude::*;
use protocol::coordination::{Claim, Coordination};
use protocol::task::{Opening, Step, Terms};
use protocol::{
    Act, Card, DialectName, Digest, Filter, Header, Intake, Party, Priority, Retry, TaskState,
    Timestamp,
};
use std::sync::Arc;

fn body(record: &Record) -> Bytes {
    let mut out = Vec::new();
    record.encode_head(&mut out);
    if let Record::Published { envelope, .. } = record {
        out.extend_from_slice(envelope);
    }
    out.into()
}

fn text() -> impl Strategy<Value = Box<str>> {
    prop_oneof!["[a-z0-9:._]{0,12}", "\\PC{0,4}", Just("x".repeat(300))].prop_map(Into::into)
}

fn party() -> impl Strategy<Value = Party> {
    // From parts, because UAI-1 can spell parties that no dotted text can.
    prop_oneof![
        text().prop_map(|text| Party::parse(&text)),
        ("[a-z.]{0,5}", text()).prop_map(|(kind, name)| Party::from_parts(&kind, &name)),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    let state = || (0..TaskState::ALL.len()).prop_map(|at| TaskState::ALL[at]);
    let openings = [Opening::Submission, Opening::Handoff, Opening::Question];
    let terms = (
        0..3_usize,
        prop::option::of(text()),
        prop::option::of(any::<i64>()),
        prop::collection::vec(party(), 0..3),
        prop_oneof![Just(0_u32), any::<u32>()],
    );
    prop_oneof![
        terms.prop_map(move |(opening, parent, timeout_ms, assignees, copies)| {
            Step::Open(Box::new(Terms {
                opening: openings[opening],
                parent,
                timeout_ms,
                assignees,
                copies,
            }))
        }),
        state().prop_map(Step::Report),
        state().prop_map(Step::Reply),
        Just(Step::Answer),
        Just(Step::RequestCancel),
    ]
}

fn header() -> impl Strategy<Value = Header> {
    let maybe = || prop::option::of(text());
    let words = (
        0..3_usize,
        0..Act::ALL.len(),
        0..4_usize,
        any::<bool>(),
        (maybe(), maybe()),
    );
    let lists = (
        prop::collection::vec(party(), 0..4),
        prop::collection::vec(text(), 0..3),
    );
    let optional = [maybe(), maybe(), maybe(), maybe(), maybe(), maybe()];
    let retry = (any::<u32>(), prop::option::of(any::<i64>()));
    let rest = (
        prop::option::of(any::<i64>()),
        any::<[u8; 32]>(),
        prop::option::of(retry),
        prop::option::of(step()),
        prop::option::of(coordination()),
    );
    (words, [text(), text()], party(), lists, optional, rest).prop_map(
        |((dialect, act, priority, is_log, keys), [id, kind], sender, lists, optional, rest)| {
            let [conversation, correlation, cause, task, session, intent] = optional;
            Header {
                dialect: [DialectName::Aee, DialectName::Aep, DialectName::Uai][dialect],
                idempotency_key: keys.0,
                origin: keys.1,
                id,
                sender,
                act: Act::ALL[act],
                kind,
                recipients: lists.0,
                topics: lists.1,
                conversation,
                correlation,
                cause,
                task,
                session,
                intent,
                priority: [
                    Priority::Low,
                    Priority::Normal,
                    Priority::High,
                    Priority::Urgent,
                ][priority],
                deadline: rest.0.map(Timestamp::from_millis),
                intake: if is_log { Intake::Log } else { Intake::Work },
                retry: rest.2.map(|(max_attempts, backoff_ms)| {
                    Box::new(Retry {
                        max_attempts: Some(max_attempts),
                        backoff_ms,
                        ..Retry::default()
                    })
                }),
                settles: None,
                replay_of: None,
                step: rest.3,
                flow: None,
                coordination: rest.4.map(Box::new),
                fingerprint: Digest(rest.1),
            }
        },
    )
}

fn coordination() -> impl Strategy<Value = Coordination> {
    let claim = (text(), text(), any::<bool>());
    let claim = claim.prop_map(|(resource, base_version, is_release)| Claim {
        resource,
        base_version,
        is_release,
    });
    prop_oneof![
        prop::collection::vec(claim, 0..4).prop_map(Coordination::Claims),
        (text(), any::<bool>())
            .prop_map(|(blocker, grants)| Coordination::Resolve { blocker, grants }),
        text().prop_map(|message| Coordination::Correct { message }),
    ]
}

fn published() -> impl Strategy<Value = Record> {
    let states = prop::sample::select(vec![
        RecipientState::Stored,
        RecipientState::Refused,
        RecipientState::Duplicate,
    ]);
    let lines = prop::collection::vec((party(), states), 0..4);
    let places = prop::collection::vec(any::<u32>().prop_map(PlaceId), 0..5);
    let envelope = prop::collection::vec(any::<u8>(), 0..64);
    (
        header(),
        lines,
        any::<bool>(),
        places,
        any::<i64>(),
        any::<bool>(),
        envelope,
    )
        .prop_map(
            |(header, others, as_named, places, at, moves_flow, envelope)| {
                let named = header.recipients.iter().filter(|_| as_named);
                let mut recipients: Vec<_> = named
                    .map(|party| (party.clone(), RecipientState::Stored))
                    .collect();
                recipients.extend(others);
                Record::Published {
                    at: Timestamp::from_millis(at),
                    header: Arc::new(header),
                    recipients,
                    places,
                    moves_flow,
                    envelope: envelope.into(),
                }
            },
        )
}

fn record() -> impl Strategy<Value = Record> {
    let id = || any::<u32>().prop_map(PlaceId);
    let filter = prop::collection::vec("[a-z*.]{1,8}", 0..3).prop_map(|kinds| {
        Filter::from_pairs(kinds.iter().map(|kind| ("type", kind.as_str()))).unwrap()
    });
    let settings = || {
        let numbers = (any::<i64>(), any::<i64>(), any::<i64>());
        let counts = (any::<u32>(), any::<u32>(), any::<u32>());
        (numbers, counts, any::<bool>()).prop_map(|(numbers, counts, ordered)| DeliverySettings {
            lease_ms: numbers.0,
            max_attempts: counts.0,
            backoff_ms: numbers.1,
            backoff_multiplier_milli: counts.1,
            backoff_ms_max: numbers.2,
            in_flight_max: counts.2,
            order: if ordered {
                Order::Conversation
            } else {
                Order::None
            },
        })
    };
    let put = (
        id(),
        text(),
        filter,
        prop::option::of(party()),
        prop::option::of(id()),
        prop::option::of(settings()),
        prop::option::of((text(), text()).prop_map(|(url, secret)| Push { url, secret })),
    );
    let at = || any::<i64>().prop_map(Timestamp::from_millis);
    let sequences = || prop::collection::vec(any::<u64>(), 0..6);
    let failed = (any::<u64>(), any::<u32>(), at()).prop_map(|(sequence, attempt, again_at)| {
        FailedDelivery {
            sequence,
            attempt,
            again_at,
        }
    });
    let name = prop_oneof![
        party().prop_map(PlaceName::Inbox),
        text().prop_map(PlaceName::Subscription),
    ];
    prop_oneof![
        4 => published(),
        1 => put.prop_map(|(id, name, filter, deliver_to, inbox, settings, push)| {
            Record::SubscriptionPut { id, name, filter, deliver_to, inbox, settings, push }
        }),
        1 => id().prop_map(|id| Record::SubscriptionRemoved { id }),
        1 => (
            (id(), at(), prop::option::of(text()), prop::option::of(text())),
            sequences(),
            prop::collection::vec(any::<u32>(), 0..4),
        )
            .prop_map(|((place, at, consumer, by), sequences, attempts)| {
                Record::Acked { place, at, consumer, by, sequences, attempts }
            }),
        1 => (id(), at(), 0..4_usize, text(), prop::collection::vec(failed, 0..4)).prop_map(
            |(place, at, why, error, deliveries)| {
                Record::Failed { place, at, why: Failure::ALL[why], error, deliveries }
            }
        ),
        1 => (id(), at(), 0..3_usize, text(), sequences()).prop_map(
            |(place, at, how, reason, sequences)| {
                Record::Ended { place, at, how: Ending::ALL[how], reason, sequences }
            }
        ),
        1 => (id(), at(), any::<u64>())
            .prop_map(|(place, at, sequence)| Record::Redriven { place, at, sequence }),
        1 => (id(), name, settings())
            .prop_map(|(place, name, settings)| Record::PlaceConfigured { place, name, settings }),
        1 => (id(), any::<bool>())
            .prop_map(|(place, is_paused)| Record::PlacePaused { place, is_paused }),
        1 => (at(), party(), 0..4_usize, text()).prop_map(|(at, party, source, name)| {
            Record::CardPut { at, party, source: CardSource::ALL[source], card: card(&name) }
        }),
        1 => (at(), party(), prop::option::of(0..4_usize)).prop_map(|(at, party, source)| {
            Record::CardRemoved { at, party, source: source.map(|at| CardSource::ALL[at]) }
        }),
    ]
}

fn card(name: &str) -> Arc<Card> {
    let mut document = String::from(r#"{"tags":["t"],"metadata":{"name":"#);
    protocol::json::push_string(&mut document, name);
    document.push_str("}}");
    Arc::new(Card::restore(&document).unwrap())
}

proptest! {
    #[test]
    fn a_record_reads_back_as_it_was(record in record()) {
        prop_assert_eq!(Record::decode(record.kind(), &body(&record)), Ok(record));
    }

    #[test]
    fn no_cut_and_no_longer_record_is_taken_for_whole(record in record()) {
        let whole = body(&record);
        for length in 0..whole.len() {
            prop_assert!(Record::decode(record.kind(), &whole.slice(..length)).is_err(), "cut to {}", length);
        }
        let longer = Bytes::from([&*whole, b"x"].concat());
        prop_assert!(Record::decode(record.kind(), &longer).is_err());
    }

    #[test]
    fn no_bytes_make_the_reader_panic(
        kind in 0..13_u8,
        version in prop_oneof![Just(1_u8), any::<u8>()],
        bytes in prop::collection::vec(any::<u8>(), 0..200),
    ) {
        let _ = Record::decode(kind, &Bytes::from([&[version], &*bytes].concat()));
    }

    #[test]
    fn a_damaged_byte_never_makes_the_reader_panic(
        record in record(), at in any::<prop::sample::Index>(), byte in any::<u8>(),
    ) {
        let mut damaged = body(&record).to_vec();
        let at = at.index(damaged.len());
        damaged[at] = byte;
        let _ = Record::decode(record.kind(), &damaged.into());
    }
}

fn small() -> Record {
    let header = Header {
        dialect: DialectName::Aep,
        id: "m1".into(),
        sender: Party::parse("agent:a"),
        act: Act::Inform,
        kind: "agent.ready".into(),
        recipients: vec![Party::parse("agent:b")],
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
        fingerprint: Digest([0xab; 32]),
    };
    Record::Published {
        at: Timestamp::from_millis(1),
        recipients: vec![(Party::parse("agent:b"), RecipientState::Stored)],
        header: Arc::new(header),
        places: vec![PlaceId(300)],
        moves_flow: false,
        envelope: Bytes::from_static(b"{}"),
    }
}

#[test]
fn the_bytes_are_those_of_the_table() {
    // docs/records.md shows this record; journals in the field hold its like.
    let head: Vec<u8> = [
        &[1, 0, 0, 0, 0, 0, 0, 0][..],
        &[0xab; 32],
        &[1, 13, 1, 0, 0],
        b"\x02m1\x07agent:a\x0bagent.ready",
        b"\x01\x07agent:b\x00",
        b"\x01\x01\x01\xac\x02",
    ]
    .concat();
    let fixed = [1, head.len() as u8, 0, 0, 0, 2, 0, 0, 0];
    assert_eq!(body(&small()), [&fixed[..], &head, b"{}"].concat());
    let acked = Record::Acked {
        place: PlaceId(3),
        at: Timestamp::from_millis(2),
        consumer: Some("w".into()),
        by: None,
        sequences: vec![10, 11, 400],
        attempts: Vec::new(),
    };
    let bytes = [
        1, 3, 2, 0, 0, 0, 0, 0, 0, 0, 1, 1, b'w', 3, 10, 1, 0x85, 0x03,
    ];
    assert_eq!(body(&acked), bytes.as_slice());
}

#[test]
fn the_envelope_is_the_same_memory() {
    let whole = body(&small());
    let Ok(Record::Published { envelope, .. }) = Record::decode(Record::PUBLISHED, &whole) else {
        panic!("expected a published record");
    };
    let last = whole.as_ptr_range().end;
    assert_eq!(
        (envelope.as_ptr_range().end, &*envelope),
        (last, &b"{}"[..])
    );
    assert_eq!(
        Record::envelope(&whole).map(|envelope| envelope.as_ptr_range().end),
        Ok(last)
    );
}

#[test]
fn a_count_beyond_the_record_asks_for_no_memory() {
    let huge = Bytes::from_static(b"\x01\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7f");
    assert!(Record::decode(Record::ACKED, &huge).is_err());
}
