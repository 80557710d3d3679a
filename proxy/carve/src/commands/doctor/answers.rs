//! The answers of the app and the proxy, and the differences between them.

use std::collections::{BTreeMap, BTreeSet};

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

/// The outcome of one request.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    Whole {
        status: u16,
        headers: BTreeMap<String, Vec<String>>,
        body: Vec<u8>,
    },
    /// No answer, for this reason.
    None(String),
}

impl Answer {
    pub(super) fn whole(status: u16, headers: &HeaderMap, body: Vec<u8>) -> Self {
        let mut of_name: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for (name, value) in headers {
            let value = String::from_utf8_lossy(value.as_bytes()).into_owned();
            // A cookie's value is mostly a token that differs each time. A proxy can break its name and attributes.
            let value = match (name.as_str(), value.split_once('=')) {
                ("set-cookie", Some((cookie, rest))) => {
                    let attributes = rest.find(';').map_or("", |at| &rest[at..]);
                    format!("{cookie}=...{attributes}")
                }
                _ => value,
            };
            of_name.entry(name.as_str().to_owned()).or_default().push(value);
        }
        Answer::Whole { status, headers: of_name, body }
    }

    /// The status, or why there is no answer.
    pub(super) fn outcome(&self) -> String {
        match self {
            Answer::Whole { status, .. } => status.to_string(),
            Answer::None(why) => format!("nothing ({why})"),
        }
    }
}

/// The differences between the app's answers and the proxy's, one line each. Ignores what differs between the app's own
/// two answers.
pub(super) fn differences(app: &[Answer; 2], proxied: &Answer) -> Vec<String> {
    let (one, two, through) = match (&app[0], &app[1], proxied) {
        (
            Answer::Whole { status: one_status, headers: one, body: one_body },
            Answer::Whole { status: two_status, headers: two, body: two_body },
            Answer::Whole { status, headers: through, body },
        ) => {
            if one_status != status && two_status != status {
                return vec![statuses(&app[0], proxied)];
            }
            let (one, two) = ((one, one_body), (two, two_body));
            (one, two, (through, body))
        }
        (Answer::None(_), _, Answer::None(_)) | (_, Answer::None(_), Answer::None(_)) => {
            return Vec::new();
        }
        _ => return vec![statuses(&app[0], proxied)],
    };
    let mut lines = Vec::new();
    let names: BTreeSet<&String> = one.0.keys().chain(through.0.keys()).collect();
    for name in names.into_iter().filter(|name| !OWN.contains(&name.as_str())) {
        let [one, two, through] = [one.0, two.0, through.0].map(|headers| headers.get(name));
        if one == through || one != two {
            continue;
        }
        lines.push(match (one, through) {
            (Some(values), None) => {
                format!("{name} is missing: the app sends {}", values.join(" | "))
            }
            (None, Some(values)) => format!("{name} is added: {}", values.join(" | ")),
            (one, through) => {
                let [one, through] =
                    [one, through].map(|it| it.map(|it| it.join(" | ")).unwrap_or_default());
                format!("{name}: the app sends {one}, through the proxy it is {through}")
            }
        });
    }
    if one.1 == two.1 && one.1 != through.1 {
        let at = one.1.iter().zip(through.1).take_while(|(one, other)| one == other).count();
        let (app, here) = (one.1.len(), through.1.len());
        lines.push(format!("the body differs from byte {at}: the app sends {app} bytes, through the proxy {here} come"));
    }
    lines
}

/// Compares only the statuses: one line if they differ, none if they match or both have no answer.
pub(super) fn outcomes(app: &Answer, proxied: &Answer) -> Vec<String> {
    let is_same = match (app, proxied) {
        (Answer::Whole { status, .. }, Answer::Whole { status: other, .. }) => status == other,
        // Two failures match, even if their messages differ.
        (Answer::None(_), Answer::None(_)) => true,
        _ => false,
    };
    if is_same { Vec::new() } else { vec![statuses(app, proxied)] }
}

fn statuses(app: &Answer, proxied: &Answer) -> String {
    format!("the app answers {}, through the proxy it is {}", app.outcome(), proxied.outcome())
}
