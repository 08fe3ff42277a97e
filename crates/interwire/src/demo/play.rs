//! The conductor: starts the processes, listens to them, kills what is to be killed, checks the end.

use super::agent::{Did, Said};
use super::ending::Ending;
use super::process::{Agent, Exchange, Heard};
use super::roles::Role;
use super::script::{CRAWL, Conversation, HANDOFF, SCAN};
use super::traced::Traced;
use crate::failure::{Answer, Failure};
use crate::identity;
use crate::output::{self, Colour, Paint};
use client::Client;
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::time::Duration;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

/// The whole play.
const PLAY_MAX: Duration = Duration::from_secs(120);

/// Who is there from the start. The second UAI-1 worker comes later.
const WORKERS: [Role; 7] = [
    Role::Router,
    Role::Scanner,
    Role::CveDb,
    Role::Crawler,
    Role::Memory,
    Role::Context,
    Role::Worker1,
];

/// Who begins a conversation.
const BEGINNERS: [Role; 3] = [Role::Adam, Role::Researcher, Role::Manager];

/// Who is killed half way, after how many messages of its own: the worker of each conversation. The
/// exchange is killed with each.
const VICTIMS: [(Role, usize); 3] = [(Role::Scanner, 1), (Role::Crawler, 2), (Role::Worker1, 1)];

/// How to play.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// Kill half way.
    pub is_kill: bool,
    /// Keep the data folder.
    pub is_kept: bool,
    /// JSON instead of text.
    pub is_json: bool,
}

/// The data folder; removed at the end.
struct Folder {
    path: PathBuf,
    is_kept: bool,
}

impl Drop for Folder {
    fn drop(&mut self) {
        if !self.is_kept {
            // It lies in the system's temporary folder, which is cleaned anyway.
            drop(std::fs::remove_dir_all(&self.path));
        }
    }
}

/// Plays and checks.
pub async fn run(options: Options) -> Result<Answer, Failure> {
    let path = std::env::temp_dir().join(format!("interwire-demo-{}", identity::ulid()));
    std::fs::create_dir(&path)?;
    let folder = Folder {
        path,
        is_kept: options.is_kept,
    };
    let exchange = Exchange::start(&folder.path, "127.0.0.1:0").await?;
    let stage = Stage::new(options, exchange);
    stage.note(
        Colour::Dim,
        &format!(
            "exchange at {} (process {}), data in {}",
            stage.url(),
            stage.exchange.id(),
            folder.path.display()
        ),
    )?;
    stage.perform().await
}

