//! Several hosts, each with its own app, in Node and Python. Nothing about one host affects another.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use route::{CarveFile, Route, SideUrl};
use service_kit::testing::{Process, certificate};

use crate::support::{Front, Setup, app, eventually};

static ASKED: AtomicU32 = AtomicU32::new(0);

const CARVE: &str =
    "hosts = [{ names = [\"shop.example\", \"*.shop.example\"], app = \"http://SHOP\" }]\n";

/// The default app, in Node; the shop's app, in Python; and the new side of the shop's route.
struct Place {
    main: (Process, SocketAddr),
    shop: (Process, SocketAddr),
    new: (Process, SocketAddr),
    front: Front,
    tls: SocketAddr,
}

/// The status of the client's answer, and route, path, side and address from nginx' log.
type Got = (u16, String, String, String, SocketAddr);

impl Place {
    /// Starts with the shop's address for SHOP in `carve`, and a free address for TLS.
    fn start(carve: &str, folder: &Path) -> Self {
        let at = service_kit::free_addresses(4).unwrap();
        let carve = carve.replace("SHOP", &at[1].to_string()).replace("TLS", &at[3].to_string());
        let carve = CarveFile::parse_in(&carve, folder).unwrap();
        let [main, new]: [SideUrl; 2] =
            [at[0], at[2]].map(|at| format!("http://{at}").parse().unwrap());
        let mut routes = [
            ("pages", "path = \"/pages\""),
            ("report", "path = \"/report/*\"\nhosts = [\"shop.example\", \"*.shop.example\"]"),
        ]
        .map(|(name, text)| Route::parse(name, text).unwrap());
        route::settle(&carve, &mut routes).unwrap();
        let [main_app, shop, new_app] = [("app.mjs", at[0]), ("app.py", at[1]), ("app.mjs", at[2])]
            .map(|(file, at)| (app(file, at), at));
        let front = Front::start(Setup { carve, routes: routes.into(), old: main, new });
        Place { main: main_app, shop, new: new_app, front, tls: at[3] }
    }

    fn get(&self, host: &str, path: &str) -> Got {
        let id = format!("request-{};", ASKED.fetch_add(1, Ordering::Relaxed));
        let headers = format!("Host: {host}\r\nX-Request-Id: {id}\r\n");
        let status = self.front.ask(&format!("GET {path}"), &headers).status;
        let line = || {
            let log = std::fs::read_to_string(self.front.at("edge/access.log")).unwrap_or_default();
            log.lines().find(|line| line.contains(&id)).map(str::to_owned)
        };
        assert!(eventually(|| line().is_some()), "{host}{path}");
        let line = line().unwrap();
        let fields: Vec<&str> = line.split('\t').collect();
        // If there were several attempts, the last one counts.
        let by = fields[7].rsplit([' ', ',']).next().unwrap().parse().unwrap();
        (status, fields[1].to_owned(), fields[11].to_owned(), fields[3].to_owned(), by)
    }
}

fn got(status: u16, route: &str, path: &str, side: &str, by: SocketAddr) -> Got {
    (status, route.to_owned(), path.to_owned(), side.to_owned(), by)
}

#[test]
fn a_route_of_one_host_has_the_app_of_that_host_and_touches_no_other() {
    let place = Place::start(CARVE, Path::new(""));
    let (main, shop, new) = (place.main.1, place.shop.1, place.new.1);
    for (percent, side, by) in [(0, "old", shop), (100, "new", new)] {
        place.front.share(percent);
        // A worker that is ending may accept a last connection.
        assert!(eventually(|| place.get("shop.example", "/report/1").3 == side));
        for host in ["shop.example", "SHOP.example:8080", "a.shop.example"] {
            let report = got(200, "report", "/report/*", side, by);
            assert_eq!(place.get(host, "/report/1"), report, "{host}");
            assert_eq!(place.get(host, "/"), got(200, "", "other", "old", shop), "{host}");
            assert_eq!(place.get(host, "/pages"), got(200, "", "other", "old", shop), "{host}");
            assert_eq!(place.get(host, "/report"), got(200, "", "other", "old", shop), "{host}");
        }
        for host in ["app.example", "example", "127.0.0.1"] {
            assert_eq!(place.get(host, "/report/1"), got(200, "", "other", "old", main), "{host}");
            let pages = got(200, "pages", "/pages", "old", main);
            assert_eq!(place.get(host, "/pages"), pages, "{host}");
        }
    }
}

#[test]
fn each_app_stands_in_and_fails_for_its_own_hosts_alone() {
    let place = Place::start(CARVE, Path::new(""));
    place.front.share(100);
    drop(place.new.0);
    let report = || place.front.ask("GET /report/1", "Host: shop.example\r\n");
    assert_eq!(report().header("x-powered-by"), "Python", "the fallback is the shop");
    drop(place.shop.0);
    assert_eq!(report().status, 502);
    assert_eq!(place.front.ask("GET /", "Host: shop.example\r\n").status, 502);
    assert_eq!(place.front.ask("GET /report/1", "").status, 200);
}

#[test]
fn a_host_has_its_own_certificate_and_the_rest_that_of_the_front() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::create_dir(folder.path().join("shop")).unwrap();
    certificate(folder.path(), "app.example");
    certificate(&folder.path().join("shop"), "shop.example");
    let carve = "front.tls = { certificate = \"cert.pem\", key = \"key.pem\" }\n\
                 front.listen = [{ address = \"TLS\", tls = true }]\n\
                 [[hosts]]\nnames = [\"shop.example\", \"*.shop.example\"]\napp = \"http://SHOP\"\n\
                 tls = { certificate = \"shop/cert.pem\", key = \"shop/key.pem\" }\n";
    let place = Place::start(carve, folder.path());
    for (below, name, app) in [("", "app.example", "Node"), ("shop", "shop.example", "Python")] {
        let (port, address) = (place.tls.port(), place.tls);
        let mut curl = Command::new("curl");
        curl.args(["-si", "--resolve", &format!("{name}:{port}:{}", address.ip())]);
        curl.arg("--cacert").arg(folder.path().join(below).join("cert.pem"));
        let said = curl.arg(format!("https://{name}:{port}/")).output().unwrap().stdout;
        let said = String::from_utf8(said).unwrap();
        assert!(said.starts_with("HTTP/2 200") && said.contains(app), "{name}: {said}");
    }
}
