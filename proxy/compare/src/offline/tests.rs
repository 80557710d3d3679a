use super::*;

fn routes() -> Vec<Arc<ComparedRoute>> {
    let side = "http://127.0.0.1:1".parse().unwrap();
    let files = [
        ("report", "path = \"/report\"\nshadow.send_headers = [\"accept\", \"cookie\"]"),
        ("orders", "path = \"/orders\"\nmethods = [\"POST\"]"),
        ("search", "path = \"/search\"\nmethods = [\"POST\"]\nshadow.methods = [\"POST\"]"),
    ];
    let watched = |(name, text)| {
        let route = route::Route::parse(name, text).unwrap();
        Arc::new(ComparedRoute::of(route, &side, &side, Duration::from_secs(1)).unwrap())
    };
    files.map(watched).to_vec()
}

fn lines_of(content: &str, host: Option<&HeaderValue>) -> (Vec<Line>, Skipped) {
    lines(formats::parse(content.as_bytes()).unwrap(), &CarveFile::default(), &routes(), host)
}

#[test]
fn what_cannot_be_asked_is_skipped_with_its_reason() {
    let content = "/report\n/other\n/orders\n{\"method\":\"POST\",\"path\":\"/orders\"}\n\
        {\"method\":\"POST\",\"path\":\"/search\"}\n/another\nx \"-\"\n";
    let (lines, skipped) = lines_of(content, None);
    assert_eq!(lines.iter().map(|line| line.number).collect::<Vec<_>>(), [1, 5]);
    let skipped = skipped.to_string();
    for why in [
        "2 of no route (the first in line 2)",
        "1 whose method GET route orders does not have (the first in line 3)",
        "1 whose method POST shadow.methods of orders does not have (the first in line 4)",
        "1 without a request (the first in line 7)",
    ] {
        assert!(skipped.contains(why), "{skipped}");
    }
}

#[test]
fn a_request_is_of_the_route_of_its_host() {
    let hosts = [("main", ""), ("shop", "hosts = [\"*.shop.example\", \"shop.example\"]")];
    let side = "http://127.0.0.1:1".parse().unwrap();
    let routes = hosts.map(|(name, hosts)| {
        let route = route::Route::parse(name, &format!("path = \"/report\"\n{hosts}")).unwrap();
        Arc::new(ComparedRoute::of(route, &side, &side, Duration::from_secs(1)).unwrap())
    });
    let carve = "hosts = [{ names = [\"shop.example\", \"*.shop.example\"], app = \"http://127.0.0.1:1\" }]";
    let carve = CarveFile::parse(carve).unwrap();
    for (host, route) in
        [("SHOP.example:80", "shop"), ("a.shop.example", "shop"), ("other.example", "main")]
    {
        let content = format!("{{\"path\":\"/report\",\"headers\":{{\"host\":\"{host}\"}}}}");
        let parsed = formats::parse(content.as_bytes()).unwrap();
        let (lines, _) = lines(parsed, &carve, &routes, None);
        assert_eq!(lines[0].watched.name(), route, "{host}");
        assert_eq!(lines[0].asked.host.as_ref().unwrap(), host);
    }
    let parsed = formats::parse(b"/report").unwrap();
    let (lines, _) = lines(parsed, &carve, &routes[1..], None);
    assert_eq!(lines[0].asked.host.as_ref().unwrap(), "shop.example");
}

#[test]
fn of_a_browsers_headers_only_those_of_the_route_are_sent_and_by_hand_all() {
    let har = r#"{"log":{"entries":[{"request":{"method":"GET","url":"https://shop.example/report","headers":[
        {"name":"Cookie","value":"s=1"},{"name":"Authorization","value":"a"},{"name":"If-None-Match","value":"x"}]}}]}}"#;
    let by_hand = r#"{"path":"/report","headers":{"authorization":"a","x-y":"z"}}"#;
    let (other, address) = (HeaderValue::from_static("other.example"), "127.0.0.1:1");
    for (content, host, sent, expected) in [
        (har, Some(&other), "cookie", "shop.example"),
        (by_hand, Some(&other), "authorization x-y", "other.example"),
        (by_hand, None, "authorization x-y", address),
    ] {
        let (lines, _) = lines_of(content, host);
        let asked = &lines[0].asked;
        let mut names: Vec<&str> = asked.headers.keys().map(HeaderName::as_str).collect();
        names.sort_unstable();
        assert_eq!(
            (names.join(" ").as_str(), asked.host.as_ref().unwrap()),
            (sent, &HeaderValue::from_static(expected))
        );
    }
}
