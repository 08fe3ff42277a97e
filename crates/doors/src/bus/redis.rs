//! Redis Streams: a consumer group inwards, `XADD` outwards (AEP 9.7).
//!
//! An entry has the envelope in its field `body`. The consumer of this exchange has the same name for as
//! long as its journal lives, so that after any break it first reads what it had been given and never
//! confirmed: order is kept. What an instance that is gone was given is taken over with `XAUTOCLAIM`.

use super::intake::{Taken, answer, quoted, report};
use super::names::{self, EXCHANGE};
use super::outlet::Sent;
use super::{Intake, Link, Outlet, Part, RedisSettings};
use broker::Entry;
use bytes::Bytes;
use protocol::{Code, Fault, Rejection};
use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, Client, Cmd, ErrorKind, RedisError, ServerErrorKind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// Entries read and handed over at once.
const BATCH_MAX: usize = 256;
/// How long one read waits at the server, in milliseconds.
const BLOCK_MS: usize = 1_000;
/// How long any answer may take; longer than the wait above.
const ANSWER_WAIT: Duration = Duration::from_secs(5);
/// Entries kept of one stream of answers.
const ANSWERS_MAX: u64 = 10_000;

/// Runs the Redis door until the exchange stops.
pub(crate) async fn run(settings: RedisSettings, part: Part) {
    let link = part.link.clone();
    let client = match Client::open(settings.bus.url.as_str()) {
        Ok(client) => client,
        Err(error) => {
            tracing::error!(%error, "redis.url cannot be used");
            link.down(&error);
            return;
        }
    };
    let door = Door {
        client,
        settings,
        link,
        writer: Mutex::new(None),
    };
    tokio::join!(door.take_in(part.intake), door.send_out(part.outlet));
}

/// What is found at the address.
pub(crate) async fn reach(settings: &RedisSettings, wait: Duration) -> Result<String, String> {
    let client = Client::open(settings.bus.url.as_str()).map_err(|error| error.to_string())?;
    let found = tokio::time::timeout(wait, async {
        let mut connection = client.get_multiplexed_async_connection().await?;
        let mut info = redis::cmd("INFO");
        info.arg("server")
            .query_async::<String>(&mut connection)
            .await
    });
    let info = match found.await {
        Ok(Ok(info)) => info,
        Ok(Err(error)) => return Err(error.to_string()),
        Err(_) => return Err(format!("no answer within {} ms", wait.as_millis())),
    };
    let version = info
        .lines()
        .find_map(|line| line.strip_prefix("redis_version:"));
    Ok(format!("Redis {}", version.unwrap_or("of unknown version")))
}

/// Names and values, in turn.
type Fields = Vec<Bytes>;
/// An entry's id, and its fields unless it was trimmed meanwhile.
type Found = (String, Option<Fields>);
/// Streams with what was found in each.
type Read = Option<Vec<(String, Vec<Found>)>>;

struct Door {
    client: Client,
    settings: RedisSettings,
    link: Link,
    /// For everything but reading; none until it is needed and after a failure.
    writer: Mutex<Option<MultiplexedConnection>>,
}

/// The field of that name.
fn field<'f>(fields: &'f [Bytes], name: &str) -> Option<&'f Bytes> {
    let mut pairs = fields.chunks_exact(2);
    pairs.find_map(|pair| match pair {
        [key, value] if **key == *name.as_bytes() => Some(value),
        _ => None,
    })
}

impl Door {
    fn name(&self, word: &str) -> String {
        format!("{}.{word}", self.settings.bus.prefix)
    }

