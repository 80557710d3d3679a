//! Types the commands of the top README into a shell, as written there and in order, as a newcomer would.

use std::fs;

use service_kit::testing::repository;

use super::shell::Shell;

/// The README's blocks of commands, and its block with a route file.
struct Readme {
    commands: Vec<String>,
    route: String,
}

impl Readme {
    fn read() -> Self {
        let text = fs::read_to_string(repository().join("README.md")).unwrap();
        let mut blocks: Vec<String> = text
            .split("\n\n")
            .filter(|block| block.lines().all(|line| line.starts_with("    ")))
            .map(|block| block.lines().map(|line| format!("{}\n", &line[4..])).collect())
            .collect();
        // A block that continues after an empty line, such as the picture, begins with more spaces.
        blocks.retain(|block| !block.starts_with(' '));
        let (route, commands): (Vec<_>, Vec<_>) =
            blocks.into_iter().partition(|block| block.starts_with("path = "));
        assert_eq!(route.len(), 1, "{route:?}");
        Readme { commands, route: route.concat() }
    }
}

/// Commands with the addresses of this shell. The two servers get the ports of the sides, which are not running then.
fn here(shell: &Shell, commands: &str) -> String {
    let at = &shell.addresses;
    let replaced = [
        ("localhost:8080", at.proxy.to_string()),
        ("4001", at.of("old").port().to_string()),
        ("4002", at.of("new").port().to_string()),
        ("=my-routes", format!("={}", shell.folder.path().join("my-routes").display())),
    ];
    replaced.iter().fold(commands.to_owned(), |text, (from, to)| text.replace(from, to))
}

/// Follows the README in order.
fn follow(mut shell: Shell) {
    let Readme { commands, route } = Readme::read();
    let [up, split, ramp, around] = commands.as_slice() else {
        panic!("a new block of commands needs its line here: {commands:#?}");
    };
    let folder = shell.folder.path().to_owned();
    let mut step = |commands: &str, exit_code: u8, wanted: &[&str]| {
        let commands = here(&shell, commands);
        // Only one of the sides writes the names of headers with capitals.
        let contains =
            |wanted: &str, line: &str| line.to_lowercase().contains(&wanted.to_lowercase());
        shell.run(&commands, exit_code, wanted, contains);
    };

    // Files that curl writes go to the shell's folder, which only the machine around has.
    let make = r#"make() { command make -C $REPOSITORY "$@"; }"#;
    step(
        &format!("REPOSITORY=$PWD; mkdir -p '{0}/my-routes'; cd '{0}'; {make}", folder.display()),
        0,
        &[],
    );

    let addresses = ["the app      http://", "live page    http://"];
    step(up, 0, &[&addresses[..], &["100% of /qrcode goes to the new side"]].concat());
    step(split, 0, &["25% of qrcode goes to the new side.", "served-by: "]);

    // Somebody who watches a ramp stops it in another shell.
    let (first, ramp) = ramp.trim_end().rsplit_once('\n').unwrap();
    let load = "Sending 100 requests per second to http://";
    step(first, 0, &["0% of qrcode goes to the new side.", load]);
    step(&format!("{ramp} &"), 0, &["moved: step 1 of 5, 1%"]);
    step("make rollback; wait %?ramp", 2, &["Error 5"]);
    step("make status", 0, &["all of it goes to the old side"]);
    step("kill %?load", 0, &[]);

    // "Two servers that already run" get the ports of the sides, which are free after this. A bare Debian has Node.js
    // alone.
    let (down, around) = around.split_once('\n').unwrap();
    step(down, 0, &["Stopped."]);
    let serve = "node -e 'require(`http`).createServer((_, to) => to.end(`{\"generated_at\": 1}`)).listen(PORT, `127.0.0.1`)' &";
    step(&["4001", "4002"].map(|port| serve.replace("PORT", port)).join("\n"), 0, &[]);
    step(&format!("cat >my-routes/report.toml <<'END'\n{route}END"), 0, &[]);
    step(
        around,
        0,
        &[&addresses[..], &["route report 0% of /report goes to the new side"]].concat(),
    );
    step("curl -sS 'http://localhost:8080/report?year=2024'; echo", 0, &["generated_at"]);
}

/// Includes the real builds, and the downloads of a first time.
#[test]
#[ignore = "make test-all PART=newcomer runs it"]
fn a_newcomer_can_type_it_in_a_fresh_clone_in_a_bare_debian() {
    follow(Shell::in_bare_debian());
}
