//! Connections beyond the limit: told to come back, at the cost of a few bytes each.

use super::{HttpSettings, problem};
use protocol::{Code, Fault, Rejection};
use std::sync::Arc;
use std::time::Duration;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::sync::Semaphore;
use tokio::time::timeout;

/// Connections that are told at once; more are closed without a word.
const TOLD_MAX: usize = 64;

/// How long a refused peer may take to read the refusal.
const PATIENCE: Duration = Duration::from_secs(1);

/// Where refused connections are told.
pub(crate) struct Refuge {
    room: Arc<Semaphore>,
}

impl Default for Refuge {
    fn default() -> Self {
        Self {
            room: Arc::new(Semaphore::new(TOLD_MAX)),
        }
    }
}

impl Refuge {
    /// Answers whatever the peer asks with `overloaded` and closes.
    pub(crate) fn turn_away(&self, mut connection: TcpStream, settings: &HttpSettings) {
        let Ok(room) = Arc::clone(&self.room).try_acquire_owned() else {
            return;
        };
        let answer = answer(settings.connections_max);
        tokio::spawn(async move {
            let told = async {
                connection.write_all(&answer).await?;
                connection.shutdown().await?;
                // Closing with something unread would tear the answer out of the peer's hands.
                let mut unread = [0; 1_024];
                while connection.read(&mut unread).await? > 0 {}
                std::io::Result::Ok(())
            };
            if timeout(PATIENCE, told).await.is_err() {
                tracing::debug!("a refused connection did not take its answer");
            }
            drop(room);
        });
    }
}

fn answer(connections_max: usize) -> Vec<u8> {
    let detail =
        format!("expected at most {connections_max} connections, got one more; try again later");
    let refused: Rejection = Fault::new(Code::Overloaded, "", "ARCHITECTURE limits", detail).into();
    let mut body = String::new();
    problem::write(&mut body, &refused, "", None);
    let mut answer = format!(
        "HTTP/1.1 429 Too Many Requests\r\ncontent-type: {}\r\ncontent-length: {}\r\n",
        problem::MEDIA_TYPE,
        body.len()
    );
    if let Some(seconds) = problem::retry_after(&refused) {
        answer.push_str(&format!("retry-after: {seconds}\r\n"));
    }
    answer.push_str("connection: close\r\ncache-control: no-store\r\n\r\n");
    answer.push_str(&body);
    answer.into_bytes()
}
