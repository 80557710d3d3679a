//! `stack`: runs the whole stack on this machine.

mod commands;

use std::process::ExitCode;

use anstream::eprintln;

fn main() -> ExitCode {
    let arguments = service_kit::arguments::parse::<commands::Arguments>();
    let failure = arguments.failure();
    match arguments.run() {
        Ok(code) => code,
        Err(error) => {
            for line in format!("{error:#}").lines() {
                eprintln!("stack: {line}");
            }
            failure
        }
    }
}
