//! `interwire`: run an exchange and use one, from the command line.
//!
//! This file is the table of verbs; each verb is one file under `command`. Results go to standard
//! output, everything else to standard error.

mod command;
mod compose;
mod connection;
mod demo;
mod failure;
mod identity;
mod lock;
mod logging;
mod output;
mod places;
mod settings;
mod texts;
mod tls;

/// Envelopes are allocated by the connections and freed by the loop; the system's allocator, with
/// its locks between them, was about a fifth of the time of a publish.
#[cfg(target_os = "linux")]
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

use clap::{CommandFactory as _, Parser, Subcommand};
use failure::{Answer, Failure};
use std::process::ExitCode;

/// A message exchange for AI agents that speak AEE, AEP or UAI-1.
#[derive(Debug, Parser)]
#[command(
    name = "interwire",
    version,
    about,
    propagate_version = true,
    arg_required_else_help = true,
    after_help = "\
Start:        interwire demo
              interwire serve
Exit codes:   0 done, 1 the answer is no, 2 wrong use, 3 cannot reach the exchange
Environment:  INTERWIRE_URL, INTERWIRE_TOKEN, INTERWIRE_AS, INTERWIRE_CONFIG, NO_COLOR"
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,
}

#[derive(Debug, Subcommand)]
enum Verb {
    /// Run the exchange
    Serve(command::serve::Arguments),
    /// An AEP session over standard input and output, one event a line
    Stdio(command::stdio::Arguments),
    /// Watch real agents talk in all three dialects, in a temporary exchange
    Demo(command::demo::Arguments),
    /// Publish envelopes from files, from standard input, or built from options
    Send(Box<command::send::Arguments>),
    /// Publish a request and wait for its reply
    Ask(Box<command::ask::Arguments>),
    /// Say what became of a message
    Receipt(command::receipt::Arguments),
    /// Read a party's inbox
    Inbox(Box<command::inbox::Arguments>),
    /// Run a command as an agent: its inbox on its standard input, what it says on its standard output
    Run(command::run::Arguments),
    /// Follow the live stream
    Tail(command::tail::Arguments),
    /// List, show and call off tasks
    #[command(subcommand)]
    Task(command::task::Action),
    /// Show a whole conversation: what caused what, and what became of it
    Trace(command::trace::Arguments),
    /// Play a conversation or a time range again, into a party or to standard output
    Replay(command::replay::Arguments),
    /// List, create, pause and remove durable subscriptions
    #[command(subcommand)]
    Sub(command::sub::Action),
    /// List, show, register and remove agents of the directory
    #[command(subcommand)]
    Agent(command::agent::Action),
    /// Find agents by what they can do
    Find(command::agent::Search),
    /// List, show, deliver again and drop dead letters
    #[command(subcommand)]
    Dlq(command::dlq::Action),
    /// Serve an MCP host over standard input and output
    #[cfg(feature = "mcp")]
    Mcp(command::mcp::Arguments),
    /// Make and show keys that sign
    #[command(subcommand)]
    Key(command::key::Action),
    /// Sign envelopes, offline
    Sign(command::sign::Arguments),
    /// Say whose signatures envelopes have and whether they hold, offline
    Verify(command::verify::Arguments),
    /// Export a conversation as evidence, and verify evidence offline
    #[command(subcommand)]
    Audit(command::audit::Action),
    /// Write envelopes in another dialect
    Translate(command::translate::Arguments),
    /// Make envelopes of what an agent framework wrote: calls, results, messages
    Wrap(Box<command::wrap::Arguments>),
    /// Write what envelopes say as an agent framework does
    Unwrap(command::unwrap::Arguments),
    /// Say what is right and wrong with envelopes, offline
    Validate(command::validate::Arguments),
    /// Judge this implementation by a conformance suite
    #[command(subcommand)]
    Conformance(command::conformance::Action),
    /// Show, check or begin a configuration
    #[command(subcommand)]
    Config(command::config::Action),
    /// Measure an exchange, alone or side by side
    Bench(command::bench::Arguments),
    /// Copy a data folder, also while an exchange uses it
    Backup(command::backup::Arguments),
    /// Make a new data folder of a backup
    Restore(command::restore::Arguments),
    /// Check disk, clock, limits, port and data folder, and say what to do
    Doctor(command::doctor::Arguments),
    /// Print a completion script for a shell
    Completions(command::completions::Arguments),
    /// Print the version and what it speaks
    Version(command::version::Arguments),
    /// One agent of the demo
    #[command(hide = true)]
    DemoAgent(demo::agent::Arguments),
}

