//! Lines as frames of a session: standard input and output (AEP 9.1).

use super::frames::{Broken, Frames, Goodbye, Heard};
use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};

/// A reader and a writer of lines. `\n` ends a line, `\r\n` too; blank lines are passed over.
#[derive(Debug)]
pub struct LineFrames<R, W> {
    reader: R,
    writer: W,
    into: BytesMut,
    /// How much of it was searched for the end of a line.
    searched: usize,
    line_bytes_max: usize,
    /// The rest of a line that is too long is thrown away.
    is_skipping: bool,
    has_ended: bool,
    out: Vec<u8>,
}

/// Bytes that are collected before they are written although nobody asked to flush.
const WRITE_BYTES: usize = 32 << 10;

impl<R, W> LineFrames<R, W> {
    /// Lines of at most `line_bytes_max` bytes. Of a longer one the session sees so much that it can
    /// tell that it is too long.
    pub fn new(reader: R, writer: W, line_bytes_max: usize) -> Self {
        Self {
            reader,
            writer,
            into: BytesMut::new(),
            searched: 0,
            line_bytes_max,
            is_skipping: false,
            has_ended: false,
            out: Vec::new(),
        }
    }

    /// The next line that has arrived whole.
    fn ready(&mut self) -> Option<Bytes> {
        loop {
            let unsearched = self.into.get(self.searched..).unwrap_or_default();
            let Some(offset) = unsearched.iter().position(|byte| *byte == b'\n') else {
                self.searched = self.into.len();
                if self.searched > self.line_bytes_max.saturating_add(1) {
                    let line = self.into.split().freeze();
                    self.searched = 0;
                    if !std::mem::replace(&mut self.is_skipping, true) {
                        return Some(line);
                    }
                }
                if !self.has_ended {
                    return None;
                }
                self.searched = 0;
                let line = self.into.split().freeze();
                let is_rest = std::mem::take(&mut self.is_skipping);
                return (!is_rest && !line.trim_ascii().is_empty()).then_some(line);
            };
            let line = self.into.split_to(self.searched + offset);
            self.into.advance(1);
            self.searched = 0;
            if std::mem::take(&mut self.is_skipping) || line.trim_ascii().is_empty() {
                continue;
            }
            // A copy: a slice would keep its whole neighbourhood in memory.
            let line = line.strip_suffix(b"\r").unwrap_or(&line);
            return Some(Bytes::copy_from_slice(line));
        }
    }
}

impl<R, W> Frames for LineFrames<R, W>
where
    R: AsyncRead + Unpin + Send,
    W: AsyncWrite + Unpin + Send,
{
    const HAS_PINGS: bool = false;

    async fn next(&mut self) -> Heard {
        loop {
            if let Some(line) = self.ready() {
                return Heard::Text(line);
            }
            if self.has_ended {
                return Heard::Closed;
            }
            self.into.reserve(4 << 10);
            match self.reader.read_buf(&mut self.into).await {
                Ok(0) => self.has_ended = true,
                Ok(_) => {}
                Err(_) => return Heard::Gone,
            }
        }
    }

    async fn send(&mut self, text: Bytes) -> Result<(), Broken> {
        // A line end inside JSON text can only stand between tokens, where a space means the same.
        let bytes = text.iter().map(|byte| match byte {
            b'\n' | b'\r' => b' ',
            byte => *byte,
        });
        self.out.extend(bytes);
        self.out.push(b'\n');
        if self.out.len() >= WRITE_BYTES {
            self.flush().await?;
        }
        Ok(())
    }

    async fn flush(&mut self) -> Result<(), Broken> {
        if self.out.is_empty() {
            return Ok(());
        }
        let out = std::mem::take(&mut self.out);
        let written = async {
            self.writer.write_all(&out).await?;
            self.writer.flush().await
        };
        written.await.map_err(|_| Broken::Gone)
    }

    async fn ping(&mut self) -> Result<(), Broken> {
        Ok(())
    }

    async fn close(mut self, _: Goodbye) {
        // Nobody may be there any more.
        let _ = self.flush().await;
        let _ = self.writer.shutdown().await;
    }
}
