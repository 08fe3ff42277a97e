//! Envelopes out of files and standard input: JSON, several JSON values, or NDJSON.
//!
//! The bytes of an envelope are never changed; only white space around it is left out.

use crate::failure::Failure;
use bytes::Bytes;
use serde_json::value::RawValue;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use tokio::sync::mpsc;

/// Envelopes that may wait between the reader and the verb.
const QUEUE: usize = 256;

/// One envelope and where it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Text {
    /// `file:line`, or `-:line` for standard input.
    pub origin: String,
    /// The bytes.
    pub bytes: Bytes,
}

/// Reads `files` in order, standard input for `-` or when there are none, while the verb works.
pub fn read(files: Vec<PathBuf>) -> mpsc::Receiver<Result<Text, Failure>> {
    let (found, queue) = mpsc::channel(QUEUE);
    // A thread of its own: reading a terminal cannot be cancelled, and must not hold up the exit.
    std::thread::spawn(move || {
        let files = if files.is_empty() {
            vec![PathBuf::from("-")]
        } else {
            files
        };
        for file in files {
            let mut give = |text| found.blocking_send(Ok(text)).is_ok();
            if let Err(error) = read_one(&file, &mut give) {
                let what = Failure::Refused(format!("{}: {error}", file.display()));
                drop(found.blocking_send(Err(what)));
                return;
            }
        }
    });
    queue
}

fn read_one(path: &Path, give: &mut dyn FnMut(Text) -> bool) -> std::io::Result<()> {
    if path == Path::new("-") {
        return split(BufReader::new(std::io::stdin()), "-", give);
    }
    let file = std::fs::File::open(path)?;
    split(BufReader::new(file), &path.display().to_string(), give)
}

/// Gives out each envelope of `input`; stops when `give` says that nobody wants more.
///
/// When the first line is a whole JSON value, every line is one envelope and is given at once.
/// Otherwise everything is read: several JSON values are several envelopes, and what cannot be read
/// as JSON is one envelope, for its verdict.
fn split(
    mut input: impl BufRead,
    name: &str,
    give: &mut dyn FnMut(Text) -> bool,
) -> std::io::Result<()> {
    let mut line = Vec::new();
    let mut number = 0;
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        number += 1;
        if !line.trim_ascii().is_empty() {
            break;
        }
    }
    if is_one_value(&line) {
        loop {
            let text = line.trim_ascii();
            if !text.is_empty() && !give(text_at(name, number, text)) {
                return Ok(());
            }
            line.clear();
            if input.read_until(b'\n', &mut line)? == 0 {
                return Ok(());
            }
            number += 1;
        }
    }
    let first = number;
    input.read_to_end(&mut line)?;
    for (at, text) in values(&line) {
        let before = line.get(..at).unwrap_or_default();
        let number = first + before.iter().filter(|byte| **byte == b'\n').count();
        if !give(text_at(name, number, text)) {
            return Ok(());
        }
    }
    Ok(())
}

fn text_at(name: &str, number: usize, text: &[u8]) -> Text {
    Text {
        origin: format!("{name}:{number}"),
        bytes: Bytes::copy_from_slice(text),
    }
}

fn is_one_value(text: &[u8]) -> bool {
    serde_json::from_slice::<&RawValue>(text).is_ok()
}

/// The JSON values in `text` with their places; the whole text when it is not only JSON values.
fn values(text: &[u8]) -> Vec<(usize, &[u8])> {
    let mut found = Vec::new();
    let mut stream = serde_json::Deserializer::from_slice(text).into_iter::<&RawValue>();
    while let Some(value) = stream.next() {
        let Ok(value) = value else {
            let whole = text.trim_ascii();
            let at = text.len() - text.trim_ascii_start().len();
            return vec![(at, whole)];
        };
        let value = value.get().as_bytes();
        found.push((stream.byte_offset().saturating_sub(value.len()), value));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::split;
    use std::io::Cursor;

    fn texts(input: &str) -> Vec<(String, String)> {
        let mut found = Vec::new();
        split(Cursor::new(input), "f", &mut |text| {
            found.push((
                text.origin,
                String::from_utf8_lossy(&text.bytes).into_owned(),
            ));
            true
        })
        .unwrap();
        found
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected
            .iter()
            .map(|(a, b)| ((*a).to_owned(), (*b).to_owned()))
            .collect()
    }

    #[test]
    fn lines_are_envelopes_and_a_broken_one_does_not_hide_the_others() {
        assert_eq!(
            texts("\n{\"a\":1}\r\n\n{\"b\"\n{ \"c\" : 2 }"),
            pairs(&[
                ("f:2", "{\"a\":1}"),
                ("f:4", "{\"b\""),
                ("f:5", "{ \"c\" : 2 }")
            ])
        );
    }

    #[test]
    fn written_out_json_keeps_its_line_breaks() {
        assert_eq!(
            texts("{\n \"a\": 1\n}\n{\n}\n"),
            pairs(&[("f:1", "{\n \"a\": 1\n}"), ("f:4", "{\n}")])
        );
    }

    #[test]
    fn what_is_not_json_is_one_envelope() {
        assert_eq!(texts("hello\nworld\n"), pairs(&[("f:1", "hello\nworld")]));
        assert_eq!(texts(" \n"), pairs(&[]));
    }
}
