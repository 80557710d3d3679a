//! Makes flags from the definition of the options, which the service and all bindings share.
//!
//! Options that `qr-draw` had before keep the flags in [`OWN`], because scripts rely on their limits, defaults and
//! formats. Every other option gets a flag of its name, with the description, limits and values of the definition.

use std::sync::LazyLock;

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use qr_options::fault::Fault;
use qr_options::options::Options;
use qr_options::{Definition, check_value, read_values};

/// Options, and `qr-draw`'s own flags or arguments for them.
const OWN: [(&str, &str); 23] = [
    ("text", "TEXT"),
    ("data", "--bytes"),
    ("kind", "--rmqr"),
    ("level", "--level"),
    ("boost", "--boost"),
    ("version_min", "--symbol-version"),
    ("version_max", "--symbol-version"),
    ("mask", "--mask"),
    ("mode", "--mode"),
    ("eci", "--eci"),
    ("gs1", "--gs1"),
    ("part", "--structured"),
    ("format", "--format"),
    ("margin", "--margin"),
    ("size", "--size"),
    ("scale", "--scale"),
    ("width_mm", "--width-mm"),
    ("dark", "--dark"),
    ("light", "--light"),
    // The flag takes a file, the option its bytes.
    ("logo", "--logo"),
    ("style", "--format"),
    ("title", "--title"),
    ("filename", "--output"),
];

/// Options whose flags need another flag, or exclude others.
const NEEDS: [(&str, &str); 3] =
    [("rmqr_height", "rmqr"), ("rmqr_width", "rmqr"), ("logo_size", "logo")];
const EXCLUDES: [(&str, &[&str]); 2] =
    [("shape", &["micro", "rmqr"]), ("finder_shape", &["micro", "rmqr"])];

/// A flag made from the definition of an option.
struct Flag {
    definition: &'static Definition,
    long: String,
    help: String,
}

static FLAGS: LazyLock<Vec<Flag>> = LazyLock::new(|| {
    let is_own = |name: &str| OWN.iter().any(|(own, _)| *own == name);
    let others = Options::DEFINITIONS.iter().filter(|it| !is_own(it.name));
    others
        .map(|definition| Flag {
            definition,
            long: definition.name.replace('_', "-"),
            help: help_of(definition),
        })
        .collect()
});

fn help_of(definition: &Definition) -> String {
    let lines: Vec<&str> = definition.description.iter().map(|line| line.trim()).collect();
    let text = lines.join(" ").replace("`txt`", "utf8 and ascii").replace('`', "");
    let default = match definition.name {
        // These formats have always had different defaults.
        "ink" => Some("light for utf8, dark for ascii"),
        _ => definition.default_value(),
    };
    match default {
        Some(default) => format!("{} [default: {default}]", text.trim_end_matches('.')),
        None => text.trim_end_matches('.').to_owned(),
    }
}

/// The values of these flags, by the names of the options.
#[derive(Clone, Debug, Default)]
pub(crate) struct Defined(Vec<(String, String)>);

impl Defined {
    pub(crate) fn options(&self) -> Result<Options, Vec<Fault>> {
        read_values(self.0.clone())
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Args for Defined {
    fn augment_args(command: Command) -> Command {
        command.args(FLAGS.iter().map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Defined {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = FLAGS.iter().filter_map(|Flag { definition, .. }| {
            let value = matches.get_one::<String>(definition.name)?;
            Some((definition.name.to_owned(), value.clone()))
        });
        Ok(Defined(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn argument(flag: &'static Flag) -> Arg {
    let name = flag.definition.name;
    let names = flag.definition.names();
    let mut argument = Arg::new(name).long(flag.long.as_str()).help(flag.help.as_str());
    for (_, needed) in NEEDS.iter().filter(|(of, _)| *of == name) {
        argument = argument.requires(*needed);
    }
    for (_, excluded) in EXCLUDES.iter().filter(|(of, _)| *of == name) {
        argument = argument.conflicts_with_all(*excluded);
    }
    if names.is_empty() {
        let value = if flag.definition.is_text() { "TEXT" } else { "NUMBER" };
        argument.value_name(value).value_parser(move |value: &str| {
            check_value(name, value)
                .map(|()| value.to_owned())
                .map_err(|fault| fault.detail.into_string())
        })
    } else {
        argument.value_name("NAME").value_parser(PossibleValuesParser::new(names))
    }
}

/// Describes a fault with the names of flags instead of options.
pub(crate) fn describe(fault: &Fault) -> String {
    let mut text = format!("{}: {}", flag_of(&fault.parameter), fault.detail);
    if let Some(suggestion) = &fault.suggestion {
        text += &format!(" ({suggestion})");
    }
    // Longer names first, because some names contain others.
    let mut names: Vec<&str> = Options::DEFINITIONS.iter().map(|it| it.name).collect();
    names.retain(|name| name.contains('_'));
    names.sort_by_key(|name| std::cmp::Reverse(name.len()));
    for name in names {
        text = text.replace(name, &flag_of(name));
    }
    text
}

/// The flag for an option.
fn flag_of(name: &str) -> String {
    let own = OWN.iter().find(|(own, _)| *own == name).map(|(_, flag)| (*flag).to_owned());
    own.unwrap_or_else(|| format!("--{}", name.replace('_', "-")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test fails by panicking")]
mod tests {
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
        for name in OWN.iter().map(|(name, _)| name).chain(NEEDS.iter().map(|(name, _)| name)) {
            assert!(of(name).is_some(), "{name}");
        }
        assert_eq!(of("shape").unwrap().names(), ["square", "dots", "rounded"]);
    }
}