    async fn connect(&self) -> Result<MultiplexedConnection, RedisError> {
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(ANSWER_WAIT))
            .set_response_timeout(Some(ANSWER_WAIT));
        let client = &self.client;
        client
            .get_multiplexed_async_connection_with_config(&config)
            .await
    }

    /// Runs one command on the connection for writing.
    async fn write<T: redis::FromRedisValue>(&self, command: &Cmd) -> Result<T, RedisError> {
        let mut connection = {
            let mut writer = self.writer.lock().await;
            match &*writer {
                Some(connection) => connection.clone(),
                None => writer.insert(self.connect().await?).clone(),
            }
        };
        let answer = command.query_async(&mut connection).await;
        if let Err(error) = &answer
            && is_of_connection(error)
        {
            *self.writer.lock().await = None;
        }
        answer
    }

    // ---- inwards ----

    async fn take_in(&self, intake: Option<Intake>) {
        let Some(intake) = intake else { return };
        let mut failures = 0;
        loop {
            match self.read(&intake, &mut failures).await {
                Ok(()) => return,
                Err(error) => self.link.down(&error),
            }
            failures += 1;
            if !self.link.rest(failures).await {
                return;
            }
        }
    }

    fn streams(&self) -> Vec<String> {
        let names = self.settings.in_streams.split(',').map(str::trim);
        let names = names.filter(|name| !name.is_empty());
        names.map(|name| self.name(name)).collect()
    }

    /// Reads the streams until the exchange stops or something breaks.
    async fn read(&self, intake: &Intake, failures: &mut u32) -> Result<(), RedisError> {
        let mut connection = self.connect().await?;
        let streams = self.streams();
        let group = &self.settings.bus.group;
        for stream in &streams {
            let mut create = redis::cmd("XGROUP");
            create
                .arg("CREATE")
                .arg(stream)
                .arg(group)
                .arg("0")
                .arg("MKSTREAM");
            match create.query_async::<()>(&mut connection).await {
                Err(error) if error.code() != Some("BUSYGROUP") => return Err(error),
                Ok(()) | Err(_) => {}
            }
        }
        self.link.up();
        let consumer = intake.exchange();
        for stream in &streams {
            if !self
                .read_own(stream, &consumer, intake, &mut connection)
                .await?
            {
                return Ok(());
            }
        }
        let claim_every = Duration::from_millis(self.settings.claim_idle_ms / 2);
        let mut claimed: Option<Instant> = None;
        loop {
            if claimed.is_none_or(|at| at.elapsed() >= claim_every) {
                for stream in &streams {
                    if !self
                        .claim(stream, &consumer, intake, &mut connection)
                        .await?
                    {
                        return Ok(());
                    }
                }
                claimed = Some(Instant::now());
            }
            let mut read = self.read_command(&consumer);
            read.arg("BLOCK").arg(BLOCK_MS).arg("STREAMS").arg(&streams);
            read.arg(vec![">"; streams.len()]);
            let found: Read = tokio::select! {
                found = read.query_async(&mut connection) => found?,
                // What it is given now it reads again after the next start.
                () = self.link.stop.asked() => return Ok(()),
            };
            *failures = 0;
            self.link.up();
            for (stream, entries) in found.unwrap_or_default() {
                if !self.take(&stream, entries, intake).await? {
                    return Ok(());
                }
            }
        }
    }

    fn read_command(&self, consumer: &str) -> Cmd {
        let mut read = redis::cmd("XREADGROUP");
        read.arg("GROUP")
            .arg(&self.settings.bus.group)
            .arg(consumer);
        read.arg("COUNT").arg(BATCH_MAX);
        read
    }

    /// Takes what this exchange was given before and did not confirm; false when the exchange stops.
    async fn read_own(
        &self,
        stream: &str,
        consumer: &str,
        intake: &Intake,
        connection: &mut MultiplexedConnection,
    ) -> Result<bool, RedisError> {
        let mut after = String::from("0");
        loop {
            let mut read = self.read_command(consumer);
            read.arg("STREAMS").arg(stream).arg(&after);
            let found: Read = read.query_async(connection).await?;
            let entries = found.into_iter().flatten().next();
            let entries = entries.map(|(_, entries)| entries).unwrap_or_default();
            let Some((last, _)) = entries.last() else {
                return Ok(true);
            };
            after.clone_from(last);
            if !self.take(stream, entries, intake).await? {
                return Ok(false);
            }
        }
    }

    /// Takes over what an instance that is gone was given; false when the exchange stops.
    async fn claim(
        &self,
        stream: &str,
        consumer: &str,
        intake: &Intake,
        connection: &mut MultiplexedConnection,
    ) -> Result<bool, RedisError> {
        let mut from = String::from("0-0");
        loop {
            let mut claim = redis::cmd("XAUTOCLAIM");
            claim
                .arg(stream)
                .arg(&self.settings.bus.group)
                .arg(consumer);
            claim.arg(self.settings.claim_idle_ms).arg(&from);
            claim.arg("COUNT").arg(BATCH_MAX);
            // Entries that were trimmed are the third part, from Redis 7 on, and gone from the group.
            let found: redis::Value = claim.query_async(connection).await?;
            let (next, entries) = claimed(found)?;
            if !entries.is_empty() && !self.take(stream, entries, intake).await? {
                return Ok(false);
            }
            if next == "0-0" {
                return Ok(true);
            }
            from = next;
        }
    }

    /// Hands entries over and confirms them when they are durable here; false when the exchange stops
    /// before.
    async fn take(
        &self,
        stream: &str,
        entries: Vec<Found>,
        intake: &Intake,
    ) -> Result<bool, RedisError> {
        let own = intake.exchange();
        let is_own = |fields: &[Bytes]| {
            field(fields, EXCHANGE).is_some_and(|exchange| **exchange == *own.as_bytes())
        };
        let mut foreign = Vec::new();
        for (id, fields) in &entries {
            match fields {
                Some(fields) if is_own(fields) => {}
                Some(fields) => foreign.push((id, fields)),
                None => tracing::warn!(stream, id, "an entry was trimmed before it was read"),
            }
        }
        let body = |fields: &[Bytes]| field(fields, "body").cloned();
        let envelopes = foreign.iter().filter_map(|(_, fields)| body(fields));
        let mut taken = intake.take(envelopes.collect()).await.into_iter();
        for (id, fields) in foreign {
            let one = match body(fields) {
                Some(_) => taken.next().unwrap_or(Taken::Later),
                None => Taken::Refused(Box::new(no_body())),
            };
            if matches!(one, Taken::Later) {
                return Ok(false);
            }
            self.tell(stream, id, fields, &one).await?;
        }
        let mut confirm = redis::cmd("XACK");
        confirm.arg(stream).arg(&self.settings.bus.group);
        confirm.arg(entries.iter().map(|(id, _)| id).collect::<Vec<_>>());
        self.write::<()>(&confirm).await?;
        Ok(true)
    }

    /// Answers whoever asked for one, in the stream it named, else keeps faults with the others.
    async fn tell(
        &self,
        stream: &str,
        id: &str,
        fields: &[Bytes],
        taken: &Taken,
    ) -> Result<(), RedisError> {
        let asked = field(fields, "interwire-reply");
        let asked = asked.and_then(|name| std::str::from_utf8(name).ok());
        // Only below the prefix: who may write one stream may not write all.
        let asked = asked.filter(|name| name.starts_with(&self.name("replies.")));
        let (to, text, max) = match (asked, taken) {
            (Some(to), taken) => match answer(taken) {
                Some(text) => (to.to_owned(), text, ANSWERS_MAX),
                None => return Ok(()),
            },
            (None, Taken::Refused(rejection)) => {
                let original = [("stream", quoted(stream)), ("entry", quoted(id))];
                let text = report(rejection, &original);
                (self.name("faults"), text, self.settings.entries_max)
            }
            (None, Taken::Accepted(_) | Taken::PassedBy | Taken::Later) => return Ok(()),
        };
        let mut add = add_to(&to, max);
        add.arg("body").arg(text).arg("interwire-original").arg(id);
        self.write::<()>(&add).await
    }

    // ---- outwards ----

    async fn send_out(&self, outlet: Option<Outlet>) {
        let Some(outlet) = outlet else { return };
        let own = outlet.exchange();
        outlet.run(|entry| self.send(entry, &own)).await;
    }

    async fn send(&self, entry: Arc<Entry>, own: &str) -> Sent {
        let routing = names::route(self.settings.bus.out_routing, &entry.header);
        let stream = names::full(&self.settings.bus.prefix, routing, str::to_owned);
        let mut add = add_to(&stream, self.settings.entries_max);
        add.arg("body").arg(entry.envelope.as_ref());
        for (name, value) in names::fields(&entry.header) {
            add.arg(name).arg(value);
        }
        add.arg(EXCHANGE).arg(own);
        match self.write::<()>(&add).await {
            Ok(()) => Sent::Confirmed,
            // Also what an operator can mend, such as a full memory: it is sent again until it is.
            Err(error) => Sent::Unknown(error.to_string()),
        }
    }
}

