//! The files that nginx includes, checked by a real `nginx -t`.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

use route::render::{self, OF_THE_APP, SHARED, Upstreams};
use route::{BaseUrl, CarveFile, Route};

fn upstreams() -> Upstreams {
    let url = |port| format!("http://127.0.0.1:{port}").parse::<BaseUrl>().unwrap();
    Upstreams {
        old: url(1).into(),
        new: url(2).into(),
        shadow: url(3),
        prometheus: url(4),
        resolved: Vec::new(),
        addresses: Default::default(),
    }
}

/// Routes with every setting that affects nginx.
fn routes() -> Vec<Route> {
    [
        ("least", "path = \"/least\""),
        ("pictures", "path = \"/img/*\"\nfallback = \"none\"\nkey = \"cookie:user\""),
        ("segments", "path = \"/users/*/orders\"\nmethods = [\"any\"]"),
        ("segments-below", "path = \"/users/*/a.b/*\""),
        ("order", "path = \"/order\"\nmethods = [\"POST\"]"),
        ("bare", "path = \"/img\"\nfallback = \"new-to-old\""),
        ("dots-and-plus", "path = \"/a.b+c(d)\"\nmethods = [\"any\"]\nkey = \"header:X-User\""),
        (
            "full",
            "path = \"/full\"\nmethods = [\"GET\", \"POST\"]\nkey = \"parameter:q\"\nmax_body = \"2m\"\ncache = \"64m\"\n\
             [old]\nurl = \"http://127.0.0.1:5\"\nconnect_timeout = \"250ms\"\n\
             [new]\nname = \"C++ 20\"\nurl = \"http://[::1]:6\"\ntimeout = \"1500ms\"\n\
             [shadow]\nmethods = [\"GET\", \"POST\"]\n",
        ),
        (
            "local",
            "path = \"/local\"\nold.url = \"unix:/run/a_fallback\"\nnew.url = \"unix:/run/a@b.sock\"\n",
        ),
        ("relay", include_str!("../../routes/relay.toml")),
        (
            "session-2",
            "path = \"/session\"\njudge = \"session\"\nmax_body = \"1m\"\nidle_timeout = \"90s\"\n\
             old.url = \"http://127.0.0.1:7\"\nnew.url = \"http://[::1]:8\"\n\
             homes = [{ url = \"http://127.0.0.1:9\", admin = \"http://127.0.0.1:10\" }]\n",
        ),
        ("shop", "path = \"/shop/*\"\nhosts = [\"shop.example\", \"*.shop.example\"]"),
    ]
    .map(|(name, text)| Route::parse(name, text).unwrap())
    .into()
}

fn accepted(carve: &CarveFile) {
    accepted_with(carve, &routes());
}

fn accepted_with(carve: &CarveFile, routes: &[Route]) {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let proxy = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    for name in ["nginx.conf", "listen.conf", "listen-admin.conf"].into_iter().chain(SHARED) {
        fs::copy(format!("{proxy}/{name}"), at(name)).unwrap();
    }
    for name in OF_THE_APP {
        fs::write(at(name), "").unwrap(); // empty, as before any other app
    }
    fs::create_dir(at("edge")).unwrap();
    for (name, text) in render::all(carve, routes, &upstreams()) {
        fs::write(at(name), text).unwrap();
    }
    for route in routes.iter().filter(|route| !route.is_session()) {
        let dir = at("routes").join(&route.name);
        fs::create_dir_all(&dir).unwrap();
        let name = route.variable();
        // The file that ramp writes.
        let split = format!(
            "map \"\" ${name}_state {{ default '{{}}'; }}\nmap \"\" ${name}_split {{ default old; }}\n\
             map \"\" ${name}_sampled {{ default 1; }}\nmap \"\" ${name}_ramped {{ default 1; }}\n\
             map \"\" ${name}_given {{ default 1; }}\nmap \"\" ${name}_key_hash {{ default 1; }}\n"
        );
        fs::write(dir.join("split.conf"), split).unwrap();
    }
    let mut nginx = Command::new("nginx");
    let path = std::env::var("PATH").unwrap_or_default();
    nginx.env("PATH", format!("{path}:/usr/sbin:/sbin"));
    nginx.args(["-t", "-q", "-e", "stderr", "-p"]).arg(folder.path());
    let output = nginx.arg("-c").arg(at("nginx.conf")).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn nginx_accepts_every_setting() {
    accepted(&CarveFile::default());
    let strict = include_str!("../../routes/carve.toml");
    let strict = strict.replace("[front]", "[front]\ndrain = \"10s\"");
    accepted(&CarveFile::parse(&strict).unwrap());
    let hosts = "front.listen = [{ address = \"127.0.0.1:9\", http2 = true }]\n\
                 hosts = [{ names = [\"*.shop.example\"], app = \"https://127.0.0.1:11/base\" },\n\
                 { names = [\"LONG\"], app = \"unix:/run/app\" }]";
    let label = ["a"; 60].concat();
    let long = [label.as_str(); 4].join(".");
    accepted(&CarveFile::parse(&hosts.replace("LONG", &long)).unwrap());
}

/// nginx' parameters end at 4096 bytes.
#[test]
fn nginx_accepts_two_hundred_routes_with_long_names() {
    let named = |number| format!("route-{number}-{}", ["a"; 20].concat());
    let route = |number: u32| {
        Route::parse(&named(number), &format!("path = \"/{}\"", named(number))).unwrap()
    };
    accepted_with(&CarveFile::default(), &(0..200).map(route).collect::<Vec<_>>());
}

fn text_of<'a>(files: &'a [(&str, String)], file: &str) -> &'a str {
    let (_, text) = files.iter().find(|(name, _)| *name == file).unwrap();
    text
}

