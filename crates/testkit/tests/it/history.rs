//! The checker of histories finds what is planted, and nothing where nothing is.

use interwire_testkit::history::{
    Answer, Call, DeadLetter, Delivered, How, Line, Message, Stored, TaskStep, Terms, Wants, What,
    check, inbox, subscription,
};

const TERMS: Terms = Terms {
    lease_ms: 30_000,
    max_attempts: 10,
    backoff_ms: 1_000,
    backoff_ms_max: 300_000,
    in_flight_max: 1_024,
    is_ordered: true,
};

/// A history in the making; each call is answered before the next, unless it is not answered at all.
#[derive(Default)]
struct Story {
    lines: Vec<Line>,
    calls: u64,
    now: i64,
}

impl Story {
    fn call(&mut self, ask: Call, answer: impl Into<Option<Answer>>) -> &mut Self {
        self.calls += 1;
        let call = self.calls;
        self.line(What::Called { call, ask });
        if let Some(answer) = answer.into() {
            self.line(What::Answered { call, answer });
        }
        self
    }

    fn line(&mut self, what: What) {
        self.now += 10;
        let at = self.now;
        self.lines.push(Line { at, what });
    }

    fn publish(&mut self, number: u64, sequence: u64) -> &mut Self {
        self.publish_as(message(number), sequence, false)
    }

    fn publish_as(&mut self, message: Message, sequence: u64, duplicate: bool) -> &mut Self {
        let receipt = Answer::Receipt {
            sequence,
            duplicate,
        };
        self.call(Call::Publish { message }, receipt)
    }

    fn pull(&mut self, deliveries: Vec<Delivered>) -> &mut Self {
        self.pull_as(None, deliveries)
    }

    fn pull_as(&mut self, consumer: Option<&str>, deliveries: Vec<Delivered>) -> &mut Self {
        self.pull_from(&inbox("agent:b"), consumer, deliveries)
    }

    fn pull_from(
        &mut self,
        place: &str,
        consumer: Option<&str>,
        deliveries: Vec<Delivered>,
    ) -> &mut Self {
        let ask = Call::Pull {
            place: place.into(),
            consumer: consumer.map(Into::into),
            max: 10,
            wait: false,
        };
        self.call(ask, Answer::Delivered(deliveries))
    }

    fn settle(&mut self, delivery: &str, how: How, refused: Option<&str>) -> &mut Self {
        let ask = Call::Settle {
            deliveries: vec![delivery.into()],
            how,
        };
        self.call(ask, Answer::Settled(vec![refused.map(Into::into)]))
    }

    fn ack(&mut self, delivery: &str) -> &mut Self {
        self.settle(delivery, How::Ack, None)
    }

    fn read(&mut self, messages: &[(u64, u64)]) -> &mut Self {
        let messages = messages
            .iter()
            .map(|(number, sequence)| stored(*number, *sequence));
        self.call(Call::Read, Answer::Journal(messages.collect()))
    }

    fn die(&mut self) -> &mut Self {
        self.line(What::Died);
        self
    }

    /// The only thing that is wrong.
    fn breaks(&self, what: &str) {
        let broken = check(&self.lines, true);
        assert!(!broken.is_empty(), "{what:?} was not noticed");
        for one in &broken {
            assert!(one.contains(what), "expected {what:?}, got {broken:#?}");
        }
    }

    fn is_kept(&self) {
        assert_eq!(check(&self.lines, true), [""; 0]);
    }
}

/// To agent:b, in one conversation with all others.
fn message(number: u64) -> Message {
    Message {
        sender: "agent:a".into(),
        key: format!("m{number}"),
        print: number,
        targets: vec!["agent:b".into()],
        topics: Vec::new(),
        conversation: Some("c".into()),
        priority: 1,
        deadline: None,
        max_attempts: None,
        acknowledges: None,
        task: None,
    }
}

fn stored(number: u64, sequence: u64) -> Stored {
    Stored {
        sequence,
        print: number,
        sender: "agent:a".into(),
        conversation: Some("c".into()),
        ends: None,
    }
}

fn delivered(name: &str, number: u64, attempt: u32) -> Delivered {
    Delivered {
        delivery: name.into(),
        message: stored(number, number),
        attempt,
        redelivered: attempt > 1,
        until: 30_000,
    }
}

