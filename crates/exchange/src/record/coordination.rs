//! What a message agrees with the exchange, in a record's bytes.

use super::RecordError;
use super::wire::{Reader, put_text, put_varint};
use protocol::Coordination;
use protocol::coordination::Offer;

const CLAIM: u8 = 0;
const RESOLVE: u8 = 1;
const CORRECT: u8 = 2;
const AGREED: u8 = 3;
const REFUSED: u8 = 4;

pub(super) fn put(out: &mut Vec<u8>, coordination: &Coordination) {
    match coordination {
        Coordination::Claim {
            resource,
            base_version,
        } => {
            out.push(CLAIM);
            put_text(out, resource);
            put_text(out, base_version);
        }
        Coordination::Resolve { blocker } => {
            out.push(RESOLVE);
            put_text(out, blocker);
        }
        Coordination::Correct { message } => {
            out.push(CORRECT);
            put_text(out, message);
        }
        Coordination::Offer(offer) => {
            out.push(match offer.features {
                Some(_) => AGREED,
                None => REFUSED,
            });
            put_text(out, &offer.negotiation);
            put_text(out, &offer.answer);
            if let Some(features) = &offer.features {
                put_varint(out, features.len() as u64);
                for feature in features {
                    put_text(out, feature);
                }
            }
        }
    }
}

pub(super) fn read(reader: &mut Reader<'_>) -> Result<Coordination, RecordError> {
    let kind = reader.byte()?;
    let first: Box<str> = reader.text()?.into();
    Ok(match kind {
        CLAIM => Coordination::Claim {
            resource: first,
            base_version: reader.text()?.into(),
        },
        RESOLVE => Coordination::Resolve { blocker: first },
        CORRECT => Coordination::Correct { message: first },
        AGREED | REFUSED => Coordination::Offer(Offer {
            negotiation: first,
            answer: reader.text()?.into(),
            features: match kind {
                AGREED => Some(reader.list(|reader| Ok(Box::from(reader.text()?)))?),
                _ => None,
            },
        }),
        _ => return Err(RecordError("expected a known coordination")),
    })
}
