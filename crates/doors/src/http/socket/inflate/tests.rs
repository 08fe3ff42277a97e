//! Any stream of frames, cut anywhere, against what a plain reader of the messages would see.

use super::Inflating;
use crate::http::socket::deflate::{self, TAIL};
use flate2::{Compress, Compression, FlushCompress};
use proptest::prelude::*;
use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncReadExt as _, ReadBuf};

/// A connection on which these pieces come, and then nothing.
struct Pieces(VecDeque<Vec<u8>>);

impl AsyncRead for Pieces {
    fn poll_read(
        mut self: Pin<&mut Self>,
        _context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        if let Some(mut piece) = self.0.pop_front() {
            let rest = piece.split_off(piece.len().min(buffer.remaining()));
            buffer.put_slice(&piece);
            if !rest.is_empty() {
                self.0.push_front(rest);
            }
        }
        Poll::Ready(Ok(()))
    }
}

/// One frame as a client sends it.
fn frame(first: u8, payload: &[u8], mask: [u8; 4]) -> Vec<u8> {
    let mut out = vec![first];
    match payload.len() {
        length @ 0..=125 => out.push(0x80 | u8::try_from(length).unwrap()),
        length @ 126..=65_535 => {
            out.push(0x80 | 126);
            out.extend(u16::try_from(length).unwrap().to_be_bytes());
        }
        length => {
            out.push(0x80 | 127);
            out.extend((length as u64).to_be_bytes());
        }
    }
    out.extend(mask);
    out.extend(
        payload
            .iter()
            .zip(mask.iter().cycle())
            .map(|(byte, mask)| byte ^ mask),
    );
    out
}

/// What a client makes of a text.
fn compressed(text: &[u8], bits: u8, level: u32) -> Vec<u8> {
    let mut compressor = Compress::new_with_window_bits(Compression::new(level), false, bits);
    let mut out = Vec::with_capacity(text.len() * 2 + 64);
    compressor
        .compress_vec(text, &mut out, FlushCompress::Sync)
        .unwrap();
    out.truncate(out.len() - TAIL.len());
    out
}

/// What comes out for these bytes in these pieces.
fn read(bytes: &[u8], cuts: &[usize], limit: usize) -> Vec<u8> {
    let mut pieces = VecDeque::new();
    let mut rest = bytes;
    for cut in cuts.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at((*cut).clamp(1, rest.len()));
        pieces.push_back(piece.to_vec());
        rest = after;
    }
    let mut out = Vec::new();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime
        .block_on(Inflating::new(Pieces(pieces), limit).read_to_end(&mut out))
        .unwrap();
    out
}

/// The frames in there: first byte and payload, unmasked.
fn frames(mut bytes: &[u8]) -> Vec<(u8, Vec<u8>)> {
    let mut found = Vec::new();
    while let Some(head) = super::Head::read(bytes) {
        let end = head.length + usize::try_from(head.payload).unwrap();
        let Some(payload) = bytes.get(head.length..end) else {
            found.push((head.first, head.payload.to_string().into_bytes()));
            break;
        };
        let payload = payload.iter().zip(head.mask.iter().cycle());
        found.push((
            head.first,
            payload.map(|(byte, mask)| byte ^ mask).collect(),
        ));
        bytes = &bytes[end..];
    }
    found
}

#[derive(Clone, Debug)]
struct Sent {
    text: Vec<u8>,
    is_compressed: bool,
    bits: u8,
    level: u32,
    fragments: Vec<usize>,
    mask: [u8; 4],
    ping: bool,
}

fn sent() -> impl Strategy<Value = Sent> {
    let text = prop_oneof![
        proptest::collection::vec(any::<u8>(), 0..400),
        (any::<u8>(), 0_usize..100_000).prop_map(|(byte, length)| vec![byte; length]),
    ];
    (
        text,
        any::<bool>(),
        9_u8..=15,
        0_u32..=9,
        proptest::collection::vec(0_usize..300, 1..4),
        any::<[u8; 4]>(),
        any::<bool>(),
    )
        .prop_map(
            |(text, is_compressed, bits, level, fragments, mask, ping)| Sent {
                text,
                is_compressed,
                bits,
                level,
                fragments,
                mask,
                ping,
            },
        )
}

