//! Runs the commands of `docs/getting-started-cluster.md` as written, on a cluster.

use std::env;
use std::fs;
use std::path::PathBuf;

use service_kit::testing::repository;

use super::guide::{blocks, follow};
use super::shell::Shell;

/// The shell first reads the file `CLUSTER`. If kind cannot run, that file defines functions that replace the commands
/// `kind`, `kubectl` and `curl`, and sets `KUBECTL` for make. With kind, it may be empty.
#[test]
#[ignore = "make test-all PART=newcomer CLUSTER=file runs it"]
fn a_newcomer_can_type_what_the_guide_says_on_a_cluster() {
    let stand_ins = PathBuf::from(env::var_os("CLUSTER").expect("CLUSTER names a file"));
    let text = fs::read_to_string(repository().join("docs/getting-started-cluster.md")).unwrap();
    let mut shell = Shell::new();
    let read = format!("source '{}'", stand_ins.canonicalize().unwrap().display());
    shell.run(&read, 0, &[], |_, _| true);
    follow(&mut shell, &blocks(&text), |shell, commands| {
        let port = shell.addresses.proxy.port().to_string();
        let picture = shell.folder.path().join("hello.png");
        let commands = commands.replace("localhost:8080", &format!("localhost:{port}"));
        let commands = commands.replace("8080:80", &format!("{port}:80"));
        commands.replace("hello.png", &picture.display().to_string())
    });
}