#[test]
fn an_ordinary_life_breaks_nothing() {
    let mut story = Story::default();
    story
        .publish(1, 1)
        .publish(2, 2)
        .publish_as(message(1), 1, true)
        .pull(vec![delivered("d1", 1, 1), delivered("d2", 2, 1)])
        .ack("d1")
        .settle("d2", How::Nack(None), None)
        .pull(vec![delivered("d3", 2, 2)])
        .die()
        .settle("d3", How::Ack, Some("lease_lost"));
    let again = Delivered {
        redelivered: true,
        ..delivered("d4", 2, 2)
    };
    story.pull(vec![again]).ack("d4").read(&[(1, 1), (2, 2)]);
    story.is_kept();
}

#[test]
fn a_receipt_whose_message_is_gone() {
    let mut story = Story::default();
    story.publish(1, 1).publish(2, 2);
    story.pull(vec![delivered("d1", 1, 1), delivered("d2", 2, 1)]);
    story.ack("d1").ack("d2").read(&[(1, 1)]);
    story.breaks("m2 is lost");
}

#[test]
fn a_message_that_never_comes() {
    let mut story = Story::default();
    story.publish(1, 1).pull(vec![]).read(&[(1, 1)]);
    story.breaks("m1 never came to inbox agent:b");
}

#[test]
fn what_is_unsure_is_no_violation() {
    let mut story = Story::default();
    story.call(
        Call::Publish {
            message: message(1),
        },
        None,
    );
    story.die().read(&[]);
    story.is_kept();
    story.publish(1, 1).pull(vec![delivered("d1", 1, 1)]);
    let ack = Call::Settle {
        deliveries: vec!["d1".into()],
        how: How::Ack,
    };
    story.call(ack, None).die().read(&[(1, 1)]);
    story.is_kept();
}

#[test]
fn one_message_in_two_places_and_two_in_one() {
    let mut story = Story::default();
    story.publish(1, 1).publish_as(message(1), 2, true);
    story.pull(vec![delivered("d1", 1, 1)]).ack("d1");
    story.breaks("is at 1 and at 2");
    let mut story = Story::default();
    story.publish(1, 1).publish(2, 1);
    story.pull(vec![delivered("d1", 1, 1), delivered("d2", 2, 1)]);
    story.ack("d1").ack("d2");
    story.breaks("two messages are at 1");
}

#[test]
fn a_repeat_that_is_taken_for_new() {
    let mut story = Story::default();
    story.publish(1, 1).publish(1, 1);
    story.pull(vec![delivered("d1", 1, 1)]).ack("d1");
    story.breaks("was new twice");
}

#[test]
fn a_delivery_to_the_wrong_reader() {
    let mut story = Story::default();
    story.publish(1, 1);
    story.pull(vec![delivered("d1", 1, 1)]).ack("d1");
    story.pull_from(&inbox("agent:c"), None, vec![delivered("d2", 1, 1)]);
    story.ack("d2").read(&[(1, 1)]);
    story.breaks("which it is not for");
}

#[test]
fn a_delivery_after_its_acknowledgement() {
    let mut story = Story::default();
    story.publish(1, 1).pull(vec![delivered("d1", 1, 1)]);
    story.ack("d1").die().pull(vec![delivered("d2", 1, 2)]);
    story.read(&[(1, 1)]);
    story.breaks("came after it was acknowledged");
}

#[test]
fn a_delivery_acknowledged_twice() {
    let mut story = Story::default();
    story.publish(1, 1).pull(vec![delivered("d1", 1, 1)]);
    story.ack("d1").ack("d1").read(&[(1, 1)]);
    story.breaks("acknowledged twice");
}

#[test]
fn two_readers_at_once() {
    let mut story = Story::default();
    story.publish(1, 1);
    story.pull_as(Some("x"), vec![delivered("d1", 1, 1)]);
    story.pull_as(Some("y"), vec![delivered("d2", 1, 2)]);
    story.ack("d2").read(&[(1, 1)]);
    story.breaks("d2 came while d1 was held");
}

#[test]
fn a_repeat_that_does_not_say_so() {
    let mut story = Story::default();
    story.publish(1, 1).pull(vec![delivered("d1", 1, 1)]).die();
    story.pull(vec![delivered("d2", 1, 1)]);
    story.ack("d2").read(&[(1, 1)]);
    story.breaks("does not say that it is a repeat");
}

#[test]
fn a_second_attempt_that_is_counted_as_the_first() {
    let mut story = Story::default();
    story.publish(1, 1).pull(vec![delivered("d1", 1, 1)]);
    story.settle("d1", How::Nack(None), None);
    let again = Delivered {
        redelivered: true,
        ..delivered("d2", 1, 1)
    };
    story.pull(vec![again]).ack("d2").read(&[(1, 1)]);
    story.breaks("has the attempt of one before it");
}

