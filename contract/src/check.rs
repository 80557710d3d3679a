//! Runs one case.

use crate::case::{Case, RequestId};
use crate::image::{self, Maker};
use crate::report::{Outcome, shorten};
use crate::wire::{Answer, Target};

/// How to run the cases.
#[derive(Clone, Debug)]
pub struct Options {
    /// The service runs with `QR_ENGINE=reference`: do not check size and modules.
    pub reference_engine: bool,
    /// The names that `X-Served-By` may have; if there are none, the header is not checked.
    pub served_by: Vec<String>,
    /// Cases under way at once, at least 1.
    pub concurrency: usize,
}

impl Default for Options {
    fn default() -> Self {
        Options { reference_engine: false, served_by: Vec::new(), concurrency: 8 }
    }
}

/// Sends the request of `case` and checks everything that the contract says about the answer.
pub(crate) fn check(target: &Target, case: &Case, options: &Options) -> Outcome {
    let mut outcome = Outcome { name: case.name.clone(), served_by: None, failures: Vec::new() };
    if let Err(error) = check_into(target, case, options, &mut outcome) {
        outcome.failures.push(format!("{error:#}"));
    }
    outcome
}

fn check_into(
    target: &Target,
    case: &Case,
    options: &Options,
    outcome: &mut Outcome,
) -> anyhow::Result<()> {
    let query = case.query.as_ref().map(|query| query.full());
    let query = query.as_deref();
    let path = case.path.as_deref().unwrap_or("/qrcode");
    let mut headers: Vec<(String, String)> =
        case.headers.iter().map(|(name, value)| (name.clone(), value.full())).collect();
    if headers.iter().any(|(_, value)| value.contains("{etag}")) {
        let tag = target.send("GET", path, query, &[], "")?.header("etag").unwrap_or_default();
        headers.iter_mut().for_each(|(_, value)| *value = value.replace("{etag}", &tag));
    }
    let answer = target.send(&case.method, path, query, &headers, &case.body)?;
    outcome.served_by = answer.header("x-served-by");
    let wrong = &mut outcome.failures;
    if !case.expect.status.contains(&answer.status) {
        wrong.push(format!(
            "status: expected {:?}, got {} with {}",
            case.expect.status,
            answer.status,
            shorten(&answer.body)
        ));
        return Ok(());
    }
    if case.method == "HEAD" && !answer.body.is_empty() {
        wrong.push(format!("body: HEAD must have none, got {}", shorten(&answer.body)));
    }
    if case.path.is_some() {
        check_named(case, &answer, wrong);
        if case.expect.request_id.is_some() {
            check_request_id(case, &answer, wrong);
        }
        return Ok(());
    }
    match answer.status {
        200 => check_found(target, case, options, &answer, wrong)?,
        304 => check_not_modified(&answer, wrong),
        _ => check_error(case, &answer, wrong),
    }
    check_request_id(case, &answer, wrong);
    check_served_by(case, &options.served_by, &answer, wrong);
    if case.method == "HEAD" {
        let got = target.send("GET", path, query, &headers, "")?;
        check_head(&answer, &got, wrong);
    }
    Ok(())
}

/// Checks only what a case with a path names.
fn check_named(case: &Case, answer: &Answer, wrong: &mut Vec<String>) {
    for (name, value) in &case.expect.headers {
        expect_header(answer, name, value, wrong);
    }
    if let Some(body) = &case.expect.body {
        let body = body.full();
        if answer.body != body.as_bytes() {
            let (expected, got) = (shorten(body.as_bytes()), shorten(&answer.body));
            wrong.push(format!("body: expected {expected}, got {got}"));
        }
    }
}

fn expect_header(answer: &Answer, name: &str, expected: &str, wrong: &mut Vec<String>) {
    match answer.header(name) {
        Some(value) if value == expected => {}
        Some(value) => wrong.push(format!("{name}: expected {expected:?}, got {value:?}")),
        None => wrong.push(format!("{name}: expected {expected:?}, got none")),
    }
}

fn check_found(
    target: &Target,
    case: &Case,
    options: &Options,
    answer: &Answer,
    wrong: &mut Vec<String>,
) -> anyhow::Result<()> {
    expect_header(answer, "content-type", "image/png", wrong);
    // While a route is ramped, nginx shortens the time; only then does the answer have an Expires.
    let cached = match answer.header("expires") {
        None => "public, max-age=86400",
        Some(_) => "max-age=60",
    };
    expect_header(answer, "cache-control", cached, wrong);
    expect_header(answer, "x-content-type-options", "nosniff", wrong);
    if answer.header("content-length").is_none() {
        wrong.push("content-length: none".to_owned());
    }
    let maker = match answer.header("x-served-by").as_deref() {
        Some("qr-service") if options.reference_engine => Maker::Reference,
        Some("qr-service") => Maker::Service,
        _ => Maker::Other,
    };
    check_tag(answer, maker, wrong);
    if case.method != "HEAD" {
        wrong.extend(image::check(&answer.body, &case.expect, maker));
        let query = case.query.as_ref().map(|query| query.full());
        let again = target.send(&case.method, "/qrcode", query.as_deref(), &[], "")?;
        // A proxy may ask the other side the second time; only answers of one side must agree.
        let same_maker = again.header("x-served-by") == answer.header("x-served-by");
        if same_maker
            && (again.body != answer.body || again.header("etag") != answer.header("etag"))
        {
            wrong.push("the second answer to the same text has another picture or ETag".to_owned());
        }
    }
    Ok(())
}