impl Verb {
    async fn run(self) -> Result<Answer, Failure> {
        match self {
            Self::Serve(arguments) => command::serve::run(arguments).await,
            Self::Stdio(arguments) => command::stdio::run(arguments).await,
            Self::Demo(arguments) => command::demo::run(arguments).await,
            Self::Send(arguments) => command::send::run(*arguments).await,
            Self::Ask(arguments) => command::ask::run(*arguments).await,
            Self::Receipt(arguments) => command::receipt::run(arguments).await,
            Self::Inbox(arguments) => command::inbox::run(*arguments).await,
            Self::Run(arguments) => command::run::run(arguments).await,
            Self::Tail(arguments) => command::tail::run(arguments).await,
            Self::Task(action) => command::task::run(action).await,
            Self::Trace(arguments) => command::trace::run(arguments).await,
            Self::Replay(arguments) => command::replay::run(arguments).await,
            Self::Sub(action) => command::sub::run(action).await,
            Self::Agent(action) => command::agent::run(action).await,
            Self::Find(search) => command::agent::find(search).await,
            Self::Dlq(action) => command::dlq::run(action).await,
            #[cfg(feature = "mcp")]
            Self::Mcp(arguments) => command::mcp::run(arguments).await,
            Self::Key(action) => command::key::run(action),
            Self::Sign(arguments) => command::sign::run(arguments).await,
            Self::Verify(arguments) => command::verify::run(arguments).await,
            Self::Audit(action) => command::audit::run(action).await,
            Self::Translate(arguments) => command::translate::run(arguments).await,
            Self::Wrap(arguments) => command::wrap::run(*arguments).await,
            Self::Unwrap(arguments) => command::unwrap::run(arguments).await,
            Self::Validate(arguments) => command::validate::run(arguments).await,
            Self::Conformance(action) => command::conformance::run(action).await,
            Self::Config(action) => command::config::run(action),
            Self::Bench(arguments) => bench(arguments).await,
            Self::Backup(arguments) => command::backup::run(arguments).await,
            Self::Restore(arguments) => command::restore::run(arguments).await,
            Self::Doctor(arguments) => command::doctor::run(arguments).await,
            Self::Completions(arguments) => {
                command::completions::run(&arguments, &mut Cli::command())
            }
            Self::Version(arguments) => command::version::run(&arguments),
            Self::DemoAgent(arguments) => demo::agent::run(arguments).await,
        }
    }
}

/// The load generator brings its own runtime.
async fn bench(arguments: command::bench::Arguments) -> Result<Answer, Failure> {
    let ran = tokio::task::spawn_blocking(move || command::bench::run(&arguments)).await;
    match ran {
        Ok(Ok(())) => Ok(Answer::Yes),
        Ok(Err(error)) => Err(Failure::Refused(format!("{error:#}"))),
        Err(_) => Err(Failure::Refused("the measurement ended badly".into())),
    }
}

fn main() -> ExitCode {
    let cli = Cli::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
    {
        Ok(runtime) => runtime,
        Err(error) => {
            output::note(&format!(
                "interwire: the runtime cannot be started: {error}"
            ));
            return ExitCode::FAILURE;
        }
    };
    let result = runtime.block_on(cli.verb.run());
    // A thread that still waits for standard input must not keep the process.
    runtime.shutdown_background();
    match result {
        Ok(answer) => answer.into(),
        Err(failure) => {
            if let Some(sentence) = failure.sentence() {
                output::note(&format!("interwire: {sentence}"));
            }
            failure.code()
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

    #[test]
    fn the_table_of_verbs_is_consistent_and_every_verb_shows_an_example() {
        let mut cli = super::Cli::command();
        cli.build();
        cli.clone().debug_assert();
        for verb in cli.get_subcommands().filter(|verb| !verb.is_hide_set()) {
            let has_example = |verb: &clap::Command| {
                verb.get_after_help()
                    .is_some_and(|help| help.to_string().contains("interwire "))
            };
            let name = verb.get_name();
            if name != "help" {
                assert!(has_example(verb), "{name} has no example");
            }
        }
    }
}
