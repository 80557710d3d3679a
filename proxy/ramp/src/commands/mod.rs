//! The command line: one file per command.

mod place;
mod proxy;
mod run;
#[cfg(feature = "serve")]
mod serve;
mod set;
mod signals;
mod simulate;
mod status;
mod stop;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

const EXIT_CODES: &str = "Exit codes: 0 done; 1 failed, the split is unchanged; 2 invalid arguments; \
    3 a gate failed, back at the start share; 4 inconclusive, the share stays; \
    5 aborted or stopped; 128 and the signal's number if a signal ended it.";

/// Moves the traffic of a route to the new side: by hand, or step by step with gates and rollback.
#[derive(Parser, Debug)]
#[command(name = "ramp", version, after_help = EXIT_CODES)]
pub(crate) struct Arguments {
    #[command(flatten)]
    place: place::Place,
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand, Debug)]
enum Command {
    /// Show the share, the run's step and verdict, and the holder of the lock
    Status,
    /// Set the share; returns once nginx serves it
    Set(set::Set),
    /// Send every new request to the old side at once, whatever holds the lock or hangs; until `clear`
    Stop(stop::Stop),
    /// End a stop; the share is 0 then
    Clear(stop::Clear),
    /// Raise the share step by step; resumes an unfinished run
    Run(run::Run),
    /// Keep the run at its step; a gate may still roll it back
    Pause,
    /// Resume the run, with its step from the beginning; starts its process again if that has ended
    Resume(run::Pace),
    /// End the run, back at its start share or at the old side
    Abort(run::Abort),
    /// How often the tests would roll back equal sides, and how soon they catch worse ones: thousands of
    /// ramps on made-up counts
    Simulate(simulate::Simulate),
    /// Before nginx starts: make the folders of its routes, with their splits
    Prepare(proxy::Prepare),
    /// Send the runs back that have been silent for their lease; runs beside nginx
    Watch,
    /// Carry out the runs of a cluster, and resume what another process has let go of
    #[cfg(feature = "serve")]
    Serve(serve::Serve),
    /// Keep this nginx at the cluster's splits; runs beside each proxy
    Follow(proxy::Follow),
    /// Keep a copy of the cluster's splits for a `follow` without a token, whose RAMP_KUBERNETES_URL is file:FILE
    Copy(proxy::Copy),
}

impl Arguments {
    pub(crate) fn run(self) -> anyhow::Result<ExitCode> {
        let place = &self.place;
        match self.command {
            Command::Status => status::status(&*place.nginx()?),
            Command::Set(set) => set.run(&*place.nginx()?),
            Command::Stop(stop) => stop.run(&*place.nginx()?),
            Command::Clear(clear) => clear.run(&*place.nginx()?),
            Command::Run(run) => run.run(place, &*place.nginx()?),
            Command::Pause => run::pause(&*place.nginx()?),
            Command::Resume(pace) => run::resume(place, &*place.nginx()?, &pace),
            Command::Abort(abort) => abort.run(place, &*place.nginx()?),
            Command::Simulate(simulate) => simulate.run(),
            Command::Prepare(prepare) => prepare.run(place),
            Command::Watch => proxy::watch(place),
            #[cfg(feature = "serve")]
            Command::Serve(serve) => serve.run(place),
            Command::Follow(follow) => follow.run(place),
            Command::Copy(copy) => copy.run(place),
        }
    }
}
