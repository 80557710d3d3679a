//! The page on route files, `proxy/routes/README.md`, names only keys that the schemas have.

use std::collections::BTreeSet;
use std::path::Path;

use route::{CarveFile, Route, RouteFile, schema};
use serde_json::Value;

fn readme() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../routes/README.md");
    std::fs::read_to_string(file).unwrap()
}

/// Adds the keys of a schema's object, those of tables as `table.key`, and checks that each has a description.
fn add_keys(found: &mut BTreeSet<String>, object: &Value, definitions: &Value, prefix: &str) {
    for (name, key) in object["properties"].as_object().unwrap() {
        let name = format!("{prefix}{name}");
        assert!(key["description"].is_string(), "the schema does not explain {name}");
        let places = [key, &key["items"], &key["anyOf"][0]];
        let reference = places.into_iter().find_map(|place| place["$ref"].as_str());
        let inner = reference.map(|it| &definitions[it.rsplit('/').next().unwrap()]);
        if let Some(inner) = inner.filter(|inner| inner["properties"].is_object()) {
            add_keys(found, inner, definitions, &format!("{name}."));
        }
        found.insert(name);
    }
}

#[test]
fn every_key_of_the_reference_is_in_a_schema_that_explains_all_of_them() {
    let mut keys = BTreeSet::new();
    for (file, schema) in [("route", schema::<RouteFile>()), ("carve", schema::<CarveFile>())] {
        let schema = schema.unwrap();
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../routes");
        let made = std::fs::read_to_string(folder.join(format!("{file}.schema.json"))).unwrap();
        assert!(schema == made, "{file}.schema.json is not up to date: make generate");
        let schema: Value = serde_json::from_str(&schema).unwrap();
        add_keys(&mut keys, &schema, &schema["$defs"], "");
    }
    assert!(keys.contains("old.timeout") && keys.contains("front.tls.key"), "{keys:?}");
    let readme = readme();
    let rows = readme.lines().filter_map(|line| line.strip_prefix("| `")?.split(" |").next());
    let named: Vec<&str> =
        rows.flat_map(|cell| cell.split(", ")).map(|name| name.trim_matches('`')).collect();
    assert!(named.len() > 20, "{named:?}");
    for name in named {
        assert!(keys.contains(name), "proxy/routes/README.md names {name}, which is no key");
    }
}

#[test]
fn the_examples_of_the_reference_are_valid() {
    let readme = readme();
    let examples = readme.split("```toml\n").skip(1).map(|rest| rest.split("```").next().unwrap());
    let examples: Vec<&str> = examples.collect();
    assert_eq!(examples.len(), 5);
    for example in examples {
        if example.contains("[front]") || example.contains("[[hosts]]") {
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
