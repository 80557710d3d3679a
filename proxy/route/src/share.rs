//! A share of the traffic in percent.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, ensure};
use serde::{Deserialize, Serialize};

/// A share in percent, 0 to 100, in steps of 0.01, the finest that nginx accepts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "f64", into = "f64")]
pub struct Share {
    hundredths: u16,
}

impl Share {
    /// 0%.
    pub const NONE: Share = Share { hundredths: 0 };
    /// 100%.
    pub const ALL: Share = Share { hundredths: 10_000 };

    /// A share in whole percent. Fails if `percent` is above 100.
    pub fn percent(percent: u16) -> anyhow::Result<Self> {
        ensure!(percent <= 100, "{percent}: must be 0 to 100 percent");
        Ok(Share { hundredths: percent * 100 })
    }
}

impl FromStr for Share {
    type Err = anyhow::Error;

    fn from_str(text: &str) -> anyhow::Result<Self> {
        let problem = || format!("{text:?}: must be 0 to 100 percent, with at most two decimals");
        let (whole, decimals) = text.split_once('.').unwrap_or((text, "0"));
        let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
        ensure!(digits(whole) && digits(decimals) && decimals.len() <= 2, problem());
        let whole: u16 = whole.parse().with_context(problem)?;
        let decimals: u16 = format!("{decimals:0<2}").parse().with_context(problem)?;
        ensure!(whole < 100 || (whole == 100 && decimals == 0), problem());
        Ok(Share { hundredths: whole * 100 + decimals })
    }
}

impl fmt::Display for Share {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (whole, decimals) = (self.hundredths / 100, self.hundredths % 100);
        match decimals {
            0 => write!(f, "{whole}"),
            _ => write!(f, "{whole}.{decimals:02}"),
        }
    }
}

impl From<Share> for f64 {
    fn from(share: Share) -> f64 {
        f64::from(share.hundredths) / 100.0
    }
}

impl TryFrom<f64> for Share {
    type Error = anyhow::Error;

    fn try_from(percent: f64) -> anyhow::Result<Self> {
        percent.to_string().parse()
    }
}

#[cfg(test)]
mod tests;