/// `make generate` writes rendered.txt, by `GENERATE=1`.
#[test]
fn the_files_of_the_demonstration_are_up_to_date() {
    let proxy = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    let (carve, routes) = route::load(&proxy.join("routes")).unwrap();
    let url = |port| format!("http://127.0.0.1:{port}").parse::<BaseUrl>().unwrap();
    let (old, new) = (url(3000).into(), url(42069).into());
    let (shadow, prometheus) = (url(42080), url(9090));
    let upstreams = Upstreams { old, new, shadow, prometheus, ..upstreams() };
    let files = render::all(&carve, &routes, &upstreams).into_iter();
    let made: String = files.map(|(name, text)| format!("==> {name} <==\n{text}\n")).collect();
    let kept = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/rendered.txt");
    if std::env::var_os("GENERATE").is_some() {
        fs::write(&kept, &made).unwrap();
    }
    assert_eq!(made, fs::read_to_string(kept).unwrap_or_default(), "run make generate");
}

/// SECURITY.md: a side sees of these headers only what nginx itself knows.
#[test]
fn headers_that_nginx_sets_itself_are_set_for_grpc_too() {
    let set = |text: &str, module: &str| -> BTreeMap<String, String> {
        let lines = text.lines().filter_map(|line| line.trim().strip_prefix(module));
        let headers = lines.filter_map(|line| line.strip_prefix("_set_header ")?.split_once(' '));
        headers.map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
    };
    for front in ["", "trusted_proxies = [\"10.0.0.0/8\"]", "underscores = false"] {
        let carve = format!(
            "[front]\n{front}\nlisten = [{{ address = \"127.0.0.1:9\", http2 = true }}]\n\
             [headers.request]\nX-Tenant = \"a b\"\n"
        );
        let files = render::all(&CarveFile::parse(&carve).unwrap(), &[], &upstreams());
        let mut http = set(text_of(&files, "headers.conf"), "proxy");
        assert_eq!(http.contains_key("X_Forwarded_For"), !front.contains("underscores"));
        // gRPC is not mirrored and has no fallback.
        for name in ["X-Route-Fallback", "X-Route-Name", "X-Route-Shadow"] {
            assert!(http.insert(name.to_owned(), "\"\";".to_owned()).is_some());
        }
        assert_eq!(set(text_of(&files, "grpc.conf"), "grpc"), http, "{front}");
    }
}

