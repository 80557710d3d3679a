//! `bindgen MODULE nodejs|web FOLDER NAME` writes the module, the JavaScript that loads it and its types
//! to the folder, like the command `wasm-bindgen`. The names of the files begin with NAME.

use std::env::args;

use anyhow::{Context, Result, bail};
use wasm_bindgen_cli_support::Bindgen;

fn main() -> Result<()> {
    let arguments: Vec<String> = args().skip(1).collect();
    let [module, target, folder, name] = &arguments[..] else {
        bail!("usage: bindgen MODULE nodejs|web FOLDER NAME");
    };
    let mut bindgen = Bindgen::new();
    bindgen.input_path(module).out_name(name).typescript(true);
    // Only debuggers and toolchains need these; they are half as large as the code.
    bindgen.remove_name_section(true).remove_producers_section(true);
    match target.as_str() {
        "nodejs" => bindgen.nodejs(true)?,
        "web" => bindgen.web(true)?.omit_default_module_path(false),
        _ => bail!("unknown target {target:?}: use \"nodejs\" or \"web\""),
    };
    bindgen.generate(folder).with_context(|| format!("binding {module} for {target}"))
}
