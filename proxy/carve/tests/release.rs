//! The steps of a release that need no build (`deploy/release/release.sh`).

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Command, Output};

use service_kit::testing::repository;
use tempfile::TempDir;

const SCRIPT: &str = "deploy/release/release.sh";
const VERSION: &str = env!("CARGO_PKG_VERSION");
/// The files that `release.sh version` and `notes` read.
const FILES: [&str; 10] = [
    SCRIPT,
    "deploy/release/packages.sh",
    "Cargo.toml",
    "CHANGELOG.md",
    "deploy/compose.yaml",
    "deploy/README.md",
    ".github/SECURITY.md",
    "deploy/k8s/README.md",
    "proxy/carve/README.md",
    "deploy/k8s/base/kustomization.yaml",
];
const NODE_PACKAGE: &str = "qr-service/bindings/node/package.json";

/// A copy of the files that a test may change.
fn copy() -> TempDir {
    let copy = tempfile::tempdir().unwrap();
    for file in FILES.into_iter().chain([NODE_PACKAGE]) {
        let to = copy.path().join(file);
        fs::create_dir_all(to.parent().unwrap()).unwrap();
        fs::copy(repository().join(file), to).unwrap();
    }
    copy
}

fn change(copy: &TempDir, file: &str, edit: impl Fn(&str) -> String) {
    let file = copy.path().join(file);
    let text = fs::read_to_string(&file).unwrap();
    let changed = edit(&text);
    assert_ne!(text, changed, "{}: nothing to change", file.display());
    fs::write(file, changed).unwrap();
}

fn release(at: &Path, arguments: &[&str], variables: &[(&str, &str)]) -> Output {
    let mut command = Command::new(at.join(SCRIPT));
    command.args(arguments).env_remove("SOURCE_URL").envs(variables.iter().copied());
    command.output().unwrap()
}

/// The standard output of a command that succeeded.
fn printed(output: &Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout.clone()).unwrap()
}

