//! The report that a run writes.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use serde_json::Value;

use crate::support::prometheus::{Measured, Traffic};
use crate::support::{Place, Process, eventually};

/// Tests with short blocks, and a gate that fails at once.
fn gates(place: &Place) -> String {
    let file = place.beside("gates.toml");
    let gates = "overlap = \"1s\"\nblock = \"200ms\"\n\
                 [[test]]\nname = \"failures\"\ncounts = \"failures\"\nexcess = 0.001\n\
                 [[gate]]\nname = \"mismatches\"\njudge = \"at once\"\ncompare = \"==\"\nlimit = 0\n\
                 query = 'sum(shadow_comparisons_total{result=\"mismatch\"})'\n";
    fs::write(&file, gates).unwrap();
    file.display().to_string()
}

fn start_run(place: &Place, hold: &str, more: &[&str]) -> Process {
    let gates = gates(place);
    let args = ["ramp", "--steps", "5,50", "--every", "100ms", "--hold", hold, "--gates", &gates];
    let mut command = place.ramp(&args);
    Process(command.args(more).stdout(Stdio::null()).spawn().unwrap())
}

/// The only report in a folder, as JSON and as HTML.
fn report(folder: &Path) -> (Value, String) {
    let files: Vec<PathBuf> =
        fs::read_dir(folder).unwrap().map(|file| file.unwrap().path()).collect();
    let read = |kind: &str| {
        let mut of_kind = files.iter().filter(|file| file.extension().is_some_and(|it| it == kind));
        let file = of_kind.next().unwrap();
        assert_eq!(of_kind.next(), None, "{files:?}");
        fs::read_to_string(file).unwrap()
    };
    (serde_json::from_str(&read("json")).unwrap(), read("html"))
}

fn events(report: &Value) -> Vec<&str> {
    report["events"].as_array().unwrap().iter().map(|it| it["event"].as_str().unwrap()).collect()
}

#[test]
fn a_run_that_has_ended_leaves_its_report() {
    let place = Place::new();
    let measured = Measured::fine(&place);
    let why = "a </script> of <b>ours";
    let run = start_run(&place, "3s", &["--actor", "anna", "--reason", why]);
    assert_eq!(run.wait(), Some(0));
    let (done, html) = report(&place.nginx().route_dir().join("reports"));
    for (key, value) in [
        ("route", "qrcode"),
        ("outcome", "done"),
        ("started_by", "anna"),
        ("why", why),
        ("problem", ""),
    ] {
        assert_eq!(done[key], value, "{done}");
    }
    assert_eq!(events(&done), ["started", "moved", "passed", "moved", "passed", "done"]);
    let test = &done["tests"][0];
    assert_eq!((&test["test"], &test["limit"]), (&"failures".into(), &0.001.into()));
    let points = test["points"].as_array().unwrap();
    assert!(points.len() > 1 && points[0]["step"] == 1, "{done}");
    assert!(done["gates"][0]["said"].as_str().unwrap().contains(", between "), "{done}");
    assert!(done["compared"]["match"].as_f64().unwrap() > 100.0, "{done}");
    // The page has the same data, in which nothing ends its element.
    let (_, rest) = html.split_once("id=\"report\">").unwrap();
    let (embedded, _) = rest.split_once("</script>").unwrap();
    assert_eq!(serde_json::from_str::<Value>(embedded).unwrap(), done);

    // This run goes back, and has its report elsewhere.
    place.succeeds(&["split", "0"]);
    let folder = place.beside("reports");
    let run = start_run(&place, "60s", &["--report", folder.to_str().unwrap()]);
    assert!(eventually(|| place.succeeds(&["status"]).contains("holding: step 1 of 2, 5%")));
    measured.set(Traffic { mismatches: 100.0, ..Traffic::FINE });
    assert_eq!(run.wait(), Some(3));
    let (back, _) = report(&folder);
    assert_eq!((&back["outcome"], &back["ended_by"]), (&"rolled back".into(), &"its gates".into()));
    assert_eq!(events(&back), ["started", "moved", "failed", "rolled_back"]);
    assert!(back["mismatches"]["body"].as_f64().unwrap() > 0.0, "{back}");
    assert_eq!(back["share_percent"], 0.0);
}
