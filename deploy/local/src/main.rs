//! `stack`: runs the whole stack on this machine.

mod commands;

use std::process::ExitCode;

fn main() -> ExitCode {
    match service_kit::arguments::parse::<commands::Arguments>().run() {
        Ok(code) => code,
        Err(error) => {
            for line in format!("{error:#}").lines() {
                eprintln!("stack: {line}");
            }
            ExitCode::FAILURE
        }
    }
}
