use super::*;

#[test]
fn the_default_gates_are_valid() {
    let gates = Gates::of(&route("")).expect("valid");
    assert!(gates.all.iter().all(|gate| !gate.query.contains("$route")));
    // What the documentation promises.
    let tests = gates.tests.iter().map(|it| (it.name.as_str(), it.excess, it.proof, it.absolute));
    let expected = [
        ("failures", 0.001, Some(0.005), Some(0.05)),
        ("outages", 0.02, None, None),
        ("statuses", 0.01, None, None),
        ("empty", 0.01, None, None),
        ("slow", 0.01, None, None),
        ("pair-failures", 0.002, Some(0.02), None),
        ("pair-latency", 0.01, Some(0.1), None),
        ("shadow-answers", 0.1, None, None),
        ("sample-ratio", 0.001, None, None),
    ];
    assert_eq!(tests.collect::<Vec<_>>(), expected);
    let slow = gates.tests.iter().find_map(|it| it.above);
    assert_eq!((slow, gates.overlap), (Some(Duration::from_millis(250)), Duration::from_secs(10)));
    let limits = gates.all.iter().map(|it| (it.name.as_str(), &it.limit));
    let limits: Vec<String> = limits.map(|(name, limit)| format!("{name} {limit:?}")).collect();
    let expected = "samples-fresh Number(15.0), parts-up Number(2.0), comparisons Number(100.0), requests Number(100.0), \
                    lines-lost Number(0.01), classes Number(0.0), mismatches Number(0.0)";
    assert_eq!(limits.join(", "), expected);
}

#[test]
fn a_file_may_leave_out_alpha_and_block_and_compares_in_five_ways() {
    let text = |compare: &str| {
        format!(
            "overlap = \"10s\"\n[[gate]]\nname = \"a\"\nquery = \"$route\"\ncompare = \"{compare}\"\nlimit = 1\n"
        )
    };
    for (compare, holds) in [
        ("==", [false, true, false]),
        ("<", [true, false, false]),
        ("<=", [true, true, false]),
        (">", [false, false, true]),
        (">=", [false, true, true]),
    ] {
        let gates = Gates::of_text(&text(compare), &route("")).expect(compare);
        let found = &gates.all[0];
        assert_eq!([0.0, 1.0, 2.0].map(|value| (found.compare.holds)(&value, &1.0)), holds);
        assert_eq!((found.compare.operator, found.query.as_str()), (compare, "report"));
        assert_eq!((gates.alpha, gates.block), (0.01, Duration::from_secs(5)));
    }
}

/// A bound of the edge's histogram within the shorter timeout.
#[test]
fn answers_later_than_the_shorter_timeout_count_as_failures_of_both_sides() {
    let session = include_str!("../../../routes/relay.toml");
    let equal = |text: &str| Gates::of(&route(text)).expect(text).equal_timeout;
    assert_eq!(equal(""), None);
    assert_eq!(equal("new.timeout = \"1500ms\""), Some(1.0));
    assert_eq!(equal("old.timeout = \"2500ms\""), Some(2.5));
    assert_eq!(equal("old.timeout = \"1s\"\nnew.timeout = \"1s\""), None);
    let relay = Route::parse("relay", session).expect("valid");
    assert_eq!(Gates::of(&relay).expect("valid").equal_timeout, None);
}

#[test]
fn sessions_have_gates_of_their_own_which_need_no_shadow() {
    let text = include_str!("../../../routes/relay.toml");
    let gates = Gates::of(&Route::parse("relay", text).expect("valid"));
    let gates = gates.expect("valid");
    let counted: Vec<Quantity> = gates.tests.iter().map(|test| test.counts).collect();
    let expected = [Quantity::Failures, Quantity::Outages, Quantity::Statuses, Quantity::Own];
    assert_eq!(counted, expected);
    assert!(gates.all.iter().any(|gate| gate.query.contains("route=\"relay\"")));
    assert!(gates.all.iter().all(|gate| !gate.query.contains("shadow")));
}

#[test]
fn behind_a_gateway_its_counters_stand_for_the_edges_whatever_the_file_changes() {
    let file = |gates: &str| {
        let of_gateway = "old.url = \"http://a:1\"\nnew.url = \"http://b:1\"\n[gateway]\napp = \"a\"\n\
                          counts = { requests = \"total{side='$backend'}\", status = \"code\" }\n";
        let route = Route::parse("r", &format!("path = \"/r\"\n{of_gateway}{gates}"));
        Gates::of(&route.expect("a route")).expect("valid")
    };
    let gates = file("[gates.requests]\nlimit = 50\n[gates.empty]\nexcess = 0.5\n");
    let requests = gates.all.iter().find(|gate| gate.name == "requests").expect("requests");
    assert_eq!(requests.query, "sum(increase(total{side='0'}[$window]))");
    assert!(matches!(requests.limit, Limit::Number(50.0)));
    let names = |gates: &Gates| {
        let tests = gates.tests.iter().map(|test| test.name.clone());
        tests.chain(gates.all.iter().map(|gate| gate.name.clone())).collect::<Vec<_>>()
    };
    // The file wants `empty`; what needs nginx' log or the shadow is out.
    let expected = ["failures", "statuses", "empty", "sample-ratio", "samples-fresh", "requests"];
    assert_eq!(names(&gates), expected);
    assert!(!names(&file("[gates.requests]\noff = true\n")).contains(&"requests".to_owned()));
}

