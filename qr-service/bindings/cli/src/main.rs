//! `qr-draw`: text to a QR code as PNG, SVG, PDF, EPS, PBM or text.

mod definition;
mod encoding;
mod input;
mod options;
mod output;
mod picture;

use std::process::ExitCode;

use options::{Options, Task};
use service_kit::arguments;

fn main() -> ExitCode {
    let outcome = match run(arguments::parse()) {
        // The reader of the pipe has gone, which needs no message.
        Err(error) if output::is_closed_pipe(&error) => Ok(ExitCode::FAILURE),
        outcome => outcome.map(|()| ExitCode::SUCCESS),
    };
    arguments::exit_code("qr-draw", outcome, 1)
}

fn run(options: Options) -> anyhow::Result<()> {
    match options.check()? {
        Task::Picture { source, picture, target } => {
            let content = input::read(&source, picture.most_symbols())?;
            target.write(&picture.draw(content)?)
        }
        Task::Completions(shell) => output::Target::Stdout.write(&[options::completions(shell)]),
        Task::Manual => output::Target::Stdout.write(&[options::manual()?]),
    }
}
