//! The table of settings. One file because it is data: one entry per setting.
//!
//! Defaults are not written here: they are read from [`Plan::default`], so they cannot differ from
//! what the exchange really does.

use super::Plan;
use super::value::{address, bus_name, file, filter, filter_text, flag, folder, whole, word};
use broker::{Order, Owed, PayloadCheck, Schemas};
use doors::bus::{Direction, Routing};
use journal::Durability;
use protocol::{AeePolicy, Mode};

/// One setting.
pub struct Setting {
    /// Its name in the file, `section.key`; the unit is its last word.
    pub name: &'static str,
    /// One sentence.
    pub doc: &'static str,
    /// Whether TOML writes it with quotes.
    pub is_text: bool,
    /// The value in a plan, as text.
    pub read: fn(&Plan) -> String,
    /// Changes the value; the error finishes "expected NAME to be".
    pub write: fn(&mut Plan, &str) -> Result<(), String>,
}

impl std::fmt::Debug for Setting {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

impl Setting {
    /// The environment variable: `INTERWIRE_HTTP_PAGE_MAX` for `http.page_max`.
    pub fn environment(&self) -> String {
        format!(
            "INTERWIRE_{}",
            self.name.replace('.', "_").to_ascii_uppercase()
        )
    }

    /// The value of a fresh plan.
    pub fn default(&self) -> String {
        (self.read)(&Plan::default())
    }

