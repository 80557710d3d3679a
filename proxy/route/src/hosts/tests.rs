use super::*;

const CARVE: &str = "hosts = [{ names = [\"shop.example\", \"*.shop.example\"], app = \"http://127.0.0.1:1\" },\n\
                     { names = [\"news.shop.example\"], app = \"unix:/run/news\" }]";

fn routes(texts: &[(&str, &str)]) -> Vec<Route> {
    texts.iter().map(|(name, text)| Route::parse(name, text).expect(text)).collect()
}

#[test]
fn the_more_exact_name_counts_and_hosts_of_the_same_are_one_server() {
    let carve = CarveFile::parse(CARVE).expect("valid");
    let routes = routes(&[
        ("a", "path = \"/a\""),
        (
            "b",
            "path = \"/a\"\nhosts = [\"shop.example\", \"old.example\"]\nold.url = \"http://a:1\"",
        ),
        ("c", "path = \"/c\"\nhosts = [\"*.example\"]\nold.url = \"http://a:1\""),
    ]);
    let sites = sites(&carve, &routes);
    let shown: Vec<_> = sites
        .iter()
        .map(|site| {
            let names = site.names.iter().map(|it| it.as_str()).collect::<Vec<_>>().join(" ");
            let routes: String = site.routes.iter().map(|it| it.name.as_str()).collect();
            (names, site.host.map_or_else(String::new, |host| host.app.to_string()), routes)
        })
        .collect();
    let expected = [
        ("", "", "a"),
        ("*.example", "", "ac"),
        ("*.shop.example", "http://127.0.0.1:1", "c"),
        ("news.shop.example", "unix:/run/news", "c"),
        ("old.example", "", "abc"),
        ("shop.example", "http://127.0.0.1:1", "bc"),
    ];
    let shown: Vec<_> =
        shown.iter().map(|(a, b, c)| (a.as_str(), b.as_str(), c.as_str())).collect();
    assert_eq!(shown, expected);
    for (host, has) in [("x.shop.example", false), ("else.test", true), ("old.example", true)] {
        assert_eq!(carve.has(host, &routes[0]), has, "{host}");
    }
}

#[test]
fn the_old_side_of_a_route_is_the_app_of_its_hosts() {
    let carve = CarveFile::parse(CARVE).expect("valid");
    let mut settled = routes(&[
        ("a", "path = \"/a\"\nhosts = [\"www.shop.example\"]"),
        ("b", "path = \"/a\""),
        ("c", "path = \"/a\"\nhosts = [\"shop.example\"]\nold.url = \"http://a:1\""),
    ]);
    settle(&carve, &mut settled).expect("valid");
    let old = |at: usize| settled[at].file.old.url.as_ref().map(ToString::to_string);
    assert_eq!(
        [old(0), old(1), old(2)].map(Option::unwrap_or_default),
        ["http://127.0.0.1:1", "", "http://a:1"]
    );
}

#[test]
fn what_no_host_can_tell_apart_is_a_mistake() {
    let carve = CarveFile::parse(CARVE).expect("valid");
    for (texts, mistake) in [
        (
            ["path = \"/a\"\nhosts = [\"*.example\"]", "path = \"/b\""],
            "r-0.toml: hosts: they have several apps, so set old.url",
        ),
        (
            ["path = \"/a\"\nhosts = [\"old.example\"]", "path = \"/a\""],
            "r-1.toml and r-0.toml have the same path, /a",
        ),
    ] {
        let mut routes = routes(&[("r-0", texts[0]), ("r-1", texts[1])]);
        let said = settle(&carve, &mut routes).expect_err(mistake).to_string();
        assert_eq!(said, mistake);
    }
    let mut routes = routes(&[("a-b-c", "path = \"/a\""), ("a-b-c", "path = \"/b\"")]);
    let said = settle(&carve, &mut routes).expect_err("one name").to_string();
    assert!(said.contains("differ only in hyphens"), "{said}");
}
