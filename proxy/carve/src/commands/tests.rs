use super::*;

#[test]
fn each_command_has_a_name_of_its_own_and_an_example() {
    let mut command = Arguments::command();
    command.build();
    command.clone().debug_assert();
    for command in command.get_subcommands().filter(|command| !command.is_hide_set()) {
        let name = command.get_name();
        let example = command.get_after_help().map(ToString::to_string).unwrap_or_default();
        assert!(
            name == "help" || example.contains(&format!("  carve {name}")),
            "{name}: {example}"
        );
    }
}