    /// A value as TOML writes it.
    pub fn toml(&self, value: &str) -> String {
        if self.is_text {
            format!("{value:?}")
        } else {
            value.to_owned()
        }
    }
}

macro_rules! number {
    ($name:literal, $least:literal, $($field:ident).+, $doc:literal) => {
        number!($name, $least => u64::MAX, $($field).+, $doc)
    };
    ($name:literal, $least:literal => $most:expr, $($field:ident).+, $doc:literal) => {
        Setting {
            name: $name,
            doc: $doc,
            is_text: false,
            read: |plan| plan.$($field).+.to_string(),
            write: |plan, text| {
                whole(text, $least, $most).map(|number| plan.$($field).+ = number)
            },
        }
    };
}

/// A limit that 0 takes away.
macro_rules! limit {
    ($name:literal, $($field:ident).+, $doc:literal) => {
        Setting {
            name: $name,
            doc: $doc,
            is_text: false,
            read: |plan| plan.$($field).+.unwrap_or(0).to_string(),
            write: |plan, text| {
                whole(text, 0, u64::MAX)
                    .map(|number: u64| plan.$($field).+ = (number > 0).then_some(number))
            },
        }
    };
}

macro_rules! switch {
    ($name:literal, $($field:ident).+, $doc:literal) => {
        Setting {
            name: $name,
            doc: $doc,
            is_text: false,
            read: |plan| plan.$($field).+.to_string(),
            write: |plan, text| flag(text).map(|flag| plan.$($field).+ = flag),
        }
    };
}

macro_rules! text {
    ($name:literal, $doc:literal, $read:expr, $write:expr) => {
        Setting {
            name: $name,
            doc: $doc,
            is_text: true,
            read: $read,
            write: $write,
        }
    };
}

/// Free text.
macro_rules! words {
    ($name:literal, $($field:ident).+, $doc:literal) => {
        text!(
            $name,
            $doc,
            |plan| plan.$($field).+.clone(),
            |plan, text| {
                plan.$($field).+ = text.trim().to_owned();
                Ok(())
            }
        )
    };
}

/// The address of a message broker; what only the broker may know is not shown.
macro_rules! bus_url {
    ($name:literal, $bus:ident, $doc:literal) => {
        text!(
            $name,
            $doc,
            |plan| plan.bus.$bus.bus.shown_url(),
            |plan, text| {
                plan.bus.$bus.bus.url = text.trim().to_owned();
                Ok(())
            }
        )
    };
}

macro_rules! bus_prefix {
    ($name:literal, $bus:ident) => {
        text!(
            $name,
            "First part of every name on the bus.",
            |plan| plan.bus.$bus.bus.prefix.clone(),
            |plan, text| bus_name(text).map(|name| plan.bus.$bus.bus.prefix = name)
        )
    };
}

macro_rules! bus_group {
    ($name:literal, $bus:ident) => {
        text!(
            $name,
            "The name under which exchanges that share the work read.",
            |plan| plan.bus.$bus.bus.group.clone(),
            |plan, text| bus_name(text).map(|name| plan.bus.$bus.bus.group = name)
        )
    };
}

macro_rules! bus_direction {
    ($name:literal, $bus:ident) => {
        text!(
            $name,
            "Which way messages go: in (from the bus into the exchange), out, both.",
            |plan| plan.bus.$bus.bus.direction.as_str().into(),
            |plan, text| word(Direction::parse(text), "in, out, both").map(|direction| plan
                .bus
                .$bus
                .bus
                .direction =
                direction)
        )
    };
}

macro_rules! bus_filter {
    ($name:literal, $bus:ident, $field:ident, $doc:literal) => {
        text!(
            $name,
            $doc,
            |plan| filter_text(&plan.bus.$bus.bus.$field),
            |plan, text| filter(text).map(|filter| plan.bus.$bus.bus.$field = filter)
        )
    };
}

macro_rules! bus_routing {
    ($name:literal, $bus:ident) => {
        text!(
            $name,
            "What a message is published under: topic (its topic, else its type), type, source, events (one name for all).",
            |plan| plan.bus.$bus.bus.out_routing.as_str().into(),
            |plan, text| word(Routing::parse(text), "topic, type, source, events")
                .map(|routing| plan.bus.$bus.bus.out_routing = routing)
        )
    };
}

/// Every setting, in the order they are shown.
pub static SETTINGS: &[Setting] = &[
    text!(
        "listen",
        "Address and port to listen on; port 0 takes a free one.",
        |plan| plan.listen.to_string(),
        |plan, text| address(text).map(|address| plan.listen = address)
    ),
    text!(
        "data",
        "Folder of the journal; one process at a time.",
        |plan| plan.data.display().to_string(),
        |plan, text| folder(text).map(|path| plan.data = path)
    ),
    text!(
        "tls_certificate",
        "File with the certificate of the exchange in PEM, and its chain behind it; empty for a plain listener.",
        |plan| plan.tls.certificate.display().to_string(),
        |plan, text| file(text).map(|path| plan.tls.certificate = path)
    ),
    text!(
        "tls_key",
        "File with the key of that certificate in PEM.",
        |plan| plan.tls.key.display().to_string(),
        |plan, text| file(text).map(|path| plan.tls.key = path)
    ),
    text!(
        "tls_client_ca",
        "File with the authorities in PEM whose clients are let in; empty to ask for no certificates.",
        |plan| plan.tls.client_ca.display().to_string(),
        |plan, text| file(text).map(|path| plan.tls.client_ca = path)
    ),
    switch!(
        "allow_open",
        allow_open,
        "Serve an address that other machines can reach although no credentials are asked for."
    ),
    text!(
        "durability",
        "What a receipt promises: fsync (survives a power cut), os (survives the process), memory (no files at all).",
        |plan| broker::durability_word(plan.broker.durability).into(),
        |plan, text| word(durability(text), "fsync, os, memory")
            .map(|durability| plan.broker.durability = durability)
    ),
    number!(
        "segment_bytes",
        65536,
        broker.segment_bytes,
        "Bytes per journal file."
    ),
    text!(
        "mode",
        "strict takes only what is published; lenient carries what it does not know and warns.",
        |plan| match plan.broker.rules.mode {
            Mode::Strict => "strict".into(),
            Mode::Lenient => "lenient".into(),
        },
        |plan, text| word(Mode::parse(text), "strict, lenient")
            .map(|mode| plan.broker.rules.mode = mode)
    ),
    text!(
        "aee_policy",
        "Which AEE field sets are deliverable: repo, seed, both, either, log.",
        |plan| match plan.broker.rules.aee_policy {
            AeePolicy::Repo => "repo".into(),
            AeePolicy::Seed => "seed".into(),
            AeePolicy::Both => "both".into(),
            AeePolicy::Either => "either".into(),
            AeePolicy::Log => "log".into(),
        },
        |plan, text| word(AeePolicy::parse(text), "repo, seed, both, either, log")
            .map(|policy| plan.broker.rules.aee_policy = policy)
    ),
    text!(
        "payload_check",
        "What is done about AEE payloads that the schema of their intent does not allow: off, warn, enforce.",
        |plan| plan.broker.payload_check.as_str().into(),
        |plan, text| word(PayloadCheck::parse(text), "off, warn, enforce")
            .map(|way| plan.broker.payload_check = way)
    ),
    text!(
        "schemas",
        "Folder of JSON Schemas of intents, such as ops.backup.run.task.schema.json; empty for none.",
        |plan| plan.schemas.display().to_string(),
        |plan, text| {
            let folder = std::path::PathBuf::from(text);
            let mut schemas = Schemas::standard()?;
            if !text.is_empty() {
                let read = schemas.add_folder(&folder);
                read.map_err(|error| format!("a folder of JSON Schemas ({error})"))?;
            }
            plan.broker.schemas = std::sync::Arc::new(schemas);
            plan.schemas = folder;
            Ok(())
        }
    ),
    switch!(
        "aep_accept_0_1",
        broker.rules.aep_accept_0_1,
        "Accept the older AEP spelling, aep_version 0.1."
    ),
    number!(
        "envelope_bytes_max",
        1024 => 16 << 20,
        broker.rules.envelope_bytes_max,
        "Bytes of the largest envelope; at most 16 MiB, which a journal record must hold with its header."
    ),
    number!(
        "depth_max",
        4 => 512,
        broker.rules.depth_max,
        "Deepest nesting of arrays and objects in an envelope."
    ),
    number!(
        "recipients_max",
        1,
        broker.rules.recipients_max,
        "Most direct recipients of one envelope."
    ),
    number!(
        "queue_max",
        1,
        broker.queue_max,
        "Publishes that may wait; a full queue slows publishers down."
    ),
    number!(
        "queue_bytes_max",
        1024 => 4 << 30,
        broker.queue_bytes_max,
        "Bytes of publishes that may wait."
    ),
    number!(
        "connection_queue_max",
        1,
        broker.connection_queue_max,
        "Publishes of one connection that may wait."
    ),
    number!(
        "connection_queue_bytes_max",
        1024 => 4 << 30,
        broker.connection_queue_bytes_max,
        "Bytes of publishes of one connection that may wait."
    ),
    number!(
        "queue_wait_ms",
        0,
        broker.queue_wait_ms,
        "Milliseconds a publisher waits for room before it is refused as overloaded."
    ),
    number!("batch_max", 1, broker.batch_max, "Messages in one commit."),
    number!(
        "batch_bytes_max",
        1024,
        broker.batch_bytes_max,
        "Bytes in one commit."
    ),
    number!(
        "ring_bytes_max",
        0,
        broker.ring_bytes_max,
        "Bytes of recent messages kept in memory for live readers."
    ),
    number!(
        "channel_matches_max",
        1,
        broker.channel_matches_max,
        "Matches a live channel remembers before a slow reader must read the file."
    ),
    number!(
        "readers_max",
        1,
        broker.readers_max,
        "Live readers of all connections together."
    ),
    number!(
        "best_effort_max",
        1,
        broker.best_effort_max,
        "Messages that may wait for a best-effort reader before it is taken to the newest."
    ),
    number!(
        "dedupe_recent_max",
        1024,
        broker.dedupe_recent_max,
        "Keys of messages, for knowing repeats, kept in memory before they go to files; about 60 bytes each."
    ),
    number!(
        "dedupe_filter_bytes_max",
        0,
        broker.dedupe_filter_bytes_max,
        "Bytes of memory for the filters of those files, about 1.5 a message; beyond it filters are read from the files."
    ),
    number!(
        "checkpoint_every_records",
        1000,
        broker.checkpoint_every_records,
        "Records after which the state is written down again; a start reads the records after the last time."
    ),
    number!(
        "checkpoint_every_ms",
        1000,
        broker.checkpoint_every_ms,
        "Milliseconds after which the state is written down again if anything changed."
    ),
    limit!(
        "retention_age_ms",
        broker.retention.age_ms,
        "Milliseconds after which messages may go; 0 keeps them for ever."
    ),
    limit!(
        "retention_bytes",
        broker.retention.bytes,
        "Bytes of the journal beyond which its oldest messages may go; 0 for no limit."
    ),
    limit!(
        "retention_records",
        broker.retention.records,
        "Records of the journal beyond which its oldest messages may go; 0 for no limit."
    ),
    switch!(
        "allow_lost_state",
        broker.allow_lost_state,
        "Start although the oldest messages are gone and no checkpoint can be read; subscriptions and what was owed then are lost."
    ),
    text!(
        "retention_owed",
        "What becomes of a message that may go and is still owed to somebody, or is a dead letter: keep it and everything after it, or drop it and end its deliveries.",
        |plan| plan.broker.retention.owed.as_str().into(),
        |plan, text| word(Owed::parse(text), "keep, drop")
            .map(|owed| plan.broker.retention.owed = owed)
    ),
    number!(
        "lease_ms",
        1 => 86_400_000,
        broker.exchange.delivery.lease_ms,
        "Milliseconds a delivery is leased to its consumer."
    ),
    number!(
        "attempts_max",
        1 => 1_000,
        broker.exchange.delivery.max_attempts,
        "Failed attempts after which a delivery is a dead letter."
    ),
    number!(
        "backoff_ms",
        0 => 86_400_000,
        broker.exchange.delivery.backoff_ms,
        "Milliseconds between the first failed attempt and the next."
    ),
    number!(
        "backoff_multiplier_milli",
        1_000 => 100_000,
        broker.exchange.delivery.backoff_multiplier_milli,
        "By what that wait grows with every further failure, in thousandths: 2000 doubles it."
    ),
    number!(
        "backoff_ms_max",
        0 => 86_400_000,
        broker.exchange.delivery.backoff_ms_max,
        "The longest such wait, in milliseconds."
    ),
    text!(
        "delivery_order",
        "What must hold between deliveries of one place: conversation (one consumer at a time has one, in order) or none.",
        |plan| plan.broker.exchange.delivery.order.as_str().into(),
        |plan, text| word(Order::parse(text), "conversation, none").map(|order| plan
            .broker
            .exchange
            .delivery
            .order = order)
    ),
    number!(
        "nack_delay_ms_min",
        0 => 86_400_000,
        broker.exchange.nack_delay_ms_min,
        "Least milliseconds before a returned delivery is handed out again."
    ),
    number!(
        "in_flight_max",
        1 => 1_000_000,
        broker.exchange.delivery.in_flight_max,
        "Deliveries leased at once per inbox or subscription."
    ),
    number!(
        "places_max",
        1,
        broker.exchange.places_max,
        "Most inboxes and subscriptions."
    ),
    number!(
        "fan_out_max",
        1,
        broker.exchange.fan_out_max,
        "Most inboxes and subscriptions that one message goes to."
    ),
    number!(
        "tasks_open_max",
        1,
        broker.exchange.tasks.open_max,
        "Open tasks in memory; the journal keeps the others."
    ),
    number!(
        "tasks_finished_max",
        1,
        broker.exchange.tasks.finished_max,
        "Ended tasks in memory; the journal keeps the others."
    ),
    number!(
        "agents_max",
        1,
        broker.exchange.directory.agents_max,
        "Agents of the directory."
    ),
    number!(
        "card_bytes_max",
        1024,
        broker.exchange.directory.card_bytes_max,
        "Bytes of one agent's card."
    ),
    number!(
        "cards_bytes_max",
        1024,
        broker.exchange.directory.cards_bytes_max,
        "Bytes of all cards together."
    ),
    number!(
        "presence_lease_ms",
        1000,
        broker.exchange.directory.lease_ms,
        "Milliseconds that an agent counts as there without a word, when its card does not say."
    ),
    number!(
        "loop_hops_max",
        0,
        broker.exchange.loops.hops_max,
        "Automatic reactions in one chain of causes before a message goes to nobody; 0 is no limit."
    ),
    number!(
        "loop_pair_turns_max",
        0,
        broker.exchange.loops.pair_turns_max,
        "Reactions to reactions between two parties in one window; 0 is no limit."
    ),
    number!(
        "loop_conversation_turns_max",
        0,
        broker.exchange.loops.conversation_turns_max,
        "Reactions to reactions in one conversation in one window; 0 is no limit."
    ),
    number!(
        "loop_window_ms",
        1,
        broker.exchange.loops.window_ms,
        "Milliseconds of such a window."
    ),
    number!(
        "loop_memory_max",
        1,
        broker.exchange.loops.memory_max,
        "Reactions that are remembered to find loops; what is forgotten counts as a beginning."
    ),
    text!(
        "log",
        "What is logged: error, warn, info, debug, trace, or a filter such as info,interwire_broker=debug.",
        |plan| plan.log.clone(),
        |plan, text| {
            plan.log = text.into();
            Ok(())
        }
    ),
    switch!("log_json", log_json, "Log one JSON object a line."),
    number!(
        "http.ndjson_bytes_max",
        1024,
        http.ndjson_bytes_max,
        "Bytes of one NDJSON body."
    ),
    number!(
        "http.unread_results_bytes_max",
        1024,
        http.unread_results_bytes_max,
        "Bytes of NDJSON results that wait for a client which sends without reading."
    ),
    number!(
        "http.event_batch_bytes_max",
        1024,
        http.event_batch_bytes_max,
        "Bytes of one list of CloudEvents."
    ),
    number!(
        "http.body_wait_ms",
        1,
        http.body_wait_ms,
        "Milliseconds between two pieces of a body."
    ),
    number!(
        "http.head_wait_ms",
        1,
        http.head_wait_ms,
        "Milliseconds for a request's head."
    ),
    number!(
        "http.keep_alive_ms",
        1,
        http.keep_alive_ms,
        "Milliseconds between keep-alive comments or pings."
    ),
    number!(
        "http.session_heartbeat_ms",
        0,
        http.session_heartbeat_ms,
        "Milliseconds between the heartbeats of an AEP session whose peer says nothing about them; 0 is off."
    ),
    number!(
        "http.session_resume_ms",
        0,
        http.session_resume_ms,
        "Milliseconds for which an AEP session that lost its connection can be resumed."
    ),
    switch!(
        "http.compression",
        http.compression,
        "Whether sockets compress for peers that ask for it (permessage-deflate)."
    ),
    number!(
        "http.in_flight_max",
        1,
        http.in_flight_max,
        "Publishes in flight on one socket or in one NDJSON body."
    ),
    number!(
        "http.socket_frame_room_bytes",
        1024,
        http.socket_frame_room_bytes,
        "Bytes of one socket frame beyond the largest envelope."
    ),
    number!(
        "http.socket_readers_max",
        1,
        http.socket_readers_max,
        "Readers on one socket."
    ),
    number!(
        "http.socket_operations_max",
        1,
        http.socket_operations_max,
        "Operations of one socket that may wait for their answer, besides publishes."
    ),
    number!(
        "http.connections_max",
        1,
        http.connections_max,
        "Connections at once; more are told to come back."
    ),
    number!(
        "http.reader_bytes_max",
        1024,
        http.reader_bytes_max,
        "Bytes of deliveries in one answer."
    ),
    number!(
        "http.unsent_bytes_max",
        4096,
        http.unsent_bytes_max,
        "Bytes on their way to one connection that the system takes before it has sent them (Linux)."
    ),
    number!(
        "http.reader_budget_bytes",
        1024,
        http.reader_budget_bytes,
        "Bytes that may come for a connection's readers while it takes nothing; with more it is too slow before the stall time is over."
    ),
    number!(
        "http.write_stall_ms",
        1,
        http.write_stall_ms,
        "Milliseconds a reader may leave its data untaken before it counts as too slow."
    ),
    number!(
        "http.page_max",
        1,
        http.page_max,
        "Messages in one page, deliveries in one pull."
    ),
    number!(
        "http.trace_max",
        1,
        http.trace_max,
        "Messages of one conversation in one trace, and as many linked to it."
    ),
    number!(
        "http.pull_wait_ms_max",
        0,
        http.pull_wait_ms_max,
        "Milliseconds that a pull may wait."
    ),
    number!(
        "http.ask_wait_ms_max",
        1,
        http.ask_wait_ms_max,
        "Milliseconds that who asks may wait for a reply."
    ),
    text!(
        "http.hosts",
        "Host names, with commas between, under which a proxy may reach an exchange on loopback.",
        |plan| plan.http.hosts.join(","),
        |plan, text| {
            let names = text
                .split(',')
                .map(str::trim)
                .filter(|name| !name.is_empty());
            plan.http.hosts = names.map(str::to_ascii_lowercase).collect();
            Ok(())
        }
    ),
    switch!(
        "http.uai_wp_json",
        http.uai_wp_json,
        "Serve UAI-1's reference surface (/uaix/v1) also below /wp-json, where the reference site has it."
    ),
    number!(
        "http.drain_notice_ms",
        0,
        http.drain_notice_ms,
        "Milliseconds from the first stop signal to the drain, in which only readiness is off."
    ),
    number!(
        "http.drain_grace_ms",
        0,
        http.drain_grace_ms,
        "Milliseconds from the beginning of the drain to the end."
    ),
    number!(
        "http.drain_retry_ms",
        0,
        http.drain_retry_ms,
        "Milliseconds after which a drained reader should come back."
    ),
    text!(
        "webhook.networks",
        "Private networks that webhooks may call, such as 10.1.0.0/16, with commas between; all others are refused.",
        |plan| plan.http.webhooks.networks.to_string(),
        |plan, text| text
            .parse()
            .map(|networks| plan.http.webhooks.networks = networks)
    ),
    number!(
        "webhook.wait_ms",
        1 => 600_000,
        http.webhooks.wait_ms,
        "Milliseconds for one attempt of a webhook; never more than three quarters of its lease."
    ),
    number!(
        "webhook.in_flight_max",
        1 => 256,
        http.webhooks.in_flight_max,
        "Attempts of one webhook that are under way at once."
    ),
    bus_url!(
        "nats.url",
        nats,
        "NATS servers with commas between, such as nats://127.0.0.1:4222; empty for none."
    ),
    bus_prefix!("nats.prefix", nats),
    bus_direction!("nats.direction", nats),
    bus_filter!(
        "nats.in_filter",
        nats,
        in_filter,
        "What of the bus is taken in, such as type=task.*&target=agent.b; empty for everything."
    ),
    bus_filter!(
        "nats.out_filter",
        nats,
        out_filter,
        "What of the exchange goes out, such as type=task.*&target=agent.b; empty for everything."
    ),
    bus_routing!("nats.out_routing", nats),
    bus_group!("nats.group", nats),
    switch!(
        "nats.jetstream",
        bus.nats.jetstream,
        "Read and write a JetStream stream; without it only who listens at the moment gets anything."
    ),
    words!(
        "nats.stream",
        bus.nats.stream,
        "The stream; one that has the subjects already is used, else it is made."
    ),
    words!(
        "nats.in_subject",
        bus.nats.in_subject,
        "The subjects of the stream that are read, with wildcards; empty for all."
    ),
    number!(
        "nats.ack_wait_ms",
        500,
        bus.nats.ack_wait_ms,
        "Milliseconds after which the server gives a message again that was not confirmed; for a new consumer."
    ),
    number!(
        "nats.duplicate_window_ms",
        100,
        bus.nats.duplicate_window_ms,
        "Milliseconds in which the server knows a repeat; for a new stream."
    ),
    words!(
        "nats.credentials",
        bus.nats.credentials,
        "File with the credentials for NATS; empty for none."
    ),
    bus_url!(
        "redis.url",
        redis,
        "Redis, such as redis://127.0.0.1:6379/0; empty for none."
    ),
    bus_prefix!("redis.prefix", redis),
    bus_direction!("redis.direction", redis),
    bus_filter!(
        "redis.in_filter",
        redis,
        in_filter,
        "What of the bus is taken in, such as type=task.*&target=agent.b; empty for everything."
    ),
    bus_filter!(
        "redis.out_filter",
        redis,
        out_filter,
        "What of the exchange goes out, such as type=task.*&target=agent.b; empty for everything."
    ),
    bus_routing!("redis.out_routing", redis),
    bus_group!("redis.group", redis),
    words!(
        "redis.in_streams",
        bus.redis.in_streams,
        "Streams that are read, without the prefix, with commas between."
    ),
    number!(
        "redis.entries_max",
        0,
        bus.redis.entries_max,
        "Entries, about, after which the oldest of a stream written here are trimmed; 0 for never."
    ),
    number!(
        "redis.claim_idle_ms",
        100,
        bus.redis.claim_idle_ms,
        "Milliseconds after which what another instance took and did not confirm is taken over."
    ),
    bus_url!(
        "kafka.url",
        kafka,
        "Kafka brokers, host:port with commas between; empty for none."
    ),
    bus_prefix!("kafka.prefix", kafka),
    bus_direction!("kafka.direction", kafka),
    bus_filter!(
        "kafka.in_filter",
        kafka,
        in_filter,
        "What of the bus is taken in, such as type=task.*&target=agent.b; empty for everything."
    ),
    bus_filter!(
        "kafka.out_filter",
        kafka,
        out_filter,
        "What of the exchange goes out, such as type=task.*&target=agent.b; empty for everything."
    ),
    bus_routing!("kafka.out_routing", kafka),
    bus_group!("kafka.group", kafka),
    words!(
        "kafka.in_topics",
        bus.kafka.in_topics,
        "Topics that are read, without the prefix, with commas between."
    ),
    number!(
        "kafka.session_timeout_ms",
        1_000,
        bus.kafka.session_timeout_ms,
        "Milliseconds after which the group counts a silent member as gone."
    ),
];

fn durability(text: &str) -> Option<Durability> {
    [Durability::Fsync, Durability::Os, Durability::Memory]
        .into_iter()
        .find(|durability| broker::durability_word(*durability) == text)
}
