#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use clap::CommandFactory;

use super::*;

/// A new option gets a flag automatically. An option in [`OWN`] must have the flag listed there.
#[test]
fn every_option_of_the_definition_has_a_flag() {
    let command = crate::options::Options::command();
    let has = |flag: &str| {
        let is = |it: &Arg| it.get_long().is_some_and(|long| flag == format!("--{long}"));
        command.get_arguments().any(is)
    };
    for Definition { name, .. } in Options::DEFINITIONS {
        let flag = flag_of(name);
        assert!(flag == "TEXT" || has(&flag), "{name}: {flag}");
    }
}

#[test]
fn the_list_of_own_flags_has_only_options_of_the_definition() {
    let of = |name: &str| Options::DEFINITIONS.iter().find(|it| it.name == name);
    for (name, _) in &OWN {
        assert!(of(name).is_some(), "{name}");
    }
    assert_eq!(of("shape").unwrap().names(), ["square", "dots", "rounded"]);
}
