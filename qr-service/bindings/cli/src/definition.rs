//! Makes flags from the definition of the options, which the service and all bindings share.
//!
//! Options that `qr-draw` had before keep the flags in [`OWN`], because scripts rely on their limits, defaults and
//! formats. Every other option gets a flag of its name, with the description, limits and values of the definition.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};
use qr_options::fault::Fault;
use qr_options::options::Options;
use qr_options::{Definition, Parameters, check_value, read_values};

/// Options, and `qr-draw`'s own flags or arguments for them.
const OWN: [(&str, &str); 17] = [
    ("text", "TEXT"),
    ("data", "--bytes"),
    ("kind", "--rmqr"),
    ("level", "--level"),
    ("boost", "--boost"),
    ("version_min", "--symbol-version"),
    ("version_max", "--symbol-version"),
    ("gs1", "--gs1"),
    ("part", "--structured"),
    ("format", "--format"),
    ("margin", "--margin"),
    ("size", "--size"),
    ("scale", "--scale"),
    ("width_mm", "--width-mm"),
    // The flag takes a file, the option its bytes.
    ("logo", "--logo"),
    ("style", "--format"),
    ("filename", "--output"),
];

/// The options without a flag of their own.
fn others() -> impl Iterator<Item = &'static Definition> {
    let is_own = |name: &str| OWN.iter().any(|(own, _)| *own == name);
    Options::DEFINITIONS.iter().filter(move |it| !is_own(it.name))
}

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
pub(crate) struct DefinedFlags(Vec<(String, String)>);

impl DefinedFlags {
    pub(crate) fn options(&self) -> Result<Options, Vec<Fault>> {
        read_values(self.0.clone())
    }
}

impl Args for DefinedFlags {
    fn augment_args(command: Command) -> Command {
        command.args(others().map(argument))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for DefinedFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let given = others().filter_map(|definition| {
            let value = matches.get_one::<String>(definition.name)?;
            Some((definition.name.to_owned(), value.clone()))
        });
        Ok(DefinedFlags(given.collect()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

/// A flag made from the definition of an option.
fn argument(definition: &'static Definition) -> Arg {
    let (name, names) = (definition.name, definition.names());
    let argument = Arg::new(name).long(name.replace('_', "-")).help(help_of(definition));
    let argument = match (name, definition.kinds) {
        ("logo_size", _) => argument.requires("logo"),
        (_, ["qr"]) => argument.conflicts_with_all(["micro", "rmqr"]),
        (_, ["qr", "micro"]) => argument.conflicts_with("rmqr"),
        (_, ["qr", "rmqr"]) => argument.conflicts_with("micro"),
        (_, ["rmqr"]) => argument.requires("rmqr"),
        _ => argument,
    };
    if names.is_empty() {
        let value = if definition.is_text() { "TEXT" } else { "NUMBER" };
        argument.value_name(value).value_parser(move |value: &str| {
            check_value(name, value)
                .map(|()| value.to_owned())
                .map_err(|fault| fault.detail.into_string())
        })
    } else {
        argument.value_name("NAME").value_parser(PossibleValuesParser::new(names)).ignore_case(true)
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
    // A bitmap is drawn from the modules in `json`, and has a scale.
    if fault.parameter == "scale" {
        text = text.replace("png, svg, zpl", "png, svg, pbm, zpl");
    }
    for (option, flag) in [
        ("use kind qr", "leave out --micro or --rmqr"),
        ("with part", "with --structured"),
        ("on txt", "on utf8 and ascii"),
        ("on json", "on pbm"),
    ] {
        text = text.replace(option, flag);
    }
    text
}

/// The flag for an option.
fn flag_of(name: &str) -> String {
    let own = OWN.iter().find(|(own, _)| *own == name).map(|(_, flag)| (*flag).to_owned());
    own.unwrap_or_else(|| format!("--{}", name.replace('_', "-")))
}

#[cfg(test)]
mod tests;
