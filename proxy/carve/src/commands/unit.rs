//! `carve unit` prints a systemd unit, so that a machine that boots has its proxy.

use std::env;
use std::ffi::OsString;

use anstream::print;
use anyhow::{anyhow, ensure};
use clap::Args;
use rustix::process::{getgid, getuid};

use super::up::Up;

/// The unit, without what depends on the stack.
const UNIT: &str = include_str!("carve.service");
/// Variables that the unit copies, by the beginnings of their names. Anybody may read a unit, so [`SECRET`] is left out.
const COPIED: [&str; 5] = ["EDGE_", "NGINX_", "RAMP_", "SHADOW_", "STACK_"];
const SECRET: &str = "RAMP_WEBHOOKS";
/// A user other than root needs a capability for the ports below this one.
const FIRST_FREE_PORT: u16 = 1024;
const CAPABILITY: &str = "AmbientCapabilities=CAP_NET_BIND_SERVICE\n";

const EXAMPLES: &str = "\
Example:
  carve unit routes --old http://127.0.0.1:4000 --new http://127.0.0.1:4001 >carve.service
  sudo cp carve.service /etc/systemd/system/ && sudo systemctl enable --now carve";

/// The arguments and variables are those of `carve up`.
#[derive(Args, Debug)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Unit {
    #[command(flatten)]
    up: Up,
}

impl Unit {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let settings = self.up.unit_settings()?;
        let here = text(env::current_dir()?.into())?;
        ensure!(here.trim() == here && !here.contains('\n'), "{here:?} cannot stand in a unit");
        let mut command =
            format!("{} up --foreground", quoted(&text(settings.carve.clone().into())?));
        for word in env::args_os().skip(2) {
            command += &format!(" {}", quoted(&text(word)?).replace('$', "$$"));
        }
        let is_copied = |name: &str| {
            name == "PATH" || name != SECRET && COPIED.iter().any(|it| name.starts_with(it))
        };
        let texts = |(name, value): (OsString, OsString)| {
            Some((name.into_string().ok()?, value.into_string().ok()?))
        };
        let variables = env::vars_os().filter_map(texts).filter(|(name, _)| is_copied(name));
        let mut variables: Vec<String> = variables
            .map(|(name, value)| format!("Environment={}", quoted(&format!("{name}={value}"))))
            .collect();
        variables.sort();
        let mut ports = settings.listeners()?.into_iter().map(|(_, address, _)| address.port());
        let capability = if ports.any(|port| port < FIRST_FREE_PORT) { CAPABILITY } else { "" };
        let unit = UNIT
            .replace("{user}", &getuid().as_raw().to_string())
            .replace("{group}", &getgid().as_raw().to_string())
            .replace("{capability}", capability)
            .replace("{folder}", &here.replace('%', "%%"))
            .replace("{environment}", &variables.join("\n"))
            .replace("{command}", &command);
        print!("{unit}");
        Ok(())
    }
}

fn text(word: OsString) -> anyhow::Result<String> {
    word.into_string().map_err(|word| anyhow!("{word:?} is not UTF-8, as a unit must be"))
}

/// A word of a line of a unit, in quotes and without its specifiers.
fn quoted(word: &str) -> String {
    let word = word.replace('\\', r"\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{}\"", word.replace('%', "%%"))
}
