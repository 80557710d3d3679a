//! The answers of the app and the proxy, and the differences between them.

use std::collections::{BTreeMap, BTreeSet};

use route::FarUrl;
use ureq::http::HeaderMap;

/// Headers that are not compared: they belong to the connection or to one answer, or every proxy sets its own.
const OWN: [&str; 11] = [
    "connection",
    "content-length",
    "date",
    "keep-alive",
    "server",
    "trailer",
    "transfer-encoding",
    "via",
    "x-request-id",
    "x-served-by",
    "age",
];

/// A whole answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) status: u16,
    headers: BTreeMap<String, Vec<String>>,
    body: Vec<u8>,
}

impl Answer {
    /// `below` is the app's address if it has a path, which the proxy removes from redirects and cookies.
    pub(super) fn new(
        status: u16,
        headers: &HeaderMap,
        body: Vec<u8>,
        below: Option<&FarUrl>,
    ) -> Self {
        let mut of_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in headers {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            // A cookie's value is mostly a token that differs each time. A proxy can break its name and attributes.
            let value = match (name.as_str(), value.split_once('=')) {
                ("set-cookie", Some((cookie, rest))) => {
                    let attributes = rest.find(';').map_or("", |at| &rest[at..]);
                    let path = |url: &FarUrl| format!("ath={}/", url.prefix); // Path= or path=
                    let attributes = match below {
                        Some(url) => attributes.replace(&path(url), "ath=/"),
                        None => attributes.to_owned(),
                    };
                    format!("{cookie}=...{attributes}")
                }
                ("location", _) => {
                    let outside = below.and_then(|url| url.outside(&value)).map(str::to_owned);
                    outside.unwrap_or(value)
                }
                _ => value,
            };
            of_name.entry(name.as_str().to_owned()).or_default().push(value);
        }
        Answer { status, headers: of_name, body }
    }
}

/// An answer, or why there is none.
pub(super) type Outcome = Result<Answer, String>;

/// The status of an answer, or why there is none.
pub(super) type Status = Result<u16, String>;

pub(super) fn status(outcome: &Outcome) -> Status {
    outcome.as_ref().map(|answer| answer.status).map_err(String::clone)
}

/// The differences between the app's answers and the proxy's, one line each. Ignores what differs between the app's own
/// two answers, and what the proxy is to set or remove: the headers of `own`, with their values.
pub(super) fn differences(
    app: &[Outcome; 2],
    proxied: &Outcome,
    own: &BTreeMap<String, String>,
) -> Vec<String> {
    let [one, two, through] = match (app, proxied) {
        ([Ok(one), Ok(two)], Ok(it)) if [one.status, two.status].contains(&it.status) => {
            [one, two, it]
        }
        ([Err(_), _] | [_, Err(_)], Err(_)) => return Vec::new(),
        _ => return vec![differing(&status(&app[0]), &status(proxied))],
    };
    let mut lines = Vec::new();
    let names: BTreeSet<&String> = one.headers.keys().chain(through.headers.keys()).collect();
    for name in names.into_iter().filter(|name| !OWN.contains(&name.as_str())) {
        let [app, again, here] = [one, two, through].map(|it| it.headers.get(name));
        let is_own = own.iter().any(|(header, value)| {
            header.eq_ignore_ascii_case(name)
                && here.map_or(value.is_empty(), |here| *here == [value.as_str()])
        });
        if app == here || app != again || is_own {
            continue;
        }
        lines.push(match [app, here].map(|values| values.map(|it| it.join(" | "))) {
            [Some(values), None] => format!("{name} is missing: the app sends {values}"),
            [None, Some(values)] => format!("{name} is added: {values}"),
            both => {
                let [app, here] = both.map(Option::unwrap_or_default);
                format!("{name}: the app sends {app}, through the proxy it is {here}")
            }
        });
    }
    if one.body == two.body && one.body != through.body {
        let at = one.body.iter().zip(&through.body).take_while(|(one, other)| one == other).count();
        let (app, here) = (one.body.len(), through.body.len());
        lines.push(format!("the body differs from byte {at}: the app sends {app} bytes, through the proxy {here} come"));
    }
    lines
}

/// One line if the statuses differ, none if they match or both have no answer.
pub(super) fn outcomes(app: &Status, proxied: &Status) -> Vec<String> {
    // Two failures match, even if their messages differ.
    let is_same = app.as_ref().ok() == proxied.as_ref().ok();
    if is_same { Vec::new() } else { vec![differing(app, proxied)] }
}

fn differing(app: &Status, proxied: &Status) -> String {
    let [app, proxied] = [app, proxied].map(|status| match status {
        Ok(status) => status.to_string(),
        Err(why) => format!("nothing ({why})"),
    });
    format!("the app answers {app}, through the proxy it is {proxied}")
}