proptest! {
    #[test]
    fn every_message_comes_out_as_it_was(
        messages in proptest::collection::vec(sent(), 1..5),
        cuts in proptest::collection::vec(1_usize..700, 1..6),
    ) {
        let (mut bytes, mut expected) = (Vec::new(), Vec::new());
        for message in &messages {
            let data = if message.is_compressed {
                compressed(&message.text, message.bits, message.level)
            } else {
                message.text.clone()
            };
            let mut rest = &data[..];
            let mut first = 2 | if message.is_compressed { 0x40 } else { 0 };
            let mut passed = Vec::new();
            for fragment in &message.fragments {
                let (piece, after) = rest.split_at((*fragment).min(rest.len()));
                bytes.extend(frame(first, piece, message.mask));
                passed.push((first, piece.to_vec()));
                if message.ping {
                    bytes.extend(frame(0x89, b"hi", message.mask));
                    passed.push((0x89, b"hi".to_vec()));
                }
                (rest, first) = (after, 0);
            }
            bytes.extend(frame(0x80 | first, rest, message.mask));
            passed.push((0x80 | first, rest.to_vec()));
            if message.is_compressed {
                expected.extend(passed.into_iter().filter(|(first, _)| *first == 0x89));
                expected.push((0x82, message.text.clone()));
            } else {
                expected.extend(passed);
            }
        }
        prop_assert_eq!(frames(&read(&bytes, &cuts, 1 << 20)), expected);
    }

    #[test]
    fn nothing_that_comes_makes_it_panic_or_grow(bytes in proptest::collection::vec(any::<u8>(), 0..600), cuts in proptest::collection::vec(1_usize..99, 1..4)) {
        let out = read(&bytes, &cuts, 1_000);
        prop_assert!(out.len() <= bytes.len() + 2_000);
    }

    #[test]
    fn what_is_sent_is_read_again(text in "[a-c]{0,900}", bits in 9_u8..=15) {
        let offer = format!("permessage-deflate; server_max_window_bits={bits}");
        let mut headers = axum::http::HeaderMap::new();
        headers.insert("sec-websocket-extensions", offer.parse().unwrap());
        let (agreed, _) = deflate::agree(&headers).unwrap();
        match deflate::compress(text.as_bytes(), agreed) {
            Some(payload) => {
                prop_assert!(payload.len() < text.len());
                let out = read(&frame(0xc1, &payload, [1, 2, 3, 4]), &[7], 1 << 20);
                prop_assert_eq!(frames(&out), vec![(0x81, text.into_bytes())]);
            }
            None => prop_assert!(text.len() < 300),
        }
    }
}

/// First byte of what comes out last.
fn last(bytes: &[u8], limit: usize) -> Vec<(u8, Vec<u8>)> {
    frames(&read(bytes, &[5], limit))
}

#[test]
fn a_bomb_is_too_large_and_not_more() {
    let bomb = compressed(&vec![b'x'; 1 << 20], 15, 9);
    assert!(bomb.len() < 2_000);
    let found = last(&frame(0xc1, &bomb, [0; 4]), 4_096);
    assert_eq!(found, [(0x81, b"4097".to_vec())]);
    // Also when the compressed text itself is larger than any message.
    let long = frame(0x41, &[7; 5_000], [0; 4]);
    assert_eq!(last(&long, 4_096), [(0x81, b"4097".to_vec())]);
    // And over fragments.
    let mut fragments = frame(0x41, &[7; 3_000], [0; 4]);
    fragments.extend(frame(0x00, &[7; 3_000], [0; 4]));
    assert_eq!(last(&fragments, 4_096), [(0x81, b"4097".to_vec())]);
}

#[test]
fn what_breaks_the_rules_is_shown_as_such() {
    let text = compressed(b"hello hello hello", 15, 6);
    let start = frame(0x41, &text, [9; 4]);
    let after = |frame: Vec<u8>| [start.clone(), frame].concat();
    let mut unmasked = vec![0xc1, u8::try_from(text.len()).unwrap()];
    unmasked.extend(&text);
    for (what, bytes) in [
        ("not deflate", frame(0xc1, &[0xff; 9], [0; 4])),
        ("the bit on a continuation", after(frame(0xc0, b"", [0; 4]))),
        (
            "a message inside a message",
            after(frame(0x81, b"x", [0; 4])),
        ),
        ("a compressed one inside", after(frame(0xc1, &text, [0; 4]))),
        ("another reserved bit", frame(0xe1, &text, [0; 4])),
        ("no mask", unmasked),
        ("the bit on a ping", frame(0xc9, b"hi", [0; 4])),
    ] {
        let found = last(&bytes, 1 << 20);
        let (first, _) = found.last().unwrap();
        assert_ne!(first & 0x70, 0, "{what}: {found:?}");
    }
}

#[test]
fn blocks_that_say_they_are_the_last_are_read() {
    let mut compressor = Compress::new(Compression::new(6), false);
    let mut data = Vec::with_capacity(200);
    compressor
        .compress_vec(b"hello hello", &mut data, FlushCompress::Finish)
        .unwrap();
    data.push(0);
    let found = last(&frame(0xc1, &data, [3; 4]), 1 << 20);
    assert_eq!(found, [(0x81, b"hello hello".to_vec())]);
}
