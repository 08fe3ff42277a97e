//! The conductor: starts the processes, listens to them, kills what is to be killed, checks the end.

use super::agent::{Did, Said};
use super::process::{Agent, Exchange, Heard};
use super::roles::{Message, Role, conversation};
use super::script::{CRAWL, Conversation, HANDOFF, SCAN, differences};
use super::tree;
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
const PLAY_MAX: Duration = Duration::from_secs(60);

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
    let folder = Folder { path, is_kept: options.is_kept };
    let exchange = Exchange::start(&folder.path, "127.0.0.1:0").await?;
    let stage = Stage::new(options, exchange);
    stage.note(Colour::Dim, &format!(
        "exchange at {} (process {}), data in {}",
        stage.url(),
        stage.exchange.id(),
        folder.path.display()
    ))?;
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
    is_killed: bool,
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
                (Role::Researcher, format!("conv_{}", identity::ulid()), &CRAWL),
                (Role::Manager, format!("grp_{}", identity::ulid()), &HANDOFF),
            ],
            deadline: Instant::now() + PLAY_MAX,
            repeated: 0,
            skipped: 0,
            is_killed: false,
        }
    }

    fn url(&self) -> &str {
        &self.exchange.url
    }

    async fn perform(mut self) -> Result<Answer, Failure> {
        for role in WORKERS {
            self.enter(role, None)?;
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
            self.enter(role, Some(&id))?;
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
    fn enter(&mut self, role: Role, conversation: Option<&str>) -> Result<(), Failure> {
        let agent = Agent::start(role, self.url(), conversation, self.voice.clone())?;
        self.agents.insert(role, agent);
        Ok(())
    }

    /// The next thing an agent says.
    async fn next(&mut self) -> Result<(Role, Said), Failure> {
        loop {
            let heard = timeout_at(self.deadline, self.heard.recv()).await.map_err(|_| {
                let seconds = PLAY_MAX.as_secs();
                Failure::Refused(format!("the conversations did not end within {seconds} s"))
            })?;
            match heard {
                Some((role, Some(said))) => return Ok((role, said)),
                // A process that was killed here is expected to end; it is not on the list then.
                Some((role, None)) if !self.agents.contains_key(&role) || self.is_killed => {}
                Some((role, None)) => {
                    return Err(Failure::Refused(format!("{} ended early", role.party())));
                }
                None => return Err(Failure::Refused("no agent is left".into())),
            }
        }
    }

    /// What the conductor does when a message was sent.
    async fn react(&mut self, role: Role, label: &str) -> Result<(), Failure> {
        if self.options.is_kill && !self.is_killed && role == Role::Scanner {
            self.kill().await?;
        }
        let is_first_report = role == Role::Worker1 && label == "uai.agent.final-report.v1";
        if is_first_report && !self.agents.contains_key(&Role::Worker2) {
            self.note(Colour::Yellow, "agent:agt_worker2 starts; its handoff has waited for it")?;
            self.enter(Role::Worker2, None)?;
        }
        Ok(())
    }

    /// SIGKILL for the exchange and the scanner, which is in the middle of its work; then both again.
    async fn kill(&mut self) -> Result<(), Failure> {
        self.is_killed = true;
        let scanner = self.agents.remove(&Role::Scanner);
        let scanner_id = scanner.as_ref().map_or(0, Agent::id);
        let (url, exchange_id) = (self.exchange.url.clone(), self.exchange.id());
        if let Some(scanner) = scanner {
            scanner.kill().await?;
        }
        self.exchange.kill_and_restart().await?;
        self.note(Colour::Red, &format!(
            "SIGKILL: exchange (process {exchange_id}) and agent:scanner (process {scanner_id})"
        ))?;
        self.note(Colour::Yellow, &format!(
            "exchange again at {url} (process {}), agent:scanner again",
            self.exchange.id()
        ))?;
        self.enter(Role::Scanner, None)
    }

    /// Reads the journal back, ends the processes, prints and judges.
    async fn close(mut self) -> Result<Answer, Failure> {
        let client = Client::connect(self.url())?;
        let mut found = Vec::new();
        for (_, id, script) in &self.conversations {
            found.push((id.clone(), *script, conversation(&client, id).await?));
        }
        for (_, agent) in std::mem::take(&mut self.agents) {
            agent.kill().await?;
        }
        let (options, paint, repeated, skipped) =
            (self.options, self.paint, self.repeated, self.skipped);
        let has_drained = self.exchange.stop().await?;
        let ending = Ending { options, paint, repeated, skipped, has_drained };
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
        let to = if said.to.is_empty() { "everybody who subscribed" } else { &said.to };
        output::line(&format!(
            "{}  {:<18} {:<27} {} {}{}",
            self.paint.paint(Colour::Dim, role.dialect().as_str()),
            self.paint.paint(Colour::Cyan, &format!("{:<18}", role.party())),
            self.paint.paint(Colour::Bold, &format!("{:<27}", said.label)),
            self.paint.paint(Colour::Dim, "→"),
            to,
            self.paint.paint(Colour::Yellow, again),
        ))
    }
}

/// What is known when everything has ended.
struct Ending {
    options: Options,
    paint: Paint,
    repeated: usize,
    skipped: usize,
    has_drained: bool,
}

impl Ending {
    fn print(
        &self,
        found: &[(String, &'static Conversation, Vec<Message>)],
    ) -> Result<Answer, Failure> {
        let mut wrong = Vec::new();
        let mut total = 0;
        for (id, script, messages) in found {
            total += messages.len();
            let differences = differences(script, messages);
            self.conversation(id, script, messages, &differences)?;
            wrong.extend(differences);
        }
        if !self.has_drained {
            wrong.push("the exchange did not end in time after SIGTERM".into());
        }
        let is_right = wrong.is_empty();
        if self.options.is_json {
            output::line(
                &json!({ "ok": is_right, "messages": total, "wrong": wrong,
                         "repeated": self.repeated, "redelivered_and_skipped": self.skipped })
                .to_string(),
            )?;
        } else {
            for sentence in &wrong {
                output::line(&format!("{} {sentence}", self.paint.paint(Colour::Red, "wrong:")))?;
            }
            let verdict = if is_right {
                self.paint.paint(Colour::Green, "nothing lost, nothing done twice")
            } else {
                self.paint.paint(Colour::Red, "not as it should be")
            };
            output::line(&format!(
                "{total} messages in {} conversations; recognised repetitions: {} publishes, {} \
                 deliveries; {verdict}",
                found.len(),
                self.repeated,
                self.skipped
            ))?;
        }
        Ok(if is_right { Answer::Yes } else { Answer::No })
    }

    fn conversation(
        &self,
        id: &str,
        script: &Conversation,
        messages: &[Message],
        differences: &[String],
    ) -> Result<(), Failure> {
        let counts = tree::counts(messages);
        if self.options.is_json {
            let nodes: Vec<_> = messages
                .iter()
                .map(|message| {
                    let header = &message.header;
                    json!({
                        "id": header.id, "type": header.kind, "from": header.sender.as_str(),
                        "to": header.recipients.iter().map(protocol::Party::as_str).collect::<Vec<_>>(),
                        "cause": header.cause,
                    })
                })
                .collect();
            let counts: BTreeMap<_, _> = counts.into_iter().collect();
            return output::line(
                &json!({ "conversation": id, "title": script.title, "counts": counts,
                         "messages": nodes, "wrong": differences })
                .to_string(),
            );
        }
        output::line("")?;
        output::line(&self.paint.paint(Colour::Bold, script.title))?;
        let counts: Vec<_> = counts.iter().map(|(kind, count)| format!("{count} {kind}")).collect();
        let line = format!("{id}: {} messages ({})", messages.len(), counts.join(", "));
        output::line(&self.paint.paint(Colour::Dim, &line))?;
        for line in tree::lines(messages, self.paint) {
            output::line(&line)?;
        }
        output::line("")
    }
}
