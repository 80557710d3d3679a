//! `qr-draw`: text to a QR code as PNG, SVG, PDF, EPS, PBM or text.

mod definition;
mod encoding;
mod half_blocks;
mod input;
mod logo;
mod options;
mod output;
mod picture;

use std::process::ExitCode;

use anstream::eprintln;
use options::{Options, Task};

fn main() -> ExitCode {
    let task = match service_kit::arguments::parse::<Options>().check() {
        Ok(task) => task,
        Err(error) => {
            eprintln!("qr-draw: {error}");
            return ExitCode::from(service_kit::arguments::USAGE);
        }
    };
    match run(&task) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            if !output::is_closed_pipe(&error) {
                eprintln!("qr-draw: {error:#}");
            }
            ExitCode::FAILURE
        }
    }
}

fn run(task: &Task) -> anyhow::Result<()> {
    match task {
        Task::Picture { source, picture, target } => {
            let input = input::read(source, picture.encoding.most_symbols())?;
            target.write(&picture.draw(input.data())?)
        }
        Task::Completions(shell) => output::Target::Stdout.write(&[options::completions(*shell)]),
        Task::Manual => output::Target::Stdout.write(&[options::manual()?]),
    }
}
