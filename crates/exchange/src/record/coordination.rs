//! What a message agrees with the exchange, in a record's bytes.

use super::RecordError;
use super::wire::{Reader, put_text, put_varint};
use protocol::Coordination;
use protocol::coordination::Claim;

const CLAIMS: u8 = 0;
const RESOLVE: u8 = 1;
const CORRECT: u8 = 2;
const GRANT: u8 = 3;

pub(super) fn put(out: &mut Vec<u8>, coordination: &Coordination) {
    match coordination {
        Coordination::Claims(claims) => {
            out.push(CLAIMS);
            put_varint(out, claims.len() as u64);
            for claim in claims {
                put_text(out, &claim.resource);
                put_text(out, &claim.base_version);
                out.push(u8::from(claim.is_release));
            }
        }
        Coordination::Resolve { blocker, grants } => {
            out.push(if *grants { GRANT } else { RESOLVE });
            put_text(out, blocker);
        }
        Coordination::Correct { message } => {
            out.push(CORRECT);
            put_text(out, message);
        }
    }
}

pub(super) fn read(reader: &mut Reader<'_>) -> Result<Coordination, RecordError> {
    match reader.byte()? {
        CLAIMS => {
            let claims = reader.list(|reader| {
                Ok(Claim {
                    resource: reader.text()?.into(),
                    base_version: reader.text()?.into(),
                    is_release: match reader.byte()? {
                        0 => false,
                        1 => true,
                        _ => return Err(RecordError("expected a claim or a release")),
                    },
                })
            })?;
            Ok(Coordination::Claims(claims))
        }
        kind @ (RESOLVE | GRANT) => Ok(Coordination::Resolve {
            blocker: reader.text()?.into(),
            grants: kind == GRANT,
        }),
        CORRECT => Ok(Coordination::Correct {
            message: reader.text()?.into(),
        }),
        _ => Err(RecordError("expected a known coordination")),
    }
}
