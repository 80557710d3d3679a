//! Values that can be read, and still cannot be meant.

use std::error::Error;
use std::fmt;
use std::net::SocketAddr;
use std::time::Duration;

/// A time as people write it: `10s`, `1m 30s`, `250ms`. For `value_parser`.
///
/// # Errors
/// What is wrong with it.
pub fn time(value: &str) -> Result<Duration, humantime::DurationError> {
    humantime::parse_duration(value)
}

/// A value that cannot be meant, in a line.
#[derive(Debug, PartialEq, Eq)]
pub struct Invalid(String);

impl Invalid {
    /// The line, which is to name the setting.
    pub fn new(line: impl Into<String>) -> Self {
        Invalid(line.into())
    }
}

impl fmt::Display for Invalid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Invalid {}

/// Names settings in errors: a flag's variable is a prefix and the flag in capitals.
#[derive(Clone, Copy, Debug)]
pub struct Names(&'static str);

impl Names {
    /// The names of a program whose variables begin with `prefix`.
    pub fn prefixed(prefix: &'static str) -> Self {
        Names(prefix)
    }

    /// Flag and variable.
    pub fn of(self, flag: &str) -> String {
        format!("--{flag} ({}{})", self.0, flag.to_ascii_uppercase().replace('-', "_"))
    }

    /// A count.
    ///
    /// # Errors
    /// Where it is 0.
    pub fn at_least_1(self, flag: &str, value: usize) -> Result<usize, Invalid> {
        match value {
            0 => Err(Invalid(format!("{} must be at least 1, not 0", self.of(flag)))),
            value => Ok(value),
        }
    }

    /// A time that something may take.
    ///
    /// # Errors
    /// Where it is 0.
    pub fn longer_than_0(self, flag: &str, value: Duration) -> Result<Duration, Invalid> {
        match value {
            Duration::ZERO => Err(Invalid(format!("{} must be longer than 0", self.of(flag)))),
            value => Ok(value),
        }
    }

    /// Two addresses that are both listened on.
    ///
    /// # Errors
    /// Where they are the same; port 0 is another each time.
    pub fn differ(
        self,
        (one, address): (&str, SocketAddr),
        (other, other_address): (&str, SocketAddr),
    ) -> Result<(), Invalid> {
        if address == other_address && address.port() != 0 {
            let (one, other) = (self.of(one), self.of(other));
            return Err(Invalid(format!("{other} must differ from {one}, both are {address}")));
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_out_of_range_is_named_with_flag_and_variable() {
        let names = Names::prefixed("QR_");
        let said = |invalid: Invalid| invalid.to_string();
        assert_eq!(names.at_least_1("max-in-flight", 1), Ok(1));
        assert_eq!(
            names.at_least_1("max-in-flight", 0).map_err(said),
            Err("--max-in-flight (QR_MAX_IN_FLIGHT) must be at least 1, not 0".to_owned())
        );
        assert_eq!(
            names.longer_than_0("idle-timeout", Duration::ZERO).map_err(said),
            Err("--idle-timeout (QR_IDLE_TIMEOUT) must be longer than 0".to_owned())
        );
        let (free, taken) = (([127, 0, 0, 1], 0).into(), ([127, 0, 0, 1], 80).into());
        assert_eq!(names.differ(("addr", free), ("admin-addr", free)), Ok(()));
        assert_eq!(
            names.differ(("addr", taken), ("admin-addr", taken)).map_err(said),
            Err("--admin-addr (QR_ADMIN_ADDR) must differ from --addr (QR_ADDR), \
                 both are 127.0.0.1:80"
                .to_owned())
        );
    }
}
