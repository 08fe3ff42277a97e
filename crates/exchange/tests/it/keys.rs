//! Where keys are kept makes no difference to what is a duplicate.

use crate::world::{Message, World};
use interwire_exchange::{First, FrozenKeys, Key};
use proptest::prelude::*;
use protocol::{Code, DialectName};
use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex};

/// What is not in memory, as somebody else keeps it.
type Stored = Arc<Mutex<HashMap<Key, First>>>;

#[derive(Clone, Debug)]
enum Step {
    /// Id, key, what it asks for, whom, of which message it is a copy.
    Publish(u8, Option<u8>, u8, Vec<usize>, Option<u8>),
    Freeze,
    Store,
    Restart,
    /// How many more records are gone.
    Drop(u64),
}

fn step() -> impl Strategy<Value = Step> {
    let whom = prop::sample::subsequence((0..3_usize).collect::<Vec<_>>(), 0..=3);
    let publish = (
        0..12_u8,
        prop::option::of(0..3_u8),
        0..2_u8,
        whom,
        prop::option::weighted(0.1, 0..12_u8),
    );
    prop_oneof![
        12 => publish.prop_map(|(id, key, asks, whom, origin)| Step::Publish(id, key, asks, whom, origin)),
        2 => Just(Step::Freeze),
        2 => Just(Step::Store),
        1 => Just(Step::Restart),
        1 => (0..4_u64).prop_map(Step::Drop),
    ]
}

fn message(step: (u8, Option<u8>, u8, &[usize], Option<u8>)) -> Message {
    let (id, key, asks, whom, origin) = step;
    let recipients: Vec<_> = whom
        .iter()
        .map(|at| ["agent:b", "agent:c", "bus:d"][*at])
        .collect();
    Message::new(&format!("m{id}"), &recipients)
        .bytes(&format!("asks {asks}"))
        .with(|header| {
            header.dialect = DialectName::Uai;
            header.idempotency_key = key.map(|key| format!("k{key}").into());
            header.origin = origin.map(|id| format!("m{id}").into());
        })
}

fn outcome(world: &mut World, message: Message) -> Result<(u64, bool, Vec<&'static str>), Code> {
    let publication = world
        .try_publish(message)
        .map_err(|refusal| refusal.code())?;
    let states = publication
        .recipients
        .iter()
        .map(|(_, state)| state.as_str());
    Ok((
        publication.sequence,
        publication.duplicate,
        states.collect(),
    ))
}

fn ask(world: &mut World, stored: &Stored) {
    let stored = Arc::clone(stored);
    world
        .exchange
        .look_for_older_keys_with(Box::new(move |key| {
            Ok(stored.lock().unwrap().get(&key).copied())
        }));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn keys_kept_elsewhere_decide_as_keys_in_memory(steps in prop::collection::vec(step(), 1..80)) {
        let (mut plain, mut tested) = (World::new(), World::new());
        let stored = Stored::default();
        let mut frozen: VecDeque<Arc<FrozenKeys>> = VecDeque::new();
        let mut first = 1;
        ask(&mut tested, &stored);
        for step in steps {
            match step {
                Step::Publish(id, key, asks, whom, origin) => {
                    let message = message((id, key, asks, &whom, origin));
                    let wanted = outcome(&mut plain, message.clone());
                    prop_assert_eq!(outcome(&mut tested, message), wanted);
                }
                Step::Freeze if tested.exchange.recent_keys() == 0 => {}
                Step::Freeze => {
                    let last = tested.next_sequence() - 1;
                    frozen.push_back(tested.exchange.freeze_keys(last));
                    prop_assert_eq!(tested.exchange.recent_keys(), 0);
                }
                Step::Store => {
                    if let Some(frozen) = frozen.pop_front() {
                        prop_assert_eq!(frozen.after, tested.exchange.keys_covered());
                        stored.lock().unwrap().extend(frozen.iter());
                        tested.exchange.forget_keys(frozen.last);
                    }
                    prop_assert_eq!(tested.exchange.frozen_keys(), frozen.len());
                }
                Step::Restart => {
                    let covered = tested.exchange.keys_covered();
                    tested = tested.rebuilt_with(|exchange| {
                        exchange.forget_keys(covered);
                        exchange.keep_from(first);
                    });
                    ask(&mut tested, &stored);
                    frozen.clear();
                }
                Step::Drop(more) => {
                    first = (first + more).min(tested.next_sequence());
                    plain.exchange.keep_from(first);
                    tested.exchange.keep_from(first);
                }
            }
        }
    }
}
