use clap::CommandFactory;
use service_kit::testing::help_explains_settings;

use super::*;

#[test]
fn help_explains_every_setting() {
    help_explains_settings(&Arguments::command(), "RELAY_");
}
