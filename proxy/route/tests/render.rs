//! What nginx includes, by a real `nginx -t`.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::process::Command;

use route::render::{self, Upstreams};
use route::{BaseUrl, Route};

fn upstreams() -> Upstreams {
    let url = |port| format!("http://127.0.0.1:{port}").parse::<BaseUrl>().unwrap();
    Upstreams { old: url(1).into(), new: url(2).into(), shadow: url(3), prometheus: url(4) }
}

/// Routes with every setting that nginx sees.
fn routes() -> Vec<Route> {
    [
        ("least", "path = \"/least\""),
        ("pictures", "path = \"/img/*\"\nfallback = \"none\"\nkey = \"cookie:user\""),
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
    ]
    .map(|(name, text)| Route::parse(name, text).unwrap())
    .into()
}

#[test]
fn nginx_accepts_every_setting() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let proxy = concat!(env!("CARGO_MANIFEST_DIR"), "/..");
    for name in
        ["nginx.conf", "listen.conf", "listen-admin.conf", "clients.conf", "page-errors.conf"]
    {
        fs::copy(format!("{proxy}/{name}"), at(name)).unwrap();
    }
    for name in ["app-paths.conf", "app-locations.conf"] {
        fs::write(at(name), "").unwrap(); // as around an app of somebody's own
    }
    fs::create_dir(at("edge")).unwrap();
    for (name, text) in render::all(&routes(), &upstreams()) {
        fs::write(at(name), text).unwrap();
    }
    for route in routes().into_iter().filter(|route| !route.is_session()) {
        let dir = at("routes").join(&route.name);
        fs::create_dir_all(&dir).unwrap();
        let name = route.variable();
        // What ramp writes.
        let split = format!(
            "map \"\" ${name}_state {{ default '{{}}'; }}\nmap \"\" ${name}_split {{ default old; }}\n\
             map \"\" ${name}_sampled {{ default 1; }}\nmap \"\" ${name}_ramped {{ default 1; }}\n"
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

/// Streams would be cut 10 s after each reload.
#[test]
fn a_route_of_sessions_leaves_old_workers_their_time() {
    let workers = |routes: &[Route]| render::all(routes, &upstreams())[0].1.clone();
    let all = routes();
    let without: Vec<Route> = all.iter().filter(|route| !route.is_session()).cloned().collect();
    assert!(workers(&without).contains("\nworker_shutdown_timeout 10s;\n"));
    assert!(!workers(&all).contains("\nworker_shutdown_timeout"));
}

#[test]
fn screens_get_valid_json() {
    let all = render::all(&routes(), &upstreams());
    let (_, text) = all.iter().find(|(name, _)| *name == "routes-admin.conf").unwrap();
    let json = text.split("return 200 '[").nth(1).unwrap().split("]\\n'").next().unwrap();
    let listed: serde_json::Value = serde_json::from_str(&format!("[{json}]")).unwrap();
    assert_eq!(listed[5]["new"], "C++ 20");
    assert_eq!(listed[1]["path"], "/img/*");
}
