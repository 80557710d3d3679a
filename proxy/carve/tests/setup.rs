//! What `setup.sh` installs for each purpose.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use service_kit::testing::repository;

/// A stand-in for npm that makes the same folder as `npm ci` and records the package.
const NPM: &str = "#!/bin/sh\nset -e\n[ \"$1 $2\" = 'ci --prefix' ]\nmkdir -p \"$3/node_modules\"\n\
                   echo \"$3\" >>\"$INSTALLED\"\n";

fn executable(file: &Path, text: &str) {
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(file, text).unwrap();
    fs::set_permissions(file, Permissions::from_mode(0o755)).unwrap();
}

/// The folders whose npm packages are installed in a fresh copy of the repository.
fn installed_for(purpose: &str) -> Vec<String> {
    let copy = tempfile::tempdir().unwrap();
    let script = "deploy/setup.sh";
    let text = fs::read_to_string(repository().join(script)).unwrap();
    executable(&copy.path().join(script), &text);
    executable(&copy.path().join("bin/npm"), NPM);
    for folder in ["legacy-node", "dashboards/live", "qr-service/api/page"] {
        fs::create_dir_all(copy.path().join(folder)).unwrap();
        fs::write(copy.path().join(folder).join("package-lock.json"), "{}").unwrap();
    }
    let installed = copy.path().join("installed");
    let path = std::env::var("PATH").unwrap();
    let output = Command::new(copy.path().join(script))
        .arg(purpose)
        .env("PATH", format!("{}:{path}", copy.path().join("bin").display()))
        .env("INSTALLED", &installed)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let mut installed: Vec<String> =
        fs::read_to_string(installed).unwrap().lines().map(str::to_owned).collect();
    installed.sort();
    installed
}

#[test]
fn around_two_servers_only_the_live_page_needs_packages() {
    assert_eq!(installed_for("around"), ["dashboards/live"]);
    assert_eq!(installed_for("run"), ["dashboards/live", "legacy-node", "qr-service/api/page"]);
}
