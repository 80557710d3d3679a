//! Checks that the files, targets and alerts that documents name exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_yaml_ng::Value;
use service_kit::testing::repository;

/// The files whose names end with `end`, both those under version control and new ones.
fn files(end: &str) -> Vec<PathBuf> {
    let mut git = Command::new("git");
    git.args(["ls-files", "--cached", "--others", "--exclude-standard"]);
    let output = git.current_dir(repository()).output().unwrap();
    assert!(output.status.success());
    let names = String::from_utf8(output.stdout).unwrap();
    let names = names.lines().filter(|name| name.ends_with(end));
    names.map(|name| repository().join(name)).filter(|file| file.exists()).collect()
}

/// In each row: a document, what it says, the file of the code, and the line that makes it true.
const NUMBERS: &str = "\
proxy/rollout/README.md | A check or a reload ends after 10 s | proxy/rollout/src/machine.rs | CHECK_TIMEOUT: Duration = Duration::from_secs(10)
proxy/rollout/README.md | A check or a reload ends after 10 s | proxy/rollout/src/machine.rs | Patience { total: Duration::from_secs(10)
proxy/rollout/README.md | a lock is waited for 90 s | proxy/rollout/src/lock.rs | TURN: Duration = Duration::from_secs(90)
docs/operations.md | silent for 4 s | proxy/rollout/src/cluster/route.rs | SILENT: Duration = Duration::from_secs(4)
docs/moving-traffic.md | After 30 s (`ramp.lease` | proxy/route/src/file.rs | lease: Time::seconds(30)
proxy/edge/README.md | silent for 60 s | proxy/edge/src/follow.rs | KEEP_REPLACED: Duration = Duration::from_secs(60)
proxy/edge/README.md | its first 20 s | proxy/edge/src/loss.rs | LAG: Duration = Duration::from_secs(10)
proxy/compare/README.md | beyond 16 MiB of bodies | proxy/compare/src/queue.rs | MAX_BODIES_BYTES: usize = 16 << 20
proxy/compare/README.md | the last 100 mismatches | proxy/compare/src/record.rs | MAX_KEPT: usize = 100
proxy/compare/src/judge/README.md | The next start waits 100 ms | proxy/compare/src/judge/exec/mod.rs | FIRST_WAIT: Duration = Duration::from_millis(100)
proxy/compare/src/judge/README.md | up to 10 s | proxy/compare/src/judge/exec/mod.rs | LONGEST_WAIT: Duration = Duration::from_secs(10)
relay-service/README.md | at most 1,024 bytes (414) | relay-service/src/target.rs | MAX_KEY_BYTES: usize = 1024
relay-service/README.md | have 128 MiB together (503) | relay-service/src/handler.rs | MAX_WAITING_BYTES: usize = 128 << 20
relay-service/README.md | over HTTP/2 within 50 s | service-kit/src/server/connection.rs | PING_EVERY: Duration = Duration::from_secs(30)
relay-service/README.md | over HTTP/2 within 50 s | service-kit/src/server/connection.rs | PING_TIMEOUT: Duration = Duration::from_secs(20)
relay-service/README.md | Every 2 s each home looks | relay-service/src/home/stranded.rs | INTERVAL: Duration = Duration::from_secs(2)
docs/streaming-routes.md | gave for this key in the last 10 s | relay-service/src/home/homes.rs | LEASE: Duration = Duration::from_secs(10)
ARCHITECTURE.md | the sides 65 and 75 s | service-kit/src/server/mod.rs | idle_timeout: Duration::from_secs(75)
docs/qr-codes.md | 256 kB, 4 million pixels | qr-service/server/src/v1/logo.rs | MAX_BYTES: usize = 262_144
docs/qr-codes.md | 256 kB, 4 million pixels | qr-service/server/src/v1/logo.rs | MAX_PIXELS: u64 = 4_000_000
docs/qr-codes.md | 1000 items, 1 MB | qr-service/server/src/v1/items.rs | MAX_ITEMS: usize = 1000
docs/qr-codes.md | 4 seconds to make | qr-service/server/src/v1/routes/many.rs | MAX_TIME: Duration = Duration::from_secs(4)
docs/qr-codes.md | 10 MiB; 25 million pixels | qr-service/server/src/v1/routes/decode.rs | MAX_BYTES: usize = 10 << 20
docs/qr-codes.md | 10 MiB; 25 million pixels | qr-service/server/src/v1/upload.rs | MAX_PIXELS: u64 = 25_000_000
docs/qr-codes.md | two batches or sheets | qr-service/server/src/v1/routes/mod.rs | MAX_BATCHES: usize = 2
qr-service/api/README.md | two of those dots | qr-service/server/src/v1/verify.rs | MIN_PRINT_PX: f64 = 2.0
qr-service/api/README.md | at 300 dpi. Two rules | qr-service/server/src/v1/verify.rs | PRINT_DPI: f64 = 300.0
qr-service/api/README.md | by 40 % of black and white | qr-service/server/src/v1/verify.rs | MIN_CONTRAST: u8 = 102
qr-service/api/README.md | At most 5 pixels a module | qr-service/server/src/v1/verify.rs | ENOUGH_PX: f64 = 5.0
qr-service/api/README.md | up to 800 pixels | qr-service/server/src/v1/verify.rs | MOST_SHAPED_PX: f64 = 800.0
qr-service/api/README.md | longer than five seconds | qr-service/server/src/v1/pool.rs | { 9 } else { 5 }
qr-service/api/README.md | pictures decoded at once have 96 MiB | qr-service/server/src/v1/upload.rs | MAX_BYTES: usize = 96 << 20
";

#[test]
fn numbers_that_documents_promise_are_those_of_the_code() {
    let read = |name: &str| {
        let text = fs::read_to_string(repository().join(name)).unwrap();
        text.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    for row in NUMBERS.lines() {
        let cells: Vec<&str> = row.split(" | ").collect();
        for at in [0, 2] {
            assert!(read(cells[at]).contains(cells[at + 1]), "{}: {}", cells[at], cells[at + 1]);
        }
    }
}

#[test]
fn every_make_target_that_a_document_names_exists() {
    let makefile = fs::read_to_string(repository().join("Makefile")).unwrap();
    let targets: BTreeSet<&str> = makefile
        .lines()
        .filter(|line| !line.starts_with(['\t', '#', '.', ' ']))
        .filter_map(|line| line.split_once(':'))
        .flat_map(|(targets, _)| targets.split(' '))
        .collect();
    for file in files(".md") {
        let text = fs::read_to_string(&file).unwrap();
        for start in ["`make ", "\n    make ", "&& make "] {
            for rest in text.split(start).skip(1) {
                let is_part = |c: char| c.is_ascii_lowercase() || c == '-';
                let target: &str = rest.split(|c| !is_part(c)).next().unwrap();
                let named = targets.contains(target);
                assert!(named, "{}: there is no `make {target}`", file.display());
            }
        }
    }
}

#[test]
fn every_folder_at_the_top_has_a_readme_of_a_screen_or_so() {
    let mut folders = BTreeSet::new();
    for file in files("") {
        let inside = file.strip_prefix(repository()).unwrap();
        let mut parts = inside.components();
        if let (Some(folder), Some(_)) = (parts.next(), parts.next()) {
            folders.insert(Path::new(&folder).to_owned());
        }
    }
    folders.retain(|folder| !folder.to_string_lossy().starts_with('.'));
    for folder in &folders {
        let readme = repository().join(folder).join("README.md");
        let text = fs::read_to_string(&readme).unwrap_or_else(|e| panic!("{folder:?}: {e}"));
        assert!(text.lines().count() <= 80, "{} is too long", readme.display());
    }
}

#[test]
fn every_alert_has_a_runbook_and_a_test_and_every_runbook_an_alert() {
    let read = |file: &str| fs::read_to_string(repository().join(file)).unwrap();
    let all = |folder: &str| -> String {
        let mut all = files(".yml");
        all.retain(|file| file.starts_with(repository().join(folder)));
        all.iter().map(|file| fs::read_to_string(file).unwrap()).collect()
    };
    let rules = all("dashboards/prometheus/rules");
    let values = |key: &str| -> BTreeSet<String> {
        let lines = rules.lines().filter_map(|line| line.trim().strip_prefix(key));
        lines.map(|value| value.trim().to_owned()).collect()
    };
    let (alerts, runbooks) = (values("- alert:"), values("runbook:"));
    assert!(alerts.len() >= 10, "{alerts:?}");
    assert_eq!(rules.matches("- alert:").count(), rules.matches("runbook:").count());
    let tests = all("dashboards/prometheus/tests");
    let index = read("docs/runbooks/README.md");
    for alert in &alerts {
        for (end, what) in [("\n", "fires"), (", ", "does not fire")] {
            let has_test = tests.contains(&format!("alertname: {alert}{end}"));
            assert!(has_test, "{alert} has no test in which it {what}");
        }
        assert!(index.contains(alert), "docs/runbooks/README.md has no {alert}");
    }
    let mut written = files(".md");
    written.retain(|file| file.starts_with(repository().join("docs/runbooks")));
    written.retain(|file| !file.ends_with("README.md"));
    let names = written.iter().map(|file| file.strip_prefix(repository()).unwrap());
    let names: BTreeSet<String> = names.map(|name| name.display().to_string()).collect();
    assert_eq!(names, runbooks);
}

#[test]
fn what_runs_a_stack_knows_neither_the_demonstration_nor_where_it_was_built() {
    let mut sources = files(".rs");
    sources.retain(|file| file.starts_with(repository().join("proxy/carve/src/local")));
    assert!(!sources.is_empty());
    for file in sources {
        let text = fs::read_to_string(&file).unwrap();
        for word in ["CARGO_MANIFEST_DIR", "qr-service", "legacy-node", "relay", "qrcode", "QR_"] {
            assert!(!text.contains(word), "{} has {word}", file.display());
        }
    }
}

/// The names of all objects of a kind in `deploy/k8s`, to which kustomize adds no prefix.
fn objects(kind: &str) -> BTreeSet<String> {
    let mut manifests = files(".yaml");
    let folder = repository().join("deploy/k8s");
    manifests.retain(|file| file.starts_with(&folder));
    manifests.retain(|file| !file.starts_with(folder.join("components")));
    let mut names = BTreeSet::new();
    for file in manifests {
        let text = fs::read_to_string(&file).unwrap();
        for object in text.split("\n---\n") {
            let object: Value = serde_yaml_ng::from_str(object).unwrap();
            if object["kind"] == *kind {
                names.insert(object["metadata"]["name"].as_str().unwrap().to_owned());
            }
        }
    }
    names
}

/// The words that follow `start`, without placeholders such as NAME.
fn words_after<'a>(text: &'a str, start: &str) -> Vec<&'a str> {
    let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    let words = text.split(start).skip(1).map(|rest| rest.split(|c| !is_part(c)).next().unwrap());
    words.filter(|word| !word.is_empty()).collect()
}

#[test]
fn every_object_and_part_that_a_document_names_exists() {
    let mut seen = BTreeSet::new();
    for (kind, names) in ["Deployment", "StatefulSet", "Service"].map(|kind| (kind, objects(kind)))
    {
        // The space is needed, since `qr-service/` is a folder.
        let start = format!(" {}/", kind.to_ascii_lowercase());
        for file in files(".md") {
            let text = fs::read_to_string(&file).unwrap();
            for word in words_after(&text, &start) {
                assert!(names.contains(word), "{}: there is no{start}{word}", file.display());
                seen.insert(format!("{}{word}", start.trim_start()));
            }
        }
    }
    // Otherwise documents no longer use the words that this test looks for.
    assert!(seen.contains("deployment/proxy") && seen.contains("deployment/ramp"), "{seen:?}");

    // Parts of the stack, for `make logs`, or of `make test-all`.
    let makefile = fs::read_to_string(repository().join("Makefile")).unwrap();
    let mut parts = words_after(&makefile, "\nall-");
    let lists = ["deploy/demonstration.toml", "proxy/carve/src/local/parts.toml"];
    let lists = lists.map(|file| fs::read_to_string(repository().join(file)).unwrap()).concat();
    parts.extend(words_after(&lists, "[[part]]\nname = \""));
    let runbooks = repository().join("docs/runbooks");
    for file in files(".md") {
        let text = fs::read_to_string(&file).unwrap();
        let mut named = words_after(&text, "PART=");
        if file.starts_with(&runbooks) {
            named.extend(words_after(&text, "backends:"));
            named.extend(words_after(&text, "edge:"));
        }
        for part in named {
            assert!(parts.contains(&part), "{}: there is no part {part}", file.display());
        }
    }
}
