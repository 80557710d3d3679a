//! `ramp status`.

use std::process::ExitCode;

use anstream::{print, println};
use ramp::state::State;
use ramp::{Nginx, Split};

pub(super) fn status(nginx: &Nginx) -> anyhow::Result<ExitCode> {
    let split = ramp::current(&nginx.route_dir())?;
    println!("route   {}", nginx.route);
    let described = |split: &Split| described(nginx, split);
    println!("share   {}", described(&split));
    println!("served  {}", served(nginx, &split));
    match ramp::in_force(nginx) {
        Ok(None) => {}
        Ok(Some(stop)) => println!("{}; all of it goes to the old side", stop.said()),
        Err(error) => println!("stopped ? {error:#}"),
    }
    let holder = nginx.holder()?;
    if let Some(before) = ramp::pending(&nginx.route_dir()) {
        let state = if holder.is_some() { "in progress" } else { "interrupted" };
        println!("change  {state}; before it: {}", described(&before));
    }
    match State::load(&nginx.route_dir())? {
        Some(run) => {
            let ended = run.phase.is_unfinished() && holder.is_none();
            println!("run     {run}{}", if ended { "; its process has ended" } else { "" });
            if let Some(judgement) = &run.judgement {
                println!("verdict {}", judgement.verdict.as_str());
                print!("{}", ramp::lines(judgement));
            }
        }
        None => println!("run     none"),
    }
    println!("holder  {}", holder.as_deref().unwrap_or("none"));
    Ok(ExitCode::SUCCESS)
}

fn described(nginx: &Nginx, split: &Split) -> String {
    let Split { share_percent, key, mirror_percent, .. } = split;
    if nginx.is_of_sessions() {
        return format!("{share_percent}% of the sessions to the new side");
    }
    format!("{share_percent}% of {key} to the new side; {mirror_percent}% mirrored")
}

fn served(nginx: &Nginx, split: &Split) -> String {
    match nginx.served() {
        Ok(served) if served == *split => "the same".to_owned(),
        Ok(served) => described(nginx, &served),
        Err(error) => format!("{error:#}"),
    }
}
