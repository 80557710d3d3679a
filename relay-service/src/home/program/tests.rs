use clap::CommandFactory;
use service_kit::testing::help_explains_settings;

use super::*;

#[test]
fn a_side_may_be_named() {
    let named = resolved("localhost:3003").expect("an address");
    assert!(named.ip().is_loopback() && named.port() == 3003, "{named}");
    assert!(resolved("localhost").is_err() && resolved("127.0.0.1").is_err());
}

#[test]
fn a_home_does_not_ask_itself() {
    let own = uname().nodename().to_string_lossy().into_owned();
    let addr = SocketAddr::from(([127, 0, 0, 1], 1));
    let all = [format!("{own}:42093"), format!("{own}:42095"), "relay-home-1:42093".to_owned()];
    let all = all.map(|name| Other { name, addr }).to_vec();
    assert_eq!(without_own(all, "0.0.0.0:42093".parse().expect("an address")).len(), 2);
}

#[test]
fn help_explains_every_setting() {
    help_explains_settings(&Arguments::command(), "HOME_");
}
