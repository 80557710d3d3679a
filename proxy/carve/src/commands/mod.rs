//! The command line: one file per command, or per group of commands that share what they know.

mod apply;
mod beside;
mod compare;
mod contract;
mod doctor;
mod judge;
mod plan;
mod ramp;
mod render;
mod rollback;
mod serve;
mod split;
mod status;
mod up;
mod with;

use std::process::ExitCode;

use anstream::print;
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::Shell;
use service_kit::arguments::Usage;

/// Moves one route of an app from an old server to a new one: by hand, or step by step with gates and rollback
#[derive(Parser, Debug)]
#[command(name = "carve", version, max_term_width = 100)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Start nginx, the counting, the comparing and Prometheus around two servers, and wait until all are ready;
    /// without --old and --new, this project's own two servers too
    Up(Box<up::Up>),
    /// Make what runs follow the route files and carve.toml as they are now; a mistake changes nothing
    Apply(apply::Apply),
    /// Stop everything; data stays
    Down(up::Down),
    /// Start the parts of a run folder, and start again what ends; `up` starts it
    #[command(hide = true)]
    Supervise(up::Supervise),
    /// Show what runs, and of each route the share, the run and its gates; exits with 3 unless every part is ready
    Status(status::Status),
    /// Stop, start or restart one of the parts
    Part(up::OnPart),
    /// Print the ends of the logs
    Logs(up::Logs),
    /// Run a command beside a stack on free ports, which ends with the command
    #[command(hide = true)]
    With(Box<with::With>),
    /// Set the new side's share of a route; returns once nginx serves it
    Split(split::Split),
    /// Say how long each step of a ramp takes with the traffic of the last day, and propose steps that end in time
    Plan(plan::Plan),
    /// Raise the share of a route step by step, with gates; resumes an unfinished run
    Ramp(ramp::Ramp),
    /// Keep a run at its step; a gate may still roll it back
    Pause(ramp::Pause),
    /// Resume a run, with its step from the beginning; starts its process again if that has ended
    Resume(ramp::Resume),
    /// End a run, back at its start share or at the old side
    Abort(ramp::Abort),
    /// Send every new request of a route to the old side at once, whatever holds the lock or hangs; until `clear`
    Rollback(rollback::Rollback),
    /// End what `rollback` began; the share is 0 then
    Clear(rollback::Clear),
    /// Say what the tests would have decided on counts of the past, and when
    Judge(judge::Judge),
    /// Ask both sides each path and query of a file, and say what differs
    Compare(compare::Compare),
    /// Ask an app directly and through the proxy, and say what differs
    Doctor(doctor::Doctor),
    /// Check a server against the contract of GET /qrcode, or against the cases of another route
    Contract(contract::Contract),
    /// Write what nginx includes for the route files
    Render(Box<render::Render>),
    /// Check every route file of a folder
    Check(render::Check),
    /// Write the JSON Schema of a route file
    Schema(render::Schema),
    /// Before nginx starts: make the folders of its routes, with their splits
    Prepare(beside::Prepare),
    /// Count the requests in the access log of the nginx beside it, by route and side, and write them as JSON lines
    Edge(edge::Arguments),
    /// Send the requests that nginx mirrors to both sides of their route, and compare the answers
    Shadow(Box<::compare::Arguments>),
    /// Send the runs back that have been silent for their lease; runs beside nginx
    Watch(beside::Watch),
    /// Keep this nginx at the cluster's splits; runs beside each proxy
    Follow(beside::Follow),
    /// Carry out the runs of a cluster, and resume what another process has let go of
    Serve(serve::Serve),
    /// Keep a copy of the cluster's splits for a `follow` without a token, whose RAMP_KUBERNETES_URL is file:FILE
    Copy(beside::Copy),
    /// Print the completions for a shell
    #[command(after_help = "Example:\n  carve completions bash >carve.bash && . ./carve.bash")]
    Completions {
        /// The shell
        shell: Shell,
    },
}

impl Command {
    /// The exit code if the command fails: 1 of `compare`, `contract` and `doctor` means a difference.
    pub(crate) fn failure(&self) -> u8 {
        match self {
            Command::Compare(_) | Command::Contract(_) | Command::Doctor(_) => 2,
            _ => 1,
        }
    }

    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        match self {
            Command::Up(command) => command.run(),
            Command::Apply(command) => command.run().map(done),
            Command::Down(command) => command.run(),
            Command::Supervise(command) => command.run().map(done),
            Command::Status(command) => command.run(),
            Command::Part(command) => command.run().map(done),
            Command::Logs(command) => command.run(),
            Command::With(command) => command.run(),
            Command::Split(command) => command.run(),
            Command::Plan(command) => command.run(),
            Command::Ramp(command) => command.run(),
            Command::Pause(command) => command.run(),
            Command::Resume(command) => command.run(),
            Command::Abort(command) => command.run(),
            Command::Rollback(command) => command.run(),
            Command::Clear(command) => command.run(),
            Command::Judge(command) => command.run(),
            Command::Compare(command) => command.run(),
            Command::Doctor(command) => command.run(),
            Command::Contract(command) => command.run(),
            Command::Render(command) => command.run().map(done),
            Command::Check(command) => command.run().map(done),
            Command::Schema(command) => command.run().map(done),
            Command::Prepare(command) => command.run().map(done),
            Command::Edge(arguments) => edge::run(arguments).map(done),
            Command::Shadow(arguments) => {
                ::compare::run(arguments.check().map_err(Usage)?).map(done)
            }
            Command::Watch(command) => command.run().map(done),
            Command::Follow(command) => command.run().map(done),
            Command::Serve(command) => command.run().map(done),
            Command::Copy(command) => command.run().map(done),
            Command::Completions { shell } => {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut Arguments::command(), "carve", &mut script);
                print!("{}", String::from_utf8_lossy(&script));
                Ok(ExitCode::SUCCESS)
            }
        }
    }
}

fn done((): ()) -> ExitCode {
    ExitCode::SUCCESS
}

#[cfg(test)]
mod tests;