fn check_tag(answer: &Answer, maker: Maker, wrong: &mut Vec<String>) {
    let Some(tag) = answer.header("etag") else {
        return wrong.push("etag: none".to_owned());
    };
    let opaque = tag.strip_prefix("W/").unwrap_or(&tag);
    if opaque.len() < 3 || !opaque.starts_with('"') || !opaque.ends_with('"') {
        wrong.push(format!("etag: {tag} is not a valid ETag"));
    }
    if maker != Maker::Other && tag.starts_with("W/") {
        wrong.push(format!("etag: {tag} is weak; qr-service must send strong ones"));
    }
}

fn check_not_modified(answer: &Answer, wrong: &mut Vec<String>) {
    if !answer.body.is_empty() {
        wrong.push(format!("body: a 304 must have none, got {}", shorten(&answer.body)));
    }
    if answer.header("etag").is_none() {
        wrong.push("etag: none".to_owned());
    }
}

fn check_error(case: &Case, answer: &Answer, wrong: &mut Vec<String>) {
    // Without an expected error, the server may choose the body.
    let Some(error) = &case.expect.error else { return };
    expect_header(answer, "content-type", "text/plain; charset=utf-8", wrong);
    expect_header(answer, "cache-control", "no-store", wrong);
    expect_header(answer, "x-content-type-options", "nosniff", wrong);
    if answer.status == 405 {
        expect_header(answer, "allow", "GET, HEAD", wrong);
    }
    if case.method != "HEAD" && answer.body != error.as_bytes() {
        wrong.push(format!("body: expected {error:?}, got {}", shorten(&answer.body)));
    }
}

/// Whether the server's HTTP parser refused the request. Such an answer may lack the usual headers.
fn is_servers_own(case: &Case, answer: &Answer) -> bool {
    case.expect.error.is_none() && answer.status >= 400
}

fn check_served_by(case: &Case, names: &[String], answer: &Answer, wrong: &mut Vec<String>) {
    if names.is_empty() || is_servers_own(case, answer) {
        return;
    }
    let got = answer.header("x-served-by");
    if !got.as_ref().is_some_and(|got| names.contains(got)) {
        let got = got.map_or_else(|| "none".to_owned(), |got| format!("{got:?}"));
        wrong.push(format!("x-served-by: expected {}, got {got}", names.join(" or ")));
    }
}

fn check_request_id(case: &Case, answer: &Answer, wrong: &mut Vec<String>) {
    let Some(id) = answer.header("x-request-id") else {
        if !is_servers_own(case, answer) {
            wrong.push("x-request-id: none".to_owned());
        }
        return;
    };
    let visible = (1..=128).contains(&id.len()) && id.bytes().all(|b| b.is_ascii_graphic());
    if !visible {
        wrong.push(format!("x-request-id: {id:?} is not 1 to 128 visible ASCII characters"));
    }
    let sent = case.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("x-request-id"));
    let sent = sent.map(|(_, value)| value.full());
    match (case.expect.request_id, sent) {
        (Some(RequestId::TakenOver), Some(sent)) if sent != id => {
            wrong.push(format!("x-request-id: expected {sent:?} back, got {id:?}"));
        }
        (Some(RequestId::Made), Some(sent)) if sent == id => {
            wrong.push(format!("x-request-id: {id:?} is invalid but came back"));
        }
        _ => {}
    }
}

/// Checks that HEAD has the status and headers of GET. Some values, such as Date, may differ.
fn check_head(head: &Answer, get: &Answer, wrong: &mut Vec<String>) {
    if head.status != get.status {
        wrong.push(format!("status: {} to HEAD, {} to GET", head.status, get.status));
    }
    if head.header_names() != get.header_names() {
        wrong.push(format!(
            "headers: {:?} to HEAD, {:?} to GET",
            head.header_names(),
            get.header_names()
        ));
    }
    for name in ["content-type", "content-length", "cache-control", "etag", "allow"] {
        let (to_head, to_get) = (head.header(name), get.header(name));
        if to_head != to_get {
            wrong.push(format!("{name}: {to_head:?} to HEAD, {to_get:?} to GET"));
        }
    }
}