fn add_to(stream: &str, entries_max: u64) -> Cmd {
    let mut add = redis::cmd("XADD");
    add.arg(stream);
    if entries_max > 0 {
        add.arg("MAXLEN").arg("~").arg(entries_max);
    }
    add.arg("*");
    add
}

/// Where to go on, and the entries, of an answer of `XAUTOCLAIM`; its length depends on the version.
fn claimed(found: redis::Value) -> Result<(String, Vec<Found>), RedisError> {
    let mut parts: Vec<redis::Value> = redis::from_redis_value(found)?;
    if parts.len() < 2 {
        return Ok(("0-0".into(), Vec::new()));
    }
    let entries = redis::from_redis_value(parts.swap_remove(1))?;
    let next = redis::from_redis_value(parts.swap_remove(0))?;
    Ok((next, entries))
}

/// Whether the connection is of no use any more.
fn is_of_connection(error: &RedisError) -> bool {
    error.is_io_error()
        || error.is_connection_dropped()
        || error.is_timeout()
        || matches!(
            error.kind(),
            ErrorKind::Server(ServerErrorKind::BusyLoading | ServerErrorKind::MasterDown)
        )
}

fn no_body() -> Rejection {
    let detail = "expected a field `body` with the envelope, got none";
    Fault::new(Code::MissingField, "/body", "AEP 9.7", detail).into()
}
