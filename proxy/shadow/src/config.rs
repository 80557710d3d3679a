//! Configuration: what was typed ([`Arguments`]) and what is meant ([`Config`], or [`offline::Options`]).

use std::net::SocketAddr;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{Args, Parser, Subcommand};
use service_kit::arguments::{Invalid, Names, time};
use service_kit::{Serving, Timeouts};

use crate::offline;
use crate::queue::Pace;
use crate::side::BaseUrl;

/// Connections at once: the proxy's, one for each mirrored request under way.
const MAX_CONNECTIONS: usize = 1024;
/// What the proxy may take. It is nearby, and keeps idle connections for 30 s.
const TIMEOUTS: Timeouts = Timeouts {
    idle: Duration::from_secs(75),
    header: Duration::from_secs(10),
    write: Duration::from_secs(10),
};

/// Asks both implementations of GET /qrcode what was mirrored to it, and compares their answers.
#[derive(Parser, Clone, Debug)]
#[command(name = "shadow", version, about, args_conflicts_with_subcommands = true)]
pub struct Arguments {
    #[command(subcommand)]
    task: Option<TypedTask>,
    #[command(flatten)]
    service: ServiceArguments,
}

#[derive(Subcommand, Clone, Debug)]
enum TypedTask {
    /// Compare the answers to each line of a file instead, and print a summary
    Compare(offline::Options),
}

#[derive(Args, Clone, Debug)]
struct ServiceArguments {
    /// Where mirrored requests are taken, at any path
    #[arg(long, env = "SHADOW_ADDR", default_value = "127.0.0.1:42080", value_name = "IP:PORT")]
    addr: SocketAddr,

    /// Where health, metrics and mismatches are served; never to be reached from outside
    #[arg(
        long,
        env = "SHADOW_ADMIN_ADDR",
        default_value = "127.0.0.1:42081",
        value_name = "IP:PORT"
    )]
    admin_addr: SocketAddr,

    /// The Rust service; itself, and not the proxy, which would mirror the question
    #[arg(
        long,
        env = "SHADOW_NEW_URL",
        default_value = "http://127.0.0.1:42069",
        value_name = "URL"
    )]
    new_url: BaseUrl,

    /// The legacy app
    #[arg(
        long,
        env = "SHADOW_OLD_URL",
        default_value = "http://127.0.0.1:3000",
        value_name = "URL"
    )]
    old_url: BaseUrl,

    /// Requests that may wait; one more is dropped and counted
    #[arg(long, env = "SHADOW_QUEUE_LENGTH", default_value_t = 100, value_name = "COUNT",
        value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    queue_length: u32,

    /// Comparisons under way at once
    #[arg(long, env = "SHADOW_CONCURRENCY", default_value_t = 1, value_name = "COUNT",
        value_parser = clap::value_parser!(u32).range(1..=64))]
    concurrency: u32,

    /// Comparisons begun in a second: each costs both implementations a picture, and two decodings
    #[arg(long, env = "SHADOW_MAX_PER_SECOND", default_value_t = 10, value_name = "COUNT",
        value_parser = clap::value_parser!(u32).range(1..=10_000))]
    max_per_second: u32,

    /// How long an implementation may take over an answer, its connection included
    #[arg(long, env = "SHADOW_REQUEST_TIMEOUT", default_value = "2s", value_name = "TIME", value_parser = time)]
    request_timeout: Duration,

    /// Show the texts of mismatches on the admin listener, and not only their lengths and hashes
    #[arg(
        long,
        env = "SHADOW_KEEP_TEXT",
        default_value = "false",
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        value_name = "BOOL",
        value_parser = BoolishValueParser::new(),
        hide_possible_values = true
    )]
    keep_text: bool,

    /// How long comparisons of what is queued may take after a signal
    #[arg(long, env = "SHADOW_DRAIN_TIMEOUT", default_value = "5s", value_name = "TIME", value_parser = time)]
    drain_timeout: Duration,

    /// Least level that is logged: error, warn, info, debug or trace
    #[arg(long, env = "SHADOW_LOG_LEVEL", default_value = "info", value_name = "LEVEL")]
    log_level: tracing::Level,
}

/// What is to be done.
#[derive(Clone, Debug)]
pub enum Task {
    /// Serve.
    Serve(Box<Config>),
    /// Compare the lines of a file.
    Compare(offline::Options),
}

/// What the service is to do.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where mirrored requests are taken.
    pub addr: SocketAddr,
    /// Address of health, metrics and mismatches.
    pub admin_addr: SocketAddr,
    pub(crate) new_url: BaseUrl,
    pub(crate) old_url: BaseUrl,
    pub(crate) queue_length: usize,
    pub(crate) pace: Pace,
    pub(crate) request_timeout: Duration,
    pub(crate) keep_text: bool,
    pub(crate) serving: Serving,
    /// Least level logged.
    pub log_level: tracing::Level,
}

impl Config {
    /// Comparisons under way at once.
    pub fn concurrency(&self) -> usize {
        self.pace.concurrency
    }
}

impl Arguments {
    /// What is meant.
    ///
    /// # Errors
    /// [`Invalid`] names the flag and variable of a value out of range.
    pub fn check(self) -> Result<Task, Invalid> {
        match self.task {
            Some(TypedTask::Compare(options)) => options.check().map(Task::Compare),
            None => self.service.check().map(|config| Task::Serve(Box::new(config))),
        }
    }
}

impl ServiceArguments {
    fn check(self) -> Result<Config, Invalid> {
        let names = Names::prefixed("SHADOW_");
        names.differ(("addr", self.addr), ("admin-addr", self.admin_addr))?;
        Ok(Config {
            addr: self.addr,
            admin_addr: self.admin_addr,
            new_url: self.new_url,
            old_url: self.old_url,
            queue_length: self.queue_length as usize,
            pace: Pace {
                concurrency: self.concurrency as usize,
                max_per_second: self.max_per_second,
            },
            request_timeout: names.longer_than_0("request-timeout", self.request_timeout)?,
            keep_text: self.keep_text,
            serving: Serving {
                service: "shadow",
                timeouts: TIMEOUTS,
                max_connections: MAX_CONNECTIONS,
                shutdown_delay: Duration::ZERO, // a mirrored request that finds nobody is no loss
                drain_timeout: self.drain_timeout,
            },
            log_level: self.log_level,
        })
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_readme_has_a_row_for_every_setting() {
        let readme = include_str!("../README.md");
        let command = Arguments::command();
        let settings: Vec<_> =
            command.get_arguments().filter(|argument| argument.get_env().is_some()).collect();
        for setting in &settings {
            let flag = setting.get_long().unwrap();
            let variable = setting.get_env().unwrap().to_str().unwrap();
            let default = setting.get_default_values()[0].to_str().unwrap();
            let row = format!("| `--{flag}` | `{variable}` | {default} |");
            assert!(readme.contains(&row), "README.md has no row {row}");
            assert_eq!(Names::prefixed("SHADOW_").of(flag), format!("--{flag} ({variable})"));
        }
        assert_eq!(readme.matches("| `--").count(), settings.len());
    }
}