#[test]
fn a_settlement_long_after_the_lease() {
    let mut story = Story::default();
    story.publish(1, 1).pull(vec![delivered("d1", 1, 1)]);
    story.now += 60_000;
    story.ack("d1").read(&[(1, 1)]);
    story.breaks("settled long after its lease");
}

#[test]
fn a_conversation_out_of_order() {
    let mut story = Story::default();
    story.publish(1, 1).publish(2, 2);
    story.pull(vec![delivered("d2", 2, 1)]).ack("d2");
    story.pull(vec![delivered("d1", 1, 1)]).ack("d1");
    story.read(&[(1, 1), (2, 2)]);
    story.breaks("which is later in c");
}

#[test]
fn a_message_after_its_time() {
    let mut story = Story::default();
    let message = Message {
        deadline: Some(1_000),
        ..message(1)
    };
    story.publish_as(message, 1, false);
    story.now += 20_000;
    story.pull(vec![delivered("d1", 1, 1)]).ack("d1");
    story.breaks("came after its time");
}

#[test]
fn a_subscription_that_is_passed_over() {
    let mut story = Story::default();
    let subscribe = Call::Subscribe {
        name: "s".into(),
        wants: Wants::Everything,
        deliver_to: None,
        terms: TERMS,
    };
    story.call(subscribe, Answer::Done).publish(1, 1);
    story.pull(vec![delivered("d1", 1, 1)]).ack("d1");
    story.breaks("never came to subscription s");
    story.pull_from(&subscription("s"), None, vec![delivered("d2", 1, 1)]);
    story.ack("d2").is_kept();
}

#[test]
fn a_dead_letter_is_an_end() {
    let mut story = Story::default();
    story.publish(1, 1).pull(vec![delivered("d1", 1, 1)]);
    let place = inbox("agent:b");
    let letter = DeadLetter {
        letter: "1".into(),
        message: stored(1, 1),
    };
    story.call(Call::DeadLetters { place }, Answer::Dead(vec![letter]));
    story.read(&[(1, 1)]).is_kept();
}

#[test]
fn a_live_reader_that_misses_something_or_gets_it_twice() {
    let follow = Call::Follow {
        reader: 1,
        wants: Wants::Everything,
        after: 0,
    };
    let next = || Call::Next { reader: 1, max: 9 };
    let mut story = Story::default();
    for number in 1..=3 {
        story.publish(number, number);
    }
    let all: Vec<Delivered> = (1..=3).map(|n| delivered(&format!("d{n}"), n, 1)).collect();
    story.pull(all).ack("d1").ack("d2").ack("d3");
    story.call(follow, Answer::Done);
    let some = |numbers: &[u64]| Answer::Journal(numbers.iter().map(|n| stored(*n, *n)).collect());
    story.call(next(), some(&[1])).is_kept();
    let (before, calls) = (story.lines.clone(), story.calls);
    story.call(next(), some(&[3]));
    story.breaks("reader 1 missed m2");
    (story.lines, story.calls) = (before, calls);
    story.call(next(), some(&[1, 2, 3]));
    story.breaks("reader 1 got 1 out of order");
}

#[test]
fn a_task_that_ends_twice_or_not_in_time() {
    let task = Message {
        task: Some(TaskStep::Opens(Some(20_000))),
        ..message(1)
    };
    let end = |sequence| Stored {
        sequence,
        print: 100 + sequence,
        sender: "service:interwire".into(),
        conversation: Some("c".into()),
        ends: Some("m1".into()),
    };
    for (ends, is_right) in [(vec![], false), (vec![2], true), (vec![2, 3], false)] {
        let mut story = Story::default();
        story.publish_as(task.clone(), 1, false);
        story.pull(vec![delivered("d1", 1, 1)]).ack("d1");
        let mut messages = vec![stored(1, 1)];
        messages.extend(ends.iter().map(|sequence| end(*sequence)));
        story.call(Call::Read, Answer::Journal(messages));
        if is_right {
            story.is_kept();
        } else {
            story.breaks(&format!("task m1 ended {} times", ends.len()));
        }
    }
}

#[test]
fn a_history_is_lines_of_json() {
    let mut story = Story::default();
    story.publish(1, 1).pull(vec![delivered("d1", 1, 1)]);
    story.ack("d1").read(&[(1, 1)]).die();
    for line in &story.lines {
        let text = serde_json::to_string(line).unwrap();
        assert!(!text.contains('\n'));
        assert_eq!(serde_json::from_str::<Line>(&text).unwrap(), *line);
    }
}
