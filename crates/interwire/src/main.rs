//! bench only, until the command table lands
mod command {
    pub mod bench;
}
use clap::Parser;
#[derive(Parser)]
struct Cli {
    #[command(flatten)]
    bench: command::bench::Arguments,
}
fn main() -> anyhow::Result<()> {
    command::bench::run(&Cli::parse().bench)
}