/// In each row: `carve.toml`, the route's file, the file for nginx, and what it contains or, after a `!`, does not.
const SETTINGS: &str = r#"
front.trusted_proxies = ["10.0.0.0/8"] | | clients.conf | set_real_ip_from 10.0.0.0/8; | 10.0.0.0/8 1;
front.trusted_proxies = ["10.0.0.0/8"] | | clients.conf | map $is_from_proxy $forwarded_port {
front.max_line = "4k" | | front.conf | large_client_header_buffers 4 4k; | !proxy_buffer_size
 | | front.conf | proxy_buffer_size 64k; | !limit_conn
 | | rest.conf | client_body_buffer_size 64k; | sendfile_max_chunk 32k;
app.buffering = true | | rest.conf | !client_body | !sendfile
headers.response = { X-A = "b", X-B = "" } | | front.conf | add_header X-A "b" always; | !add_header X-B
headers.response = { X-A = "b", X-B = "" } | | front.conf | proxy_hide_header X-A; | proxy_hide_header X-B;
front = { TLS, listen = [{ address = "[::1]:80", redirect = true }, { address = "127.0.0.1:443", tls = true }] } | \
    | listeners.conf | listen 127.0.0.1:443 ssl http2; | certificate "c.pem"; | key "k.pem"; | ![::1]
front = { TLS, listen = [{ address = "[::1]:80", redirect = true }, { address = "127.0.0.1:443", tls = true }] } | \
    | redirects.conf | listen [::1]:80; | return 308 https://$host$request_uri;
front = { TLS, listen = [{ address = "[::1]:80", redirect = true }, { address = "127.0.0.1:8443", tls = true }] } | \
    | redirects.conf | return 308 https://$host:8443$request_uri;
front.listen = [{ address = "127.0.0.1:9", http2 = true }] | | listeners.conf | listen 127.0.0.1:9 http2; | !ssl
hosts = [{ names = ["a.b"], app = "http://a:1" }, { names = ["c.d"], app = "https://c:2/base" }] | \
    | hosts.conf | proxy_pass http://app_1; | proxy_ssl_name c; | ssl_verify on; | cookie_path /base/ /; | \
    proxy_pass https://app_2/base$request_uri;
 | new.url = "https://far" | locations.conf | proxy_ssl_name far; | proxy_pass https://report_new; | !proxy_redirect
 | | locations.conf | if ($request_method !~ "^(GET\174HEAD)$") { | if ($has_body) { | ($report_too_long) | !proxy_cache
app.max_body = "17k" | | routes.conf | map $content_length $report_too_long {
app.max_body = "16k" | body = "buffered" | locations.conf | !_too_long | !$has_body
 | cache = "64m" | locations.conf | proxy_cache report_cache; | no_cache $report_ramped $http_authorization;
"#;

#[test]
fn each_setting_is_a_line_of_nginx() {
    let tls = "tls = { certificate = \"c.pem\", key = \"k.pem\" }";
    let rows = SETTINGS.replace("\\\n", "").replace("TLS", tls);
    for row in rows.lines().filter(|row| !row.is_empty()) {
        let mut parts = row.split('|').map(|part| part.trim().replace("\\174", "|"));
        let [carve, route, file] = [(); 3].map(|()| parts.next().unwrap());
        let route = Route::parse("report", &format!("path = \"/report\"\n{route}")).unwrap();
        let files = render::all(&CarveFile::parse(&carve).unwrap(), &[route], &upstreams());
        let text = text_of(&files, &file);
        for part in parts {
            let has_it = text.contains(part.trim_start_matches('!'));
            assert!(has_it != part.starts_with('!'), "{row}: {part}: {text}");
        }
    }
    let text = "#:schema ./route.schema.json\npath = \"/report\"\n";
    let copy = render::route_file(&Route::parse("report", text).unwrap());
    assert!(copy.ends_with("\npath = \"/report\"\n") && !copy.contains("schema"), "{copy}");
}

/// A bound would cut streams after each reload.
#[test]
fn old_workers_have_a_bound_only_if_the_front_has_one_and_no_route_has_sessions() {
    let drained = CarveFile::parse("[front]\ndrain = \"10s\"").unwrap();
    let workers = |carve, routes: &[Route]| render::all(carve, routes, &upstreams())[0].1.clone();
    let all = routes();
    let without: Vec<Route> = all.iter().filter(|route| !route.is_session()).cloned().collect();
    assert!(workers(&drained, &without).contains("\nworker_shutdown_timeout 10s;\n"));
    assert!(!workers(&drained, &all).contains("\nworker_shutdown_timeout"));
    assert!(!workers(&CarveFile::default(), &without).contains("\nworker_shutdown_timeout"));
}

#[test]
fn screens_get_valid_json() {
    let all = render::all(&CarveFile::default(), &routes(), &upstreams());
    let (_, text) = all.iter().find(|(name, _)| *name == "routes-admin.conf").unwrap();
    let json = text.split("return 200 '[").nth(1).unwrap().split("]\\n'").next().unwrap();
    let listed: serde_json::Value = serde_json::from_str(&format!("[{json}]")).unwrap();
    assert_eq!(listed[7]["new"], "C++ 20");
    assert_eq!(listed[1]["path"], "/img/*");
}

/// The text of the block with this head, such as an `upstream` or a `location`.
fn block<'a>(files: &'a [(&str, String)], file: &str, head: &str) -> &'a str {
    let (_, text) = files.iter().find(|(name, _)| *name == file).unwrap();
    let from = text.find(&format!("\n{head} {{")).unwrap_or_else(|| panic!("{head}: {text}"));
    text[from..].split("\n}\n").next().unwrap()
}

#[test]
fn a_bad_pod_is_left_alone_and_another_one_asked() {
    let mut upstreams = upstreams();
    upstreams.new = "http://pods:2".parse().unwrap();
    upstreams.resolved = vec!["http://pods:2".parse().unwrap()];
    let route =
        |text: &str| Route::parse("report", &format!("path = \"/report\"\n{text}")).unwrap();
    let files = render::all(&CarveFile::default(), &[route("")], &upstreams);
    let new = block(&files, "upstreams.conf", "upstream report_new");
    assert!(new.contains(
        "    server pods:2 resolve max_fails=3 fail_timeout=5s;\n    \
         server pods:2 resolve max_fails=3 fail_timeout=5s backup;\n"
    ));
    // Nobody stands in for the app, so its only server is always asked, unless carve.toml says otherwise.
    let app = |files: &[(&str, String)]| block(files, "upstreams.conf", "upstream old").to_owned();
    assert_eq!(app(&files).matches("server 127.0.0.1:1 max_fails=0;").count(), 2);
    let pause = CarveFile::parse("[app]\npause = \"1500ms\"").unwrap();
    let paused = render::all(&pause, &[route("")], &upstreams);
    assert!(block(&paused, "upstreams.conf", "upstream new").contains("max_fails=0 backup"));
    assert_eq!(app(&paused).matches("server 127.0.0.1:1 max_fails=3 fail_timeout=1s;").count(), 2);
    let rescue = block(&files, "upstreams.conf", "upstream report_rescue");
    assert!(rescue.contains("    server pods:2 resolve max_conns=64 max_fails=0;\n"), "{rescue}");
    assert!(!block(&files, "upstreams.conf", "upstream report_old").contains("resolve"));
    let (_, groups) = files.iter().find(|(name, _)| *name == "upstreams.conf").unwrap();
    assert!(groups.contains("\ninclude resolver.conf;"));

    let retry = "    proxy_next_upstream error timeout;\n    proxy_next_upstream_tries 2;\n";
    for (location, has_it) in [
        ("location @report_new", true),
        ("location @report_sampled", true),
        ("location @report_rescue", true),
        ("location @report_old", false),
        ("location @report_fallback", false),
    ] {
        let text = block(&files, "locations.conf", location);
        assert_eq!(text.contains(retry), has_it, "{text}");
    }
    // Only if the file asks for it, since nginx pauses a pod that answers 500, and might pause all pods of a side.
    let files = render::all(&CarveFile::default(), &[route("new.retry_500 = true")], &upstreams);
    let text = block(&files, "locations.conf", "location @report_new");
    assert!(text.contains("    proxy_next_upstream error timeout http_500;\n"), "{text}");
}

/// A second attempt would reach the same server.
#[test]
fn one_server_is_asked_once() {
    let route = Route::parse("report", "path = \"/report\"\nnew.retry_500 = true").unwrap();
    let files = render::all(&CarveFile::default(), &[route], &upstreams());
    let asks_again = |text: &str| text.contains("next_upstream") || text.contains("resolve");
    assert!(!files.iter().any(|(_, text)| asks_again(text)));
}

#[test]
fn a_side_that_nobody_stands_in_for_may_take_as_long_as_the_app() {
    let carve = CarveFile::parse("[app]\ntimeout = \"1m\"").unwrap();
    let read = |carve: &CarveFile, text: &str, location: &str| {
        let route = Route::parse("report", &format!("path = \"/report\"\n{text}")).unwrap();
        let files = render::all(carve, &[route], &upstreams());
        let block = block(&files, "locations.conf", location);
        let (_, time) = block.split_once("proxy_read_timeout ").unwrap();
        time.split(';').next().unwrap().to_owned()
    };
    let (new, old) = ("location @report_new", "location @report_old");
    let (alone, own) = ("fallback = \"none\"", "fallback = \"none\"\nold.timeout = \"3s\"");
    assert_eq!([new, old].map(|it| read(&carve, "", it)), ["10s", "10s"]);
    assert_eq!([new, old].map(|it| read(&carve, "fallback = \"new-to-old\"", it)), ["10s", "60s"]);
    assert_eq!([new, old].map(|it| read(&carve, alone, it)), ["60s", "60s"]);
    assert_eq!([new, old].map(|it| read(&carve, own, it)), ["60s", "3s"]);
    assert_eq!(read(&CarveFile::default(), alone, old), "365d");
    // Also before a share is given.
    let stopped = "location @report_stopped";
    assert_eq!(["", own].map(|it| read(&carve, it, stopped)), ["60s", "60s"]);
}

#[test]
fn an_event_stream_is_not_mirrored() {
    let route = Route::parse("report", "path = \"/report\"").unwrap();
    let files = render::all(&CarveFile::default(), &[route], &upstreams());
    let (_, maps) = files.iter().find(|(name, _)| *name == "routes.conf").unwrap();
    let stream =
        "map $http_accept $wants_no_stream {\n    default 1;\n    ~text/event-stream 0;\n}";
    let mirrored =
        "    default 0;\n    \"1 GET\" $wants_no_stream;\n    \"1 HEAD\" $wants_no_stream;\n}";
    assert!(maps.contains(stream) && maps.contains(mirrored), "{maps}");
}
