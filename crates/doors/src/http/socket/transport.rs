//! What a socket runs over: the connection as it is, or with a layer that inflates what comes.

use super::deflate::Agreed;
use super::inflate::Inflating;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use std::pin::Pin;
use std::task::{Context, Poll};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_tungstenite::WebSocketStream;

/// An open WebSocket.
pub(crate) struct Socket {
    pub(crate) stream: WebSocketStream<Transport>,
    /// How it compresses what it sends, where the peer asked for that.
    pub(crate) deflate: Option<Agreed>,
}

/// A connection after its upgrade. One that did not ask for compression pays nothing for it.
pub(crate) enum Transport {
    Plain(TokioIo<Upgraded>),
    Inflating(Box<Inflating<TokioIo<Upgraded>>>),
}

impl AsyncRead for Transport {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            Self::Plain(plain) => Pin::new(plain).poll_read(context, buffer),
            Self::Inflating(inflating) => Pin::new(inflating).poll_read(context, buffer),
        }
    }
}

impl AsyncWrite for Transport {
    fn poll_write(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<std::io::Result<usize>> {
        match self.get_mut() {
            Self::Plain(plain) => Pin::new(plain).poll_write(context, bytes),
            Self::Inflating(inflating) => Pin::new(inflating).poll_write(context, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            Self::Plain(plain) => Pin::new(plain).poll_flush(context),
            Self::Inflating(inflating) => Pin::new(inflating).poll_flush(context),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        match self.get_mut() {
            Self::Plain(plain) => Pin::new(plain).poll_shutdown(context),
            Self::Inflating(inflating) => Pin::new(inflating).poll_shutdown(context),
        }
    }
}