/// The standard error of a failed command.
fn refusal(output: &Output) -> String {
    assert_eq!(output.status.code(), Some(1), "{}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr.clone()).unwrap()
}

#[test]
fn every_file_has_the_version_of_the_workspace() {
    assert_eq!(printed(&release(repository(), &["version"], &[])).trim(), VERSION);
    for file in FILES.into_iter().skip(4).chain([NODE_PACKAGE]) {
        let copy = copy();
        change(&copy, file, |text| text.replace(VERSION, "98.7.6"));
        let refused = refusal(&release(copy.path(), &["version"], &[]));
        assert!(refused.contains(&format!("{file} has version 98.7.6")), "{refused}");
    }
}

#[test]
fn a_tag_needs_the_version_and_a_part_of_the_changelog() {
    let copy = copy();
    let other = refusal(&release(copy.path(), &["version", "98.7.6"], &[]));
    assert!(other.contains("98.7.6") && other.contains(VERSION), "{other}");
    let tag = format!("v{VERSION}");
    assert!(refusal(&release(copy.path(), &["version", &tag], &[])).contains(&tag));

    let changelog = |heading: &str| {
        let text = format!("# Changelog\n\n## {heading}\n\n- all of it\n");
        fs::write(copy.path().join("CHANGELOG.md"), text).unwrap();
        release(copy.path(), &["version", VERSION], &[])
    };
    assert!(refusal(&changelog("Unreleased")).contains(&format!("'## {VERSION}'")));
    assert_eq!(printed(&changelog(&format!("{VERSION} - 2026-01-02"))).trim(), VERSION);
}

#[test]
fn notes_are_the_part_of_one_version() {
    let copy = copy();
    let text = "# Changelog\n\n## Unreleased\n\n- later\n\n## 2.0.0-rc.1 - 2026-02-03\n\n\n### Added\n\n\
                - see [gates](docs/gates.md#x) and [it](https://example.com/a)\n\n\
                ## [1.0.0] - 2026-01-02\n\n- first\n\n## 0.9.0\n\n \n";
    fs::write(copy.path().join("CHANGELOG.md"), text).unwrap();
    let notes = |version: &str, url: &str| {
        let variables = [("SOURCE_URL", url)];
        release(copy.path(), &["notes", version], if url.is_empty() { &[] } else { &variables })
    };
    assert_eq!(printed(&notes("1.0.0", "")), "- first\n");
    assert_eq!(
        printed(&notes("2.0.0-rc.1", "https://example.com/owner/name")),
        "### Added\n\n- see [gates](https://example.com/owner/name/blob/2.0.0-rc.1/docs/gates.md#x) \
         and [it](https://example.com/a)\n"
    );
    for version in ["2.0.0", "1.0", "0.9.0"] {
        assert!(refusal(&notes(version, "")).contains(&format!("'## {version}'")));
    }
}

/// The programs that a release has archives for.
const PROGRAMS: [&str; 5] = ["qr-draw", "qr-service", "relay-service", "relay-home", "carve"];

#[test]
fn archives_hold_programs_and_licences_and_are_the_same_each_time() {
    let dist = tempfile::tempdir().unwrap();
    for arch in ["amd64", "arm64"] {
        let folder = dist.path().join("programs").join(arch);
        fs::create_dir_all(&folder).unwrap();
        for program in PROGRAMS {
            let file = folder.join(program);
            fs::write(&file, format!("{program} for {arch}")).unwrap();
            fs::set_permissions(&file, Permissions::from_mode(0o700)).unwrap();
        }
    }
    let variables = [("DIST", dist.path().to_str().unwrap())];
    let archive = dist.path().join(format!("files/carve-{VERSION}-linux-arm64.tar.gz"));
    printed(&release(repository(), &["archives"], &variables));
    let first = fs::read(&archive).unwrap();
    printed(&release(repository(), &["archives"], &variables));
    assert!(fs::read(&archive).unwrap() == first, "packed again, it differs");
    assert_eq!(fs::read_dir(dist.path().join("files")).unwrap().count(), 2 * PROGRAMS.len());

    let listing = Command::new("tar").arg("-tvzf").arg(&archive).output().unwrap();
    let listing = printed(&listing);
    for name in ["carve", "LICENSE", "LICENSE-APACHE", "LICENSE-MIT", "THIRD-PARTY.txt"] {
        let end = format!("carve-{VERSION}-linux-arm64/{name}");
        let line = listing.lines().find(|line| line.ends_with(&end)).unwrap();
        let mode = if name == "carve" { "-rwxr-xr-x 0/0" } else { "-rw-r--r-- 0/0" };
        assert!(line.starts_with(mode), "{line}");
    }
    let content = |name: &str| {
        let path = format!("carve-{VERSION}-linux-arm64/{name}");
        let output = Command::new("tar").arg("-xOzf").arg(&archive).arg(path).output().unwrap();
        printed(&output)
    };
    assert_eq!(content("carve"), "carve for arm64");
    let licences = content("THIRD-PARTY.txt");
    assert!(licences.contains("hyper 1.") && licences.contains("Permission is hereby granted"));
    assert!(!licences.contains("qr-core"), "our own crates have LICENSE");

    fs::remove_file(dist.path().join("programs/arm64/carve")).unwrap();
    let refused = refusal(&release(repository(), &["archives"], &variables));
    assert!(refused.contains("arm64 has no carve"), "{refused}");
}

#[test]
fn the_release_has_the_toolchain_of_the_images() {
    let read = |file: &str| fs::read_to_string(repository().join(file)).unwrap();
    let recipe = read("deploy/Dockerfile");
    let image = recipe.split("library/rust:").nth(1).unwrap();
    let toolchain = image.split('-').next().unwrap();
    let wanted = format!("RUSTUP_TOOLCHAIN: \"{toolchain}\"");
    // One match each for programs and for packages.
    assert_eq!(read(".github/workflows/release.yml").matches(&wanted).count(), 2, "{wanted}");
}
