//! `stack`: the whole stack on this machine.

mod commands;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match commands::Arguments::parse().run() {
        Ok(code) => code,
        Err(error) => {
            for line in format!("{error:#}").lines() {
                eprintln!("stack: {line}");
            }
            ExitCode::FAILURE
        }
    }
}
