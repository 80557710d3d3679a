use clap::Command;
use service_kit::testing::help_explains_settings;

use super::*;

#[test]
fn help_explains_every_setting() {
    let command = Arguments::augment_args(Command::new("shadow"));
    help_explains_settings(&command, "SHADOW_");
}
