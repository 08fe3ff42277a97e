//! A history for people: one short line each.

use super::{Answer, Call, Delivered, Line, Message, Stored, What};
use std::fmt;

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at;
        match &self.what {
            What::Called { call, ask } => write!(f, "{at:>14}  {call:>4} ? {ask}"),
            What::Answered { call, answer } => write!(f, "{at:>14}  {call:>4} ! {answer}"),
            What::Abandoned { call } => write!(f, "{at:>14}  {call:>4} x the caller went away"),
            What::Died => write!(f, "{at:>14}       the exchange died"),
        }
    }
}

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Publish { message } => write!(f, "publish {message}"),
            Self::Configure { place, terms } => write!(f, "configure {place}: {terms:?}"),
            Self::Subscribe {
                name,
                wants,
                deliver_to,
                terms,
            } => {
                write!(f, "subscribe {name} to {wants:?}")?;
                if let Some(party) = deliver_to {
                    write!(f, " for {party}")?;
                }
                write!(f, ": {terms:?}")
            }
            Self::Unsubscribe { name } => write!(f, "unsubscribe {name}"),
            Self::Pull {
                place,
                consumer,
                max,
                wait,
            } => {
                let wait = if *wait { ", waiting" } else { "" };
                let who = consumer.as_deref().unwrap_or("nobody");
                write!(f, "pull {max} from {place} as {who}{wait}")
            }
            Self::Settle { deliveries, how } => write!(f, "{how:?} {}", deliveries.join(" ")),
            Self::Leave {
                place,
                consumer,
                is_dead,
            } => {
                let who = consumer.as_deref().unwrap_or("nobody");
                let how = if *is_dead { ", dead" } else { "" };
                write!(f, "leave {place} as {who}{how}")
            }
            Self::Pause { place, is_paused } => {
                write!(f, "{} {place}", if *is_paused { "pause" } else { "resume" })
            }
            Self::DeadLetters { place } => write!(f, "list dead letters of {place}"),
            Self::Redrive { letter } => write!(f, "redrive {letter}"),
            Self::Drop { letter } => write!(f, "drop {letter}"),
            Self::Read => f.write_str("read everything"),
            Self::Follow {
                reader,
                wants,
                after,
            } => write!(f, "reader {reader} follows {wants:?} after {after}"),
            Self::Next { reader, max } => write!(f, "next {max} for reader {reader}"),
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} by {} to {}",
            self.key,
            self.sender,
            self.targets.join(" ")
        )?;
        if !self.topics.is_empty() {
            write!(f, " about {}", self.topics.join(" "))?;
        }
        if let Some(conversation) = &self.conversation {
            write!(f, " in {conversation}")?;
        }
        if self.priority != 1 {
            write!(f, ", priority {}", self.priority)?;
        }
        if let Some(deadline) = self.deadline {
            write!(f, ", until {deadline}")?;
        }
        if let Some(attempts) = self.max_attempts {
            write!(f, ", {attempts} attempts")?;
        }
        if let Some(key) = &self.acknowledges {
            write!(f, ", acknowledges {key}")?;
        }
        if let Some(step) = &self.task {
            write!(f, ", {step:?}")?;
        }
        write!(f, ", bytes {:08x}", self.print >> 32)
    }
}

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Receipt {
                sequence,
                duplicate,
            } => {
                let again = if *duplicate { " already" } else { "" };
                write!(f, "stored at {sequence}{again}")
            }
            Self::Delivered(deliveries) => {
                write!(f, "{} delivered", deliveries.len())?;
                for Delivered {
                    delivery,
                    message,
                    attempt,
                    redelivered,
                    until,
                } in deliveries
                {
                    let again = if *redelivered { ", redelivered" } else { "" };
                    let sequence = message.sequence;
                    write!(
                        f,
                        "; {delivery}: {sequence}, attempt {attempt}{again}, until {until}"
                    )?;
                }
                Ok(())
            }
            Self::Settled(results) => {
                f.write_str("settled")?;
                for result in results {
                    write!(f, " {}", result.as_deref().unwrap_or("ok"))?;
                }
                Ok(())
            }
            Self::Done => f.write_str("done"),
            Self::Dead(letters) => {
                let letters: Vec<&str> = letters.iter().map(|one| one.letter.as_str()).collect();
                write!(f, "dead: {}", letters.join(" "))
            }
            Self::Journal(messages) => {
                let sequence = |stored: &Stored| stored.sequence.to_string();
                let sequences: Vec<String> = messages.iter().map(sequence).collect();
                write!(f, "messages {}", sequences.join(" "))
            }
            Self::Refused(code) => write!(f, "refused: {code}"),
        }
    }
}
