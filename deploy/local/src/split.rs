//! The Rust service's share of /qrcode: nginx' split.conf.

use std::fmt;
use std::fs;
use std::path::Path;
use std::str::FromStr;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};

use crate::settings::{Part, Settings};
use crate::supervisor::Supervisor;
use crate::{preflight, readiness};

/// A share in percent, 0 to 100, in steps of a hundredth.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Split {
    hundredths: u16,
}

impl Split {
    /// All of it.
    pub const ALL: Split = Split { hundredths: 10_000 };

    /// Whole percents.
    ///
    /// # Errors
    /// Above 100.
    pub fn percent(percent: u16) -> anyhow::Result<Self> {
        ensure!(percent <= 100, "{percent}: must be 0 to 100 percent");
        Ok(Split { hundredths: percent * 100 })
    }
}

impl FromStr for Split {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let problem = || format!("{text:?}: must be 0 to 100 percent, with two decimals at most");
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        ensure!(digits(whole) && digits(decimals) && decimals.len() <= 2, problem());
        let whole: u16 = whole.parse().with_context(problem)?;
        let decimals: u16 = format!("{decimals:0<2}").parse().with_context(problem)?;
        ensure!(whole < 100 || (whole == 100 && decimals == 0), problem());
        Ok(Split { hundredths: whole * 100 + decimals })
    }
}

impl fmt::Display for Split {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, decimals) = (self.hundredths / 100, self.hundredths % 100);
        match decimals {
            0 => write!(f, "{whole}"),
            _ => write!(f, "{whole}.{decimals:02}"),
        }
    }
}

/// What the hash that decides is made from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum SplitKey {
    /// One text, one implementation, so that caches agree.
    #[default]
    Text,
    /// One client address, one implementation.
    Address,
    /// Each request anew.
    Random,
}

impl SplitKey {
    fn variable(self) -> &'static str {
        match self {
            SplitKey::Text => "$arg_text",
            SplitKey::Address => "$remote_addr",
            SplitKey::Random => "$request_id",
        }
    }
}

/// The text of split.conf. nginx refuses `0%`, so 0 and 100 are `*` alone.
pub fn render(split: Split, key: SplitKey) -> String {
    let parts = match split.hundredths {
        0 => "    * legacy;".to_owned(),
        10_000 => "    * rust;".to_owned(),
        _ => format!("    {split}% rust;\n    * legacy;"),
    };
    format!(
        "# The Rust service's share of /qrcode is {split}%. Written by `stack`.\n\
         split_clients \"{}\" $qr_share {{\n{parts}\n}}\n",
        key.variable()
    )
}

/// The share that a split.conf of [`render`] gives.
pub fn parse(text: &str) -> Option<Split> {
    let lines: Vec<&str> =
        text.lines().map(str::trim).filter(|line| !line.starts_with('#')).collect();
    match lines.as_slice() {
        [_, "* legacy;", "}"] => Split::percent(0).ok(),
        [_, "* rust;", "}"] => Some(Split::ALL),
        [_, share, "* legacy;", "}"] => share.strip_suffix("% rust;")?.parse().ok(),
        _ => None,
    }
}

/// Writes the share, has nginx check it, and makes the running nginx take it over; returns when the
/// workers with the old share accept no more.
///
/// # Errors
/// What nginx says; then the old share is in force, and in the file.
pub fn change(settings: &Settings, supervisor: &Supervisor, split: Split) -> anyhow::Result<()> {
    let master = supervisor.pid_of(Part::Nginx)?.context("nginx is not running")?;
    let file = settings.nginx_dir().join("split.conf");
    let before = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    replace(&file, &render(split, settings.split_key))?;
    if let Err(error) = preflight::check_nginx(settings) {
        replace(&file, &before)?;
        return Err(error.context("the split stays as it was"));
    }
    let old_workers = children(master);
    supervisor.signal(Part::Nginx, "HUP")?;
    let deadline = Instant::now() + Duration::from_secs(10);
    while !old_workers.iter().all(|&worker| is_leaving(worker)) {
        if Instant::now() > deadline {
            replace(&file, &before)?;
            bail!("nginx did not take the new split over; see its log");
        }
        std::thread::sleep(readiness::POLL);
    }
    Ok(())
}

/// Beside, then renamed: nginx never reads half a file.
fn replace(file: &Path, text: &str) -> anyhow::Result<()> {
    let beside = file.with_extension("conf.new");
    fs::write(&beside, text).with_context(|| beside.display().to_string())?;
    fs::rename(&beside, file).with_context(|| file.display().to_string())
}

fn children(pid: u32) -> Vec<u32> {
    let list = fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
    list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// nginx' workers say in their title that they only finish what they have.
fn is_leaving(worker: u32) -> bool {
    fs::read(format!("/proc/{worker}/cmdline"))
        .map_or(true, |title| title.is_empty() || find(&title, b"shutting down"))
}

fn find(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|window| window == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_written_is_the_share_read() {
        for text in ["0", "0.01", "25", "99.99", "100"] {
            let split: Split = text.parse().expect("a share");
            assert_eq!(parse(&render(split, SplitKey::Random)), Some(split), "{text}");
        }
    }

    #[test]
    fn a_share_out_of_range_is_refused_by_value() {
        for text in ["101", "-1", "", "x", "1.234", "100.01", "99999999999", "1."] {
            let error = text.parse::<Split>().expect_err(text).to_string();
            assert!(error.contains(&format!("{text:?}")), "{error}");
        }
    }
}
