//! Decides whether a history keeps what an exchange promises. It sees calls and answers from outside,
//! in the order in which one observer saw them; what overlaps may have happened in either order.

use super::told::{Index, Out};
use super::{Answer, Call, EXCHANGE, How, Line, Message, Place, Stored, TaskStep, Wants, inbox};
use std::collections::{BTreeMap, BTreeSet};

/// Clocks of two processes on one machine, and the way of an answer.
const SLACK_MS: i64 = 500;

/// What a history breaks, a sentence each. A history is complete when everything that waited
/// anywhere was read and settled, and the journal was read, at its end.
pub fn check(history: &[Line], is_complete: bool) -> Vec<String> {
    let index = Index::of(history);
    let mut broken = Vec::new();
    receipts(&index, &mut broken);
    deliveries(&index, &mut broken);
    leases(&index, &mut broken);
    order(&index, &mut broken);
    readers(&index, &mut broken);
    journal(&index, is_complete, &mut broken);
    if is_complete {
        nothing_is_owed(&index, &mut broken);
    }
    broken
}

fn published<'h>(ask: &'h Call, answer: &'h Answer) -> Option<(&'h Message, u64, bool)> {
    match (ask, answer) {
        (
            Call::Publish { message },
            Answer::Receipt {
                sequence,
                duplicate,
            },
        ) => Some((message, *sequence, *duplicate)),
        _ => None,
    }
}

/// One message has one place, and is new once.
fn receipts(index: &Index<'_>, broken: &mut Vec<String>) {
    let mut known: BTreeMap<(&str, &str), (u64, u64)> = BTreeMap::new();
    let mut places: BTreeMap<u64, u64> = BTreeMap::new();
    let mut first_told: BTreeMap<u64, usize> = BTreeMap::new();
    let mut new: BTreeSet<u64> = BTreeSet::new();
    for (told, (message, sequence, duplicate)) in index.answers(published) {
        let call = told.call;
        let name = (message.sender.as_str(), message.key.as_str());
        let (print, at) = *known.entry(name).or_insert((message.print, sequence));
        if print != message.print {
            broken.push(format!("call {call}: {name:?} stands for two messages"));
        } else if at != sequence {
            broken.push(format!(
                "call {call}: {name:?} is at {at} and at {sequence}"
            ));
        }
        if *places.entry(sequence).or_insert(message.print) != message.print {
            broken.push(format!("call {call}: two messages are at {sequence}"));
        }
        let told_at = first_told.entry(message.print).or_insert(usize::MAX);
        if !duplicate && (told.asked > *told_at || !new.insert(message.print)) {
            broken.push(format!("call {call}: {name:?} was new twice"));
        }
        *told_at = told.answered.min(*told_at);
    }
}

/// Everybody is given what is for them, and nothing after it was acknowledged.
fn deliveries(index: &Index<'_>, broken: &mut Vec<String>) {
    let acknowledged = acknowledgements(index, broken);
    let mut first: BTreeMap<(&Place, u64), usize> = BTreeMap::new();
    for out in &index.outs {
        let (call, stored) = (out.call, &out.delivery.message);
        let name = &out.delivery.delivery;
        match index.messages.get(&stored.print) {
            Some(message) if !may_go(index, message, out) => broken.push(format!(
                "call {call}: {name} brought {} to {}, which it is not for",
                message.key, out.place
            )),
            Some(message) if is_too_late(message, out) => {
                broken.push(format!("call {call}: {name} came after its time"));
            }
            Some(_) => {}
            None if stored.sender == EXCHANGE => {}
            None => broken.push(format!("call {call}: {name} brought what nobody sent")),
        }
        let key = (out.place, stored.print);
        if acknowledged.get(&key).is_some_and(|end| out.asked > *end) {
            broken.push(format!(
                "call {call}: {name} came after it was acknowledged"
            ));
        }
        let first = first.entry(key).or_insert(out.answered);
        if out.asked > *first && !out.delivery.redelivered {
            broken.push(format!(
                "call {call}: {name} does not say that it is a repeat"
            ));
        }
    }
}

/// Whether nobody needed it any more; a reader that waited may have been given it long before.
fn is_too_late(message: &Message, out: &Out<'_>) -> bool {
    let deadline = message.deadline.unwrap_or(i64::MAX);
    !out.has_waited && out.at > deadline.saturating_add(SLACK_MS)
}

/// When each delivery was acknowledged, as far as anybody was told; once at most.
fn acknowledgements<'h>(
    index: &Index<'h>,
    broken: &mut Vec<String>,
) -> BTreeMap<(&'h Place, u64), usize> {
    let mut acknowledged = BTreeMap::new();
    for out in &index.outs {
        let key = (out.place, out.delivery.message.print);
        for word in index.words_of(&out.delivery.delivery) {
            if word.how == How::Ack
                && word.is_taken == Some(true)
                && acknowledged.insert(key, word.answered).is_some()
            {
                let name = &out.delivery.delivery;
                broken.push(format!(
                    "{name} is of a delivery that was acknowledged twice"
                ));
            }
        }
    }
    acknowledged
}

