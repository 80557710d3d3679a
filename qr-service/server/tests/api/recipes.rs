//! Tests that the commands in docs/qr-codes.md and docs/qr-payloads.md work unchanged, and that their symbols hold what
//! the pages say.

use std::process::Command;

use crate::support::{files_of, of_png, of_print, of_svg, of_zpl, padded, read, start};

/// A command, and the text of its symbol.
struct Recipe {
    command: String,
    text: Option<String>,
}

fn recipes(page: &str) -> Vec<Recipe> {
    let mut recipes: Vec<Recipe> = Vec::new();
    let mut parts = page.split("```");
    while let (Some(_), Some(block)) = (parts.next(), parts.next()) {
        match block.split_once('\n').unwrap() {
            ("sh", command) => recipes.push(Recipe { command: command.to_owned(), text: None }),
            ("text", text) => {
                recipes.last_mut().unwrap().text = Some(text.trim_end_matches('\n').to_owned());
            }
            (other, _) => panic!("{other}"),
        }
    }
    recipes
}

#[test]
fn every_command_of_the_pages_works_as_it_stands() {
    let service = start(&[]);
    let page = concat!(
        include_str!("../../../../docs/qr-codes.md"),
        include_str!("../../../../docs/qr-payloads.md")
    );
    let recipes = recipes(page);
    let folder = tempfile::TempDir::new().unwrap();
    let mut checked = Vec::new();
    for Recipe { command, text } in &recipes {
        let here = command.replace("localhost:8080", &service.addr.to_string());
        let output = Command::new("sh").args(["-ec", &here]).current_dir(&folder).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success(), "{command}{said}");
        let Some((_, file)) = command.split_once(" -o ") else {
            // A command without a file only prints.
            let is_shown = said.contains("██") || said.contains("https://example.com/");
            assert!(is_shown, "{command}{said}");
            continue;
        };
        let file = file.split_whitespace().next().unwrap();
        let made = std::fs::read(folder.path().join(file)).unwrap();
        let picture = match file.split_once('.').unwrap().1 {
            "png" => of_png(&made),
            "svg" => of_svg(&made, 6.0),
            "pdf" => of_print(&made, "pdf", 300.0),
            "zpl" => of_zpl(std::str::from_utf8(&made).unwrap()),
            _ => {
                let names: Vec<String> =
                    files_of(&made).into_iter().map(|(name, _)| name).collect();
                assert_eq!(names, ["first.png", "second.png", "manifest.json"]);
                continue;
            }
        };
        let Some(text) = text else { continue };
        let code = read(&padded(&picture), "qr").unwrap_or_else(|| panic!("{command}"));
        let bytes = String::from_utf8(code.bytes()).unwrap();
        assert_eq!(bytes.replace("\r\n", "\n").trim_end_matches('\n'), text, "{command}");
        checked.push(command.clone());
    }
    assert!(recipes.len() >= 20 && checked.len() >= 17, "{} {}", recipes.len(), checked.len());
    // Every kind of payload has a recipe.
    let document = crate::support::get(service.addr, "/v1/openapi.json").json();
    for path in document["paths"].as_object().unwrap().keys().filter(|it| it.contains("/payload/"))
    {
        assert!(page.contains(&format!("{path}.")), "{path} has no example");
    }
}
