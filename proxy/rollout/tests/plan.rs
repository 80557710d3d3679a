//! `carve plan` with the traffic that a real Prometheus has counted.

use std::thread;
use std::time::Duration;

use crate::support;
use crate::support::Place;
use crate::support::prometheus::{Measured, Traffic};

#[test]
fn it_says_how_long_each_step_takes_and_proposes_steps_that_end_in_time() {
    let place = Place::with(&support::routes());
    assert!(place.fails(1, &["plan", "qrcode"]).contains("Prometheus at"));
    let measured = Measured::start(&place);
    measured.wait_until_scraped(&place);
    let never = place.run(&["plan", "qrcode", "--past", "2s"]);
    assert_eq!(never.status.code(), Some(4), "{}", support::stdout(&never));
    assert!(support::stdout(&never).contains("    1%  never ends\n"));
    let unshadowed = support::stdout(&place.run(&["plan", "report", "--past", "2s"]));
    let warning = "  warning: shadow.percent is 0, so a run waits for ever for comparisons, ";
    assert!(unshadowed.contains(warning), "{unshadowed}");

    measured.set(Traffic { matches: 20.0, ..Traffic::FINE });
    thread::sleep(Duration::from_secs(5));
    let said =
        place.succeeds(&["plan", "qrcode", "--past", "4s", "--steps", "1,25", "--within", "40m"]);
    let rate = |said: &str| -> f64 {
        let (_, rate) = said.lines().next().unwrap().split_once("had ").unwrap();
        rate.split(' ').next().unwrap().parse().unwrap()
    };
    assert!((600.0..1000.0).contains(&rate(&said)), "{said}");
    let step = said.lines().find_map(|line| line.strip_prefix("   25%  ")).unwrap();
    assert_eq!(step, "1m", "{said}");
    let last = said.lines().last().unwrap();
    assert!(last.starts_with("Within 40m: carve ramp qrcode --steps 1,25 --hold '"), "{said}");
    // Two seconds are not even enough for the proof.
    let said =
        place.fails(4, &["plan", "qrcode", "--past", "4s", "--hold", "1s", "--within", "2s"]);
    assert_eq!(said, "", "{said}");
}