/// Everything that is running.
struct Stage {
    options: Options,
    paint: Paint,
    exchange: Exchange,
    agents: BTreeMap<Role, Agent>,
    heard: mpsc::UnboundedReceiver<Heard>,
    voice: mpsc::UnboundedSender<Heard>,
    conversations: [(Role, String, &'static Conversation); 3],
    deadline: Instant,
    repeated: usize,
    skipped: usize,
    /// How much each victim has published before it was killed.
    published: BTreeMap<Role, usize>,
    killed: Vec<Role>,
}

impl Stage {
    fn new(options: Options, exchange: Exchange) -> Self {
        let (voice, heard) = mpsc::unbounded_channel();
        Self {
            options,
            paint: Paint::of_stdout(),
            exchange,
            agents: BTreeMap::new(),
            heard,
            voice,
            conversations: [
                (Role::Adam, format!("CONV_{}", identity::ulid()), &SCAN),
                (
                    Role::Researcher,
                    format!("conv_{}", identity::ulid()),
                    &CRAWL,
                ),
                (Role::Manager, format!("grp_{}", identity::ulid()), &HANDOFF),
            ],
            deadline: Instant::now() + PLAY_MAX,
            repeated: 0,
            skipped: 0,
            published: BTreeMap::new(),
            killed: Vec::new(),
        }
    }

    fn url(&self) -> &str {
        &self.exchange.url
    }

    async fn perform(mut self) -> Result<Answer, Failure> {
        for role in WORKERS {
            // It stops working there, so that it is killed in the middle for certain.
            let stall = victim(self.options, role).map(|after| after.to_string());
            match &stall {
                Some(after) => self.enter(role, &["--stall-after", after])?,
                None => self.enter(role, &[])?,
            }
        }
        let mut waiting: BTreeSet<Role> = WORKERS.into();
        while !waiting.is_empty() {
            let (role, said) = self.next().await?;
            if said.did == Did::Ready {
                waiting.remove(&role);
            }
        }
        self.note(Colour::Dim, &format!(
            "{} agents read their inboxes, each a process of its own; agent:agt_worker2 is away\n",
            WORKERS.len()
        ))?;
        for (role, id, _) in self.conversations.clone() {
            self.enter(role, &["--conversation", &id])?;
        }
        let mut unfinished: BTreeSet<Role> = BEGINNERS.into();
        while !unfinished.is_empty() {
            let (role, said) = self.next().await?;
            self.tell(role, &said)?;
            match said.did {
                Did::Done => drop(unfinished.remove(&role)),
                Did::Sent | Did::Repeated => self.react(role, &said.label).await?,
                Did::Ready | Did::Skipped => {}
            }
        }
        self.close().await
    }

    /// Starts an agent's process.
    fn enter(&mut self, role: Role, extra: &[&str]) -> Result<(), Failure> {
        let agent = Agent::start(role, self.url(), extra, self.voice.clone())?;
        self.agents.insert(role, agent);
        Ok(())
    }

    /// The next thing an agent says.
    async fn next(&mut self) -> Result<(Role, Said), Failure> {
        loop {
            let heard = timeout_at(self.deadline, self.heard.recv())
                .await
                .map_err(|_| {
                    let seconds = PLAY_MAX.as_secs();
                    Failure::Refused(format!("the conversations did not end within {seconds} s"))
                })?;
            match heard {
                Some((role, Some(said))) => return Ok((role, said)),
                // A process that was killed here is expected to end; it is not on the list then.
                Some((role, None)) if self.killed.contains(&role) => {}
                Some((role, None)) => {
                    return Err(Failure::Refused(format!("{} ended early", role.party())));
                }
                None => return Err(Failure::Refused("no agent is left".into())),
            }
        }
    }

    /// What the conductor does when a message was sent.
    async fn react(&mut self, role: Role, label: &str) -> Result<(), Failure> {
        if let Some(after) = victim(self.options, role).filter(|_| !self.killed.contains(&role)) {
            let published = self.published.entry(role).or_default();
            *published += 1;
            if *published == after {
                self.kill(role).await?;
            }
        }
        let is_first_report = role == Role::Worker1 && label == "uai.agent.final-report.v1";
        if is_first_report && !self.agents.contains_key(&Role::Worker2) {
            self.note(
                Colour::Yellow,
                "agent:agt_worker2 starts; its handoff has waited for it",
            )?;
            self.enter(Role::Worker2, &[])?;
        }
        Ok(())
    }

    /// SIGKILL for the exchange and a worker, which is in the middle of its work; then both again.
    async fn kill(&mut self, role: Role) -> Result<(), Failure> {
        self.killed.push(role);
        let worker = self.agents.remove(&role);
        let worker_id = worker.as_ref().map_or(0, Agent::id);
        let (url, exchange_id) = (self.exchange.url.clone(), self.exchange.id());
        if let Some(worker) = worker {
            worker.kill().await?;
        }
        self.exchange.kill_and_restart().await?;
        self.note(
            Colour::Red,
            &format!(
                "SIGKILL: exchange (process {exchange_id}) and {} (process {worker_id})",
                role.party()
            ),
        )?;
        self.note(
            Colour::Yellow,
            &format!(
                "exchange again at {url} (process {}), {} again",
                self.exchange.id(),
                role.party()
            ),
        )?;
        self.enter(role, &[])
    }

    /// Reads the journal back, ends the processes, prints and judges.
    async fn close(mut self) -> Result<Answer, Failure> {
        let client = Client::connect(self.url())?;
        let mut found = Vec::new();
        for (_, id, script) in &self.conversations {
            let trace = Traced::read(&client, id, self.paint.is_on()).await?;
            found.push((id.clone(), *script, trace));
        }
        for (_, agent) in std::mem::take(&mut self.agents) {
            agent.kill().await?;
        }
        let (options, paint, repeated, skipped) =
            (self.options, self.paint, self.repeated, self.skipped);
        let killed = self.killed.iter().map(|role| role.party()).collect();
        let has_drained = self.exchange.stop().await?;
        let ending = Ending {
            options,
            paint,
            repeated,
            skipped,
            has_drained,
            killed,
        };
        ending.print(&found)
    }

    fn note(&self, colour: Colour, text: &str) -> Result<(), Failure> {
        if self.options.is_json {
            return output::line(&json!({ "note": text.trim_end() }).to_string());
        }
        output::line(&self.paint.paint(colour, text))
    }

    fn tell(&mut self, role: Role, said: &Said) -> Result<(), Failure> {
        let again = match said.did {
            Did::Sent => "",
            Did::Repeated => {
                self.repeated += 1;
                "  (repeated after the crash; recognised)"
            }
            Did::Skipped => {
                self.skipped += 1;
                return Ok(());
            }
            Did::Ready | Did::Done => return Ok(()),
        };
        if self.options.is_json {
            return output::line(
                &json!({ "from": role.party(), "did": said.did, "type": said.label,
                         "to": said.to, "id": said.id })
                .to_string(),
            );
        }
        let to = if said.to.is_empty() {
            "everybody who subscribed"
        } else {
            &said.to
        };
        output::line(&format!(
            "{}  {:<18} {:<27} {} {}{}",
            self.paint.paint(Colour::Dim, role.dialect().as_str()),
            self.paint
                .paint(Colour::Cyan, &format!("{:<18}", role.party())),
            self.paint
                .paint(Colour::Bold, &format!("{:<27}", said.label)),
            self.paint.paint(Colour::Dim, "→"),
            to,
            self.paint.paint(Colour::Yellow, again),
        ))
    }
}

/// After how many messages of its own this one is killed, if it is.
fn victim(options: Options, role: Role) -> Option<usize> {
    let mut victims = VICTIMS.iter().filter(|_| options.is_kill);
    victims
        .find(|(victim, _)| *victim == role)
        .map(|(_, after)| *after)
}
