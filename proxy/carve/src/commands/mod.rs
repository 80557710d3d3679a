//! The command line: one file per command, or per group of related commands.

mod beside;
mod compare;
mod contract;
mod doctor;
mod judge;
mod plan;
mod ramp;
mod render;
mod retire;
mod rollback;
mod serve;
mod split;
mod status;
mod unit;
mod up;
mod verdict;
mod with;

use std::process::{ExitCode, Termination};

use anstream::print;
use clap::{Args, CommandFactory, Parser, Subcommand};
use clap_complete::Shell;

/// Moves one route of an app from an old server to a new one: by hand, or step by step with gates and rollback
#[derive(Parser, Debug)]
#[command(name = "carve", version, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Declares the commands: the subcommands of the program, each with the type that runs it.
macro_rules! commands {
    ($($(#[$attribute:meta])* $name:ident($command:ty),)*) => {
        #[derive(Subcommand, Debug)]
        pub(crate) enum Command {
            $($(#[$attribute])* $name($command),)*
        }

        impl Command {
            pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
                match self {
                    $(Command::$name(command) => command.run().map(Termination::report),)*
                }
            }
        }
    };
}

commands! {
    /// Start nginx, Prometheus and the parts that count and compare, around two servers, and wait until all are ready;
    /// with --parts, also start the programs of a file
    Up(Box<up::Up>),
    /// Apply the current route files and carve.toml to the running stack; a mistake in one of them changes nothing
    Apply(up::Apply),
    /// Print a systemd unit that runs `up`, so that a machine that boots has its proxy
    Unit(Box<unit::Unit>),
    /// Stop everything; data stays
    Down(up::Down),
    /// Start the parts of a run folder, and restart those that end; `up` runs this command
    #[command(hide = true)]
    Supervise(up::Supervise),
    /// Show the parts, and the share, run and gates of each route; exits with 3 unless every part is ready
    Status(status::Status),
    /// Stop, start or restart one of the parts
    Part(up::OnPart),
    /// Print the ends of the logs
    Logs(up::Logs),
    /// Run a command beside a stack on free ports; the stack ends with the command
    #[command(hide = true)]
    With(Box<with::With>),
    /// Set the new side's share of a route; returns once nginx serves it
    Split(split::Split),
    /// Estimate how long each step of a ramp takes with the traffic of the last day; with --within, propose steps
    Plan(plan::Plan),
    /// Raise the share of a route step by step, with gates; resumes an unfinished run
    Ramp(ramp::Ramp),
    /// Hold a run at its step; a gate may still roll it back
    Pause(ramp::Pause),
    /// Resume a run from the beginning of its step; restarts its process if that has ended
    Resume(ramp::Resume),
    /// End a run and return to its start share, or to 0% with --to-old
    Abort(ramp::Abort),
    /// Send every new request of a route to the old side at once, even if the lock is held or a process hangs; until
    /// `clear`
    Rollback(rollback::Rollback),
    /// End a rollback; the share is then 0
    Clear(rollback::Clear),
    /// Show what still reaches the old side of a route, and whether its code can go; the last step
    Retire(retire::Retire),
    /// Show what the gates would have decided on past counts, and when
    Judge(judge::Judge),
    /// Send each request of a file to both sides, and report the differences
    Compare(compare::Compare),
    /// Send requests to an app directly and through the proxy, and report the differences
    Doctor(doctor::Doctor),
    /// Check a server against the contract of GET /qrcode, or against the cases of another route
    Contract(contract::Contract),
    /// Write the nginx configuration of the route files
    Render(Box<render::Render>),
    /// Check every route file of a folder
    Check(render::Check),
    /// Write the JSON Schema of a route file
    Schema(render::Schema),
    /// Create the folders and splits of nginx' routes; run it before nginx starts
    Prepare(beside::Prepare),
    /// Count the requests in nginx' access log by route and side, and write them as JSON lines; runs beside nginx
    Edge(edge::Arguments),
    /// Send the requests that nginx mirrors to both sides of their route, and compare the answers
    Shadow(Box<::compare::Arguments>),
    /// Send a route back to the old side if its run has been silent for its lease; runs beside nginx
    Watch(beside::Watch),
    /// Apply the cluster's splits to this nginx as they change; runs beside each proxy
    Follow(beside::Follow),
    /// Carry out the runs of a cluster, and take over the runs of a process that has ended
    Serve(serve::Serve),
    /// Keep a copy of the cluster's splits for a `follow` without a token, whose RAMP_KUBERNETES_URL is file:FILE
    Copy(beside::Copy),
    /// Print the completions for a shell
    Completions(Completions),
}

impl Command {
    /// The exit code if the command fails: 2 for `compare`, `contract` and `doctor`, where 1 means a difference.
    pub(crate) fn failure(&self) -> u8 {
        match self {
            Command::Compare(_) | Command::Contract(_) | Command::Doctor(_) => 2,
            _ => 1,
        }
    }
}

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  carve completions bash >carve.bash && . ./carve.bash")]
pub(crate) struct Completions {
    /// The shell
    shell: Shell,
}

impl Completions {
    fn run(self) -> anyhow::Result<()> {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Arguments::command(), "carve", &mut script);
        print!("{}", String::from_utf8_lossy(&script));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
