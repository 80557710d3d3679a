use clap::CommandFactory;
use service_kit::testing::help_explains_settings;

use super::*;

#[test]
fn help_explains_every_setting() {
    help_explains_settings(&Arguments::command(), "RELAY_");
}

#[test]
fn the_listener_treats_clients_as_the_settings_say() {
    let serving = |args: &str| {
        Arguments::parse_from(["relay-service"].into_iter().chain(args.split(' '))).serving()
    };
    let it = serving("--header-timeout 2s --drain-timeout 3s --max-connections 7").expect("fits");
    let seconds = [it.idle_timeout, it.drain_timeout].map(|time| time.as_secs());
    assert_eq!((seconds, it.max_connections), ([2, 3], 7));
    assert_eq!((it.protocol, it.half_close), (Protocol::Http1And2, false));
    assert_eq!(it.write_timeout, None);
    assert!(serving("--admin-addr 127.0.0.1:42090").is_err(), "one address for both listeners");
}