#[test]
fn where_noise_is_measured_a_difference_alone_fails_nothing() {
    let has = |text: &str| {
        let gates = Gates::of(&route(text)).expect("valid");
        let differences = gates.tests.iter().any(|test| test.name == "differences");
        (differences, gates.all.iter().any(|gate| gate.name == "mismatches"))
    };
    assert_eq!(has(""), (false, true));
    assert_eq!(has("[shadow]\nnoise = 20\n"), (true, false));
    let both = "[shadow]\nnoise = 20\n[gates.mismatches]\nlimit = 100\n";
    assert_eq!(has(both), (true, true));
}

fn route(gates: &str) -> Route {
    Route::parse("report", &format!("path = \"/report\"\n{gates}")).expect("a route")
}

#[test]
fn a_route_file_changes_adds_and_leaves_out_gates() {
    let gates = route(
        "[gates.failures]\nexcess = 0.5\n[gates.comparisons]\nlimit = 7\n\
         [gates.mismatches]\noff = true\n[gates.slow]\noff = true\n\
         [gates.mine]\nquery = \"a{route='$route'}\"\ncompare = \"<\"\nlimit = 1\n",
    );
    let gates = Gates::of(&gates).expect("valid");
    let named = |name: &str| gates.all.iter().find(|gate| gate.name == name);
    assert!(named("comparisons").is_some_and(|gate| matches!(gate.limit, Limit::Number(7.0))));
    assert!(named("mismatches").is_none() && named("mine").is_some());
    let test = |name: &str| gates.tests.iter().find(|test| test.name == name);
    assert!(test("failures").is_some_and(|test| test.excess == 0.5) && test("slow").is_none());
    assert!(Gates::of(&route("[gates.failures]\nexcess = 0.0\n")).is_ok());
    for (text, problem) in [
        ("[gates.mine]\nlimit = 1\n", "report.toml: gates.mine: missing field `query`"),
        ("[gates.failures]\nmargin = 1\n", "gates.failures: unknown field `margin`"),
        ("[gates.comparisons]\nlimits = 1\n", "gates.comparisons: unknown field `limits`"),
        ("[gates.failures]\nproof = 2.0\n", "test \"failures\": proof must be a ratio"),
        ("[gates.slow]\nabove = \"200ms\"\n", "above: 0.2 must be a bound of the edge's histogram"),
        ("[gates.pair-latency]\nabsolute = 0.1\n", "`absolute` belongs to the counts"),
        (
            "[gates.mine]\ncounts = \"own\"\nexcess = 0.1\n",
            "test \"mine\": the counts \"own\" and the table `own` belong together",
        ),
        ("[gates.failures]\nproof = 0.0\n", "test \"failures\": proof must be a ratio"),
        ("[gates.failures]\nexcess = 1.0\n", "test \"failures\": excess must be a ratio"),
        ("[gates.mine]\noff = true\n", "gates.mine: the standard gates are failures, outages,"),
    ] {
        let error = format!("{:#}", Gates::of(&route(text)).expect_err(text));
        assert!(error.contains(problem) && error.lines().count() == 1, "{error}");
    }
}

#[test]
fn an_error_in_a_file_names_the_line() {
    let head = "overlap = \"10s\"\n";
    let gate = "[[gate]]\nname = \"a\"\nquery = \"1\"\ncompare = \"==\"\n";
    let with = |rest: &str| format!("{head}{gate}{rest}");
    for (text, problem) in [
        (String::new(), "missing field `overlap`"),
        ("overlap = \"10 parsecs\"\n".to_owned(), "line 1: overlap: \"10 parsecs\""),
        (format!("{head}gate = []\n"), "no gates"),
        (with(""), "missing field `limit`"),
        (with("limit = 0\nwindow = \"stop\"\n"), "line 7: window: \"stop\""),
        (with("limit = 0\notherwise = \"panic\"\n"), "line 7: otherwise: unknown variant"),
        (
            with("limit = 0\n").replace("==", "="),
            "line 5: compare: \"=\": must be ==, <, <=, > or >=",
        ),
        (with("limit = 0\nlimits = 0\n"), "line 7: unknown field `limits`"),
        (with("limit = 0\n").replace("\"a\"", "\"A\""), "gate \"A\""),
        (with(&format!("limit = 0\n{gate}limit = 1\n")), "gate \"a\" is defined twice"),
    ] {
        let error = format!("{:#}", Gates::parse(&text).expect_err(&text));
        assert!(error.contains(problem) && error.lines().count() == 1, "{error}");
    }
}
