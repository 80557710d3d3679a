use super::*;

#[test]
fn of_paths_that_overlap_the_more_exact_one_from_the_left_has_a_request() {
    let order = ["/a/b", "/a/b/*/d", "/a/b/*", "/a/*/c", "/a/*/c/*", "/a/*/*", "/a/*"];
    let ranks = order.map(|text| text.parse::<Path>().expect(text).rank());
    assert!(ranks.is_sorted(), "{ranks:?}");
}

#[test]
fn a_path_is_exact_or_a_prefix() {
    let path = |text: &str| text.parse::<Path>().expect(text);
    assert!(path("/report").matches("/report?a=1") && !path("/report").matches("/report/1"));
    assert!(path("/img/*").matches("/img/a.png") && !path("/img/*").matches("/img"));
    assert_eq!(path("/a.b").pattern(), r"/a\.b(\?|$)");
    let orders = path("/users/*/orders");
    assert_eq!(orders.to_string(), "/users/*/orders");
    assert_eq!(orders.pattern(), r"/users/[^/?]+/orders(\?|$)");
    for (target, is_it) in [
        ("/users/1/orders", true),
        ("/users/1/orders?a=/b", true),
        ("/users//orders", false),
        ("/users/1/orders/2", false),
        ("/users/1/2/orders", false),
        ("/users/1", false),
    ] {
        assert_eq!(orders.matches(target), is_it, "{target}");
    }
    assert!(!orders.matches("/users/1%2F2/orders"));
    let below = path("/users/*/orders/*");
    assert_eq!(below.to_string(), "/users/*/orders/*");
    assert!(below.matches("/users/1/orders/2/3") && !below.matches("/users/1/orders"));
    for (target, template) in [
        ("/users/1/orders/", "/users/*/orders/*"),
        ("/users/1/orders/2", "/users/*/orders/*"),
        ("/users/1/orders/2/", "/users/*/orders/*/*"),
        ("/users/1/orders//2%2f3", "/users/*/orders/*/*"),
        ("/users/1/orders/2/3/4/5", "/users/*/orders/*/*/*"),
    ] {
        assert_eq!(below.template(target), template, "{target}");
    }
    let patterns: Vec<String> = below.templates().into_iter().map(|it| it.0).collect();
    let start = "/users/[^/]+/orders/";
    let deeper = [format!("{start}[^/]*$"), format!("{start}[^/]*/[^/]*$"), start.to_owned()];
    assert_eq!((patterns, orders.template("/users/1/orders")), (deeper.into(), orders.to_string()));
    for text in [
        "",
        "report",
        "/*",
        "/a b",
        "/a//b",
        "/../a",
        "/a*",
        "/*/*",
        "/a/b*/c",
        "/.mirror/x",
        "/a?b",
        "/\"",
        "/a{b",
        "/$x",
        "/a;",
    ] {
        let error = text.parse::<Path>().expect_err(text).to_string();
        assert!(error.contains(&format!("{text:?}")), "{error}");
    }
}
