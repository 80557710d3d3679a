//! What two servers in different languages answer alike, and yet not byte by byte: the old side in Python, the new one
//! in Node.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use service_kit::testing::{Service, eventually};
use support::{in_node, in_python, metric, mirror_to, result_of, routes, start};

/// A shadow of one route, and its sides.
struct Shadowed {
    shadow: Service,
    _sides: [Service; 2],
}

impl Shadowed {
    fn of(route: &str) -> Self {
        let (new, old) = (in_node("new"), in_python("old"));
        let folder = routes(&[("app", route)]);
        let environment = [("SHADOW_ROUTES", folder.path().to_str().unwrap())];
        let url = |side: &Service| format!("http://{}", side.addr);
        let shadow = start(&url(&new), &url(&old), &environment);
        Shadowed { shadow, _sides: [new, old] }
    }

    /// Mirrors a request whose head has these lines, and waits for its result, which is this.
    fn expect(&self, result: &str, head: &str) {
        let count = || result_of(&self.shadow, "app", result);
        let before = count();
        mirror_to(&self.shadow, "app", head, "");
        eventually(&format!("{result} of {head}"), || count() > before);
    }
}

#[test]
fn statuses_are_counted_by_side_and_class() {
    let shadowed =
        Shadowed::of("path = \"/login\"\njudge = \"json\"\nignore_headers = [\"content-type\"]");
    // They agree that nobody may see it, and say nothing of what clients get.
    shadowed.expect("match", "GET /login HTTP/1.1\r\nHost: x");
    for side in ["new", "old"] {
        let answers = |class: &str| {
            let labels = format!("{{route=\"app\",side=\"{side}\",class=\"{class}\"}}");
            metric(&shadowed.shadow, &format!("shadow_answers_total{labels}"))
        };
        assert_eq!(["2xx", "3xx", "4xx", "5xx"].map(answers), [0.0, 0.0, 1.0, 0.0]);
    }
}