/// Whether a message may come to a place at all.
fn may_go(index: &Index<'_>, message: &Message, out: &Out<'_>) -> bool {
    let is_named = message
        .targets
        .iter()
        .any(|target| match target.strip_suffix('*') {
            Some(prefix) => out.place.starts_with(&inbox(prefix)),
            None => *out.place == inbox(target),
        });
    is_named
        || index.subscribed.iter().any(|one| {
            one.place == *out.place && one.asked < out.answered && message.is_wanted_by(one.wants)
        })
}

/// A delivery is one reader's until it is settled, its lease is over or its reader has left.
fn leases(index: &Index<'_>, broken: &mut Vec<String>) {
    let mut of_message: BTreeMap<(&Place, u64), Vec<&Out<'_>>> = BTreeMap::new();
    for out in &index.outs {
        of_message
            .entry((out.place, out.delivery.message.print))
            .or_default()
            .push(out);
    }
    for outs in of_message.values_mut() {
        outs.sort_by_key(|out| out.answered);
        for pair in outs.windows(2) {
            if let [one, next] = pair
                && one.life == next.life
                && next.at + SLACK_MS < one.delivery.until
                && is_held(index, one, next.answered)
            {
                let (one, next) = (&one.delivery.delivery, &next.delivery.delivery);
                broken.push(format!("{next} came while {one} was held"));
            }
            if let [one, next] = pair
                && one.life == next.life
                && next.asked > one.answered
                && next.delivery.attempt <= one.delivery.attempt
            {
                let next = &next.delivery.delivery;
                broken.push(format!("{next} has the attempt of one before it"));
            }
        }
    }
    for out in &index.outs {
        for word in index.words_of(&out.delivery.delivery) {
            let is_extended = |until: i64| {
                let words = index.words_of(&out.delivery.delivery).iter();
                let mut longer = words.filter(|one| matches!(one.how, How::Extend(_)));
                longer.any(|one| one.is_taken != Some(false) && one.at <= until + SLACK_MS)
            };
            let until = out.delivery.until;
            let is_late = word.is_taken == Some(true) && word.at > until + 10 * SLACK_MS;
            if is_late && !is_extended(until) {
                let name = &out.delivery.delivery;
                broken.push(format!("{name} was settled long after its lease"));
            }
        }
    }
}

/// Whether nobody had said anything of a delivery by then that would end its lease.
fn is_held(index: &Index<'_>, out: &Out<'_>, by: usize) -> bool {
    let words = index.words_of(&out.delivery.delivery);
    let is_let_go = words
        .iter()
        .any(|word| word.asked < by && word.is_taken != Some(false));
    let has_left = index.left.iter().any(|(place, consumer, asked)| {
        *place == out.place && *consumer == out.consumer && *asked < by
    });
    // An acknowledgement in the mail ends it as well.
    let message = index.messages.get(&out.delivery.message.print);
    let party = out.place.strip_prefix(&inbox("")).unwrap_or_default();
    let is_answered =
        message.is_some_and(|message| index.answered.contains(&(party, message.key.as_str())));
    !is_let_go && !has_left && !is_answered
}

/// First deliveries of one conversation and priority come in the order of the journal, and a
/// conversation is with one consumer at a time.
fn order(index: &Index<'_>, broken: &mut Vec<String>) {
    let mut groups: BTreeMap<(&Place, &str, u8), Vec<&Out<'_>>> = BTreeMap::new();
    let mut seen = BTreeSet::new();
    for out in &index.outs {
        let is_ordered = !index.unordered.contains(out.place);
        let first = seen.insert((out.place, out.delivery.message.print));
        if let Some(message) = index.messages.get(&out.delivery.message.print)
            && let Some(conversation) = &message.conversation
            && first
            && is_ordered
            && out.delivery.attempt == 1
            && !out.delivery.redelivered
        {
            let group = (out.place, conversation.as_str(), message.priority);
            groups.entry(group).or_default().push(out);
        }
    }
    for ((place, conversation, _), outs) in groups {
        for one in &outs {
            let sequence = one.delivery.message.sequence;
            let later = |other: &&&Out<'_>| {
                other.delivery.message.sequence > sequence && other.answered < one.asked
            };
            if let Some(later) = outs.iter().find(later) {
                let (late, early) = (&one.delivery.delivery, &later.delivery.delivery);
                broken.push(format!(
                    "{late} came to {place} after {early}, which is later in {conversation}"
                ));
            }
        }
    }
}

