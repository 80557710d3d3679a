//! The figures of docs/choosing-a-rung.md are those of one run of the ladder.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;

use loadtest::servers::report::Report;
use loadtest::servers::repository;
use loadtest::servers::svg;

#[test]
fn the_page_and_its_picture_show_the_figures_of_the_kept_run() {
    let docs = repository().join("docs");
    let report = Report::read(&docs.join(Report::KEPT)).unwrap();
    let read = |name| fs::read_to_string(docs.join(name)).unwrap();
    let page = read(Report::PAGE);
    assert!(
        report.into_page(&page).unwrap() == page,
        "run make ladder, then make ladder ARGS=page"
    );
    assert!(svg::picture(&report) == read(Report::PICTURE), "make ladder ARGS=page writes it");
}
