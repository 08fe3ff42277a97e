//! How a UAI-1 message with several recipients is written for who pulls it: `carriage=` (UAI 9.1 M5).
//!
//! The journal keeps what was sent, and whoever does not ask gets that. What is changed here is changed on
//! the way to one reader.

use super::deliveries::{write_members, write_shown};
use super::query::Query;
use super::rendering::{As, write_fault};
use broker::{Delivery, Handle};
use protocol::dialect::uai::carriage::{Carriage, carry_to};
use protocol::{DialectName, Party, Rejection};

/// What the reader asks for.
#[derive(Clone, Copy, Debug)]
enum Ask {
    /// What is agreed with the party whose inbox it is, else copies.
    Negotiated,
    /// One carriage, whatever is agreed.
    In(Carriage),
}

/// Takes `carriage`; none when everything is to come as it was sent.
pub(super) async fn take(
    query: &mut Query,
    handle: &Handle,
    party: &Party,
) -> Result<Option<Carriage>, Rejection> {
    let parse = |word: &str| match word {
        "sent" => Some(None),
        "negotiated" => Some(Some(Ask::Negotiated)),
        word => Carriage::parse(word).map(Ask::In).map(Some),
    };
    let known = "sent, negotiated, native, strict or split";
    Ok(match query.word("carriage", parse, known)?.flatten() {
        None => None,
        Some(Ask::In(carriage)) => Some(carriage),
        Some(Ask::Negotiated) => Some(handle.uai_carriage(party).await),
    })
}

/// Appends a list of deliveries, each message of UAI-1 in that carriage; one that cannot be written so comes
/// as it was sent, with the reason as `uncarried`.
pub(super) fn write_list(
    out: &mut Vec<u8>,
    handle: &Handle,
    deliveries: &[Delivery],
    wanted: As,
    carriage: Carriage,
    party: &Party,
) {
    out.push(b'[');
    for (at, delivery) in deliveries.iter().enumerate() {
        out.extend_from_slice(if at > 0 { b",{" } else { b"{" });
        let envelope = &delivery.entry.envelope;
        let is_uai = delivery.entry.header.dialect == DialectName::Uai
            && matches!(wanted, None | Some(DialectName::Uai));
        let carried = std::str::from_utf8(envelope).ok().filter(|_| is_uai);
        match carried.map(|text| carry_to(text, carriage, party)) {
            Some(Ok(Some(text))) => {
                let note = format!("\"carriage\":\"{}\",", carriage.as_str());
                write_shown(out, handle, delivery, &note, text.as_bytes());
            }
            Some(Err(fault)) => {
                let mut note = String::from("\"uncarried\":");
                write_fault(&mut note, &fault);
                note.push(',');
                write_shown(out, handle, delivery, &note, envelope);
            }
            Some(Ok(None)) | None => write_members(out, handle, delivery, wanted),
        }
        out.push(b'}');
    }
    out.push(b']');
}