/// Live readers get what they want, in order, each once.
fn readers(index: &Index<'_>, broken: &mut Vec<String>) {
    let receipts: BTreeMap<u64, &Message> = index
        .answers(published)
        .map(|(_, (message, sequence, _))| (sequence, message))
        .collect();
    let mut positions: BTreeMap<u64, (&Wants, u64)> = BTreeMap::new();
    for told in &index.told {
        match (told.ask, told.answer) {
            (
                Call::Follow {
                    reader,
                    wants,
                    after,
                },
                _,
            ) => {
                positions.insert(*reader, (wants, *after));
            }
            (Call::Next { reader, .. }, Some(Answer::Journal(found))) => {
                let Some((wants, position)) = positions.get_mut(reader) else {
                    continue;
                };
                for stored in found {
                    let between = *position + 1..stored.sequence.max(*position + 1);
                    let mut missed = receipts.range(between);
                    if let Some((_, message)) =
                        missed.find(|(_, message)| message.is_wanted_by(wants))
                    {
                        let key = &message.key;
                        broken.push(format!("reader {reader} missed {key}"));
                    }
                    if stored.sequence <= *position {
                        let sequence = stored.sequence;
                        broken.push(format!("reader {reader} got {sequence} out of order"));
                    }
                    *position = stored.sequence;
                }
            }
            _ => {}
        }
    }
}

/// The journal holds every message that has a receipt, each once, in order; no task ends twice.
fn journal(index: &Index<'_>, is_complete: bool, broken: &mut Vec<String>) {
    let mut last: Option<&Vec<Stored>> = None;
    for told in &index.told {
        let (Call::Read, Some(Answer::Journal(messages))) = (told.ask, told.answer) else {
            continue;
        };
        let call = told.call;
        if !messages.is_sorted_by(|one, next| one.sequence < next.sequence) {
            broken.push(format!("call {call}: the journal is out of order"));
        }
        let held: BTreeMap<u64, u64> = messages
            .iter()
            .map(|stored| (stored.print, stored.sequence))
            .collect();
        for (receipt, (message, sequence, _)) in index.answers(published) {
            if receipt.answered < told.asked && held.get(&message.print) != Some(&sequence) {
                let key = &message.key;
                broken.push(format!("call {call}: {key} is lost; it was at {sequence}"));
            }
        }
        last = Some(messages);
    }
    let Some(messages) = last else {
        return;
    };
    let mut ends: BTreeMap<&str, Vec<u64>> = BTreeMap::new();
    for stored in messages {
        if let Some(task) = &stored.ends {
            ends.entry(task).or_default().push(stored.sequence);
        }
    }
    for opened in messages {
        let Some(message) = index.messages.get(&opened.print) else {
            continue;
        };
        let Some(TaskStep::Opens(timeout_ms)) = message.task else {
            continue;
        };
        let ends = ends.get(message.key.as_str()).into_iter().flatten();
        let count = ends.filter(|end| **end > opened.sequence).count();
        let is_over = is_complete && timeout_ms.is_some();
        if count > 1 || (is_over && count == 0) {
            broken.push(format!("task {} ended {count} times", message.key));
        }
    }
}

/// Everything that was owed was acknowledged, has died or was too old.
fn nothing_is_owed(index: &Index<'_>, broken: &mut Vec<String>) {
    let mut over: BTreeSet<(&Place, u64)> = BTreeSet::new();
    for out in &index.outs {
        let is_over = |how: How| matches!(how, How::Ack | How::Reject);
        let mut words = index.words_of(&out.delivery.delivery).iter();
        if words.any(|word| is_over(word.how) && word.is_taken != Some(false)) {
            over.insert((out.place, out.delivery.message.print));
        }
    }
    for told in &index.told {
        if let (Call::DeadLetters { place }, Some(Answer::Dead(letters))) = (told.ask, told.answer)
        {
            over.extend(letters.iter().map(|letter| (place, letter.message.print)));
        }
    }
    for (_, (message, _, _)) in index.answers(published) {
        let is_too_old = index.was_too_old(message);
        for place in must_go(index, message) {
            let key = (&place, message.print);
            let party = place.strip_prefix(&inbox("")).unwrap_or_default();
            let is_answered = index.answered.contains(&(party, message.key.as_str()));
            if !over.contains(&key) && !is_too_old && !is_answered {
                broken.push(format!("{} never came to {place}", message.key));
            }
        }
    }
}

/// Where a message surely goes.
fn must_go(index: &Index<'_>, message: &Message) -> BTreeSet<Place> {
    let has_inbox = |target: &&String| !target.starts_with("bus:") && !target.ends_with('*');
    let named = message.targets.iter().filter(has_inbox);
    let mut places: BTreeSet<Place> = named.map(|target| inbox(target)).collect();
    // Where it goes is decided when it is asked for first; a repeat goes nowhere.
    let asked = index.asked_first.get(&message.print).copied();
    let stays = index.subscribed.iter().filter(|one| {
        let is_there = asked.is_some_and(|asked| one.is_there < asked);
        is_there && !index.unsubscribed.contains(one.name)
    });
    let wanting = stays.filter(|one| message.is_wanted_by(one.wants));
    places.extend(wanting.map(|one| one.place.clone()));
    places
}
