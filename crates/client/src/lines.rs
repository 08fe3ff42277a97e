//! Lines out of a stream of chunks, for NDJSON answers.

/// Cuts chunks at LF. A last line without LF comes from [`Lines::finish`].
#[derive(Debug, Default)]
pub struct Lines {
    buffer: Vec<u8>,
    /// Bytes before this place hold no LF.
    searched: usize,
}

impl Lines {
    /// Adds a chunk.
    pub fn push(&mut self, chunk: &[u8]) {
        self.buffer.extend_from_slice(chunk);
    }

    /// The next whole line, without its line end.
    pub fn next_line(&mut self) -> Option<Vec<u8>> {
        let tail = self.buffer.get(self.searched..)?;
        let Some(at) = tail.iter().position(|byte| *byte == b'\n') else {
            self.searched = self.buffer.len();
            return None;
        };
        let rest = self.buffer.split_off(self.searched + at + 1);
        let mut line = std::mem::replace(&mut self.buffer, rest);
        self.searched = 0;
        line.pop();
        if line.last() == Some(&b'\r') {
            line.pop();
        }
        Some(line)
    }

    /// What is left after the last LF, if anything.
    #[must_use]
    pub fn finish(self) -> Option<Vec<u8>> {
        (!self.buffer.is_empty()).then_some(self.buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::Lines;

    #[test]
    fn lines_come_out_whole_however_the_chunks_are_cut() {
        let text = b"one\r\ntwo\n\nthree";
        for size in 1..=text.len() {
            let mut lines = Lines::default();
            let mut found = Vec::new();
            for chunk in text.chunks(size) {
                lines.push(chunk);
                while let Some(line) = lines.next_line() {
                    found.push(line);
                }
            }
            found.extend(lines.finish());
            assert_eq!(found, [&b"one"[..], b"two", b"", b"three"]);
        }
    }
}
