//! The reference of route files, `proxy/routes/README.md`, has what the schema has.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::path::Path;

use route::Route;
use serde_json::Value;

fn readme() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../routes/README.md");
    std::fs::read_to_string(file).unwrap()
}

/// The keys of an object of the schema.
fn keys(schema: &Value) -> Vec<&String> {
    schema["properties"].as_object().unwrap().keys().collect()
}

#[test]
fn every_key_of_the_schema_has_a_row_in_the_reference() {
    let schema: Value = serde_json::from_str(&route::schema().unwrap()).unwrap();
    let mut wanted = Vec::new();
    for key in keys(&schema) {
        let below = match key.as_str() {
            "old" | "new" => "Side",
            "shadow" => "Shadow",
            "homes" => "Home",
            "ramp" => "Ramp",
            _ => {
                wanted.push(key.clone());
                continue;
            }
        };
        wanted.extend(keys(&schema["$defs"][below]).iter().map(|inner| format!("{key}.{inner}")));
    }
    assert!(wanted.len() > 20, "{wanted:?}");
    let readme = readme();
    let named: Vec<&str> = readme
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split(" |").next())
        .flat_map(|cell| cell.split(", "))
        .map(|name| name.trim_matches('`'))
        .collect();
    let carve: Value = serde_json::from_str(&route::carve_schema().unwrap()).unwrap();
    let defined = &carve["$defs"];
    for (section, keys_of) in [("front", "Front"), ("app", "App"), ("headers", "Headers")] {
        for key in keys(&defined[keys_of]) {
            let inner = match key.as_str() {
                "choose" => keys(&defined["Choose"]),
                "tls" => keys(&defined["Tls"]),
                _ => {
                    wanted.push(format!("{section}.{key}"));
                    continue;
                }
            };
            wanted.extend(inner.iter().map(|inner| format!("{section}.{key}.{inner}")));
        }
    }
    for key in &wanted {
        assert!(named.contains(&key.as_str()), "proxy/routes/README.md has no row for {key}");
    }
}

#[test]
fn the_examples_of_the_reference_are_valid() {
    let readme = readme();
    let examples = readme.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let examples: Vec<&str> = examples.collect();
    assert_eq!(examples.len(), 3);
    for example in examples {
        if example.contains("[front]") {
            route::CarveFile::parse(example).unwrap();
            continue;
        }
        let whole = match example.contains("path = ") {
            true => example.to_owned(),
            false => format!("path = \"/report\"\n{example}"),
        };
        Route::parse("report", &whole).unwrap();
    }
}
