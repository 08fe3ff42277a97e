//! Ids and parties in another dialect's grammar, so that who reads them can use them, and back.
//!
//! What fits is kept as it is. What does not is written as `iw.name.` and its bytes: letters, digits and
//! `-` as they are, any other byte as `_` and two hexadecimal digits. That fits everywhere, and whoever
//! gets it back knows what it stood for. What would be longer than 128 bytes is `iw.hash.` and a digest:
//! it still tells two apart, but is not turned back.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::json::Value;
use crate::{Header, KINDS, Party, digest};

const NAME: &str = "iw.name.";
const HASH: &str = "iw.hash.";
/// The kind of a party that has none, where one must be written.
pub(super) const NO_KIND: &str = "iw";
/// The longest id of UAI-1, and of AEE in its strict mode.
const LENGTH_MAX: usize = 128;

/// `text` where only what `fits` may stand.
pub(super) fn name(text: &str, fits: fn(&str) -> bool) -> Cow<'_, str> {
    if fits(text) && !text.starts_with(NAME) && !text.starts_with(HASH) {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(written(text))
    }
}

/// `text` in the form that fits everywhere.
pub(super) fn written(text: &str) -> String {
    let name = spelled(text);
    if name.len() <= LENGTH_MAX {
        return name;
    }
    format!("{HASH}{}", digest(text.as_bytes()).to_hex())
}

fn spelled(text: &str) -> String {
    let mut out = String::from(NAME);
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || byte == b'-' {
            out.push(char::from(byte));
        } else {
            let _ = write!(out, "_{byte:02x}");
        }
    }
    out
}

/// What a written name stands for; `None` for any other text.
pub(super) fn meant(text: &str) -> Option<String> {
    let mut rest = text.strip_prefix(NAME)?.as_bytes();
    let mut bytes = Vec::with_capacity(rest.len());
    while let Some((first, after)) = rest.split_first() {
        if *first == b'_' {
            let (hex, after) = after.split_at_checked(2)?;
            let hex = std::str::from_utf8(hex).ok()?;
            bytes.push(u8::from_str_radix(hex, 16).ok()?);
            rest = after;
        } else {
            bytes.push(*first);
            rest = after;
        }
    }
    let meant = String::from_utf8(bytes).ok()?;
    // One text has one name: any other spelling is somebody's own id.
    (spelled(&meant) == text).then_some(meant)
}

/// The party that a written one stands for.
fn party_meant(party: &Party) -> Option<Party> {
    let (kind, name) = party.as_str().split_once(':')?;
    let meant = meant(name)?;
    Some(if kind == NO_KIND {
        Party::from_canonical(&meant)
    } else {
        Party::from_canonical(&format!("{kind}:{meant}"))
    })
}

/// Turns the names in everything that `header` refers to back into what they stand for. Its own id is
/// its sender's and stays.
pub(crate) fn resolve(header: &mut Header) {
    fn text(text: &mut Box<str>) {
        if let Some(meant) = meant(text) {
            *text = meant.into();
        }
    }
    let one = |party: &mut Party| {
        if let Some(meant) = party_meant(party) {
            *party = meant;
        }
    };
    one(&mut header.sender);
    if header
        .recipients
        .iter()
        .any(|party| party_meant(party).is_some())
    {
        header.recipients.iter_mut().for_each(one);
        let mut seen = Vec::with_capacity(header.recipients.len());
        header.recipients.retain(|party| {
            let is_new = !seen.contains(party);
            if is_new {
                seen.push(party.clone());
            }
            is_new
        });
    }
    header.topics.iter_mut().for_each(text);
    let ids = [
        &mut header.conversation,
        &mut header.correlation,
        &mut header.cause,
        &mut header.task,
        &mut header.origin,
    ];
    ids.into_iter().flatten().for_each(text);
    if let Some(settlement) = &mut header.settles {
        text(&mut settlement.id);
    }
    if let Some(crate::task::Step::Open(terms)) = &mut header.step
        && let Some(parent) = &mut terms.parent
    {
        text(parent);
    }
}

/// A party as UAI-1 has it: type and id.
pub(super) fn in_two_parts(
    party: &Party,
    is_kind: fn(&str) -> bool,
    is_id: fn(&str) -> bool,
) -> (String, String) {
    match party.as_str().split_once(':') {
        Some((kind, id)) if is_kind(kind) && kind != NO_KIND => {
            (kind.into(), name(id, is_id).into_owned())
        }
        Some(_) | None => (NO_KIND.into(), written(party.as_str())),
    }
}

/// The channel that stands for a topic where there are only parties.
pub(super) fn bus(topic: &str, fits: fn(&str) -> bool) -> Party {
    let bus = KINDS.iter().find(|kind| **kind == "bus").copied();
    Party::from_parts(bus.unwrap_or_default(), &name(topic, fits))
}

/// A text member that is not empty.
pub(super) fn text<'d>(object: Value<'d>, name: &str) -> Option<Cow<'d, str>> {
    object.get(name)?.as_str().filter(|text| !text.is_empty())
}

#[cfg(test)]
mod tests {
    use super::{meant, name, written};
    use proptest::prelude::*;

    #[test]
    fn what_fits_is_kept_and_the_rest_is_spelled() {
        let fits = crate::id::is_plain;
        assert_eq!(name("msg_00001", fits), "msg_00001");
        assert_eq!(name("evt_1", fits), "iw.name.evt_5f1");
        assert_eq!(name("iw.name.a", fits), "iw.name.iw_2ename_2ea");
        assert_eq!(meant("iw.name.evt_5f1").as_deref(), Some("evt_1"));
        for other in [
            "evt_1",
            "iw.name.a_6",
            "iw.name.a_5F",
            "iw.name.a.b",
            "iw.name._61",
        ] {
            assert_eq!(meant(other), None, "{other}");
        }
    }

    proptest! {
        #[test]
        fn a_written_name_fits_everywhere_and_reads_back(text in "\\PC{0,30}") {
            let name = written(&text);
            prop_assert!(crate::id::is_plain(&name));
            if name.len() <= 128 && name.starts_with("iw.name.") {
                prop_assert_eq!(meant(&name), Some(text));
            }
        }
    }
}
