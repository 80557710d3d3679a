//! A route whose traffic a gateway of the cluster moves: HTTPRoutes behind a simulated Kubernetes API.

use std::fs;
use std::mem;
use std::process::Stdio;
use std::thread;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::{Value, json};
use service_kit::testing::has_all;

use crate::support;
use crate::support::api::{Api, from_elsewhere, in_cluster};
use crate::support::{Place, Process, eventually, stderr, stdout};

const FILE: &str = "path = \"/qrcode\"\nold.url = \"http://shop:3000\"\n\
    new.url = \"http://qr:80\"\nshadow.percent = 20\n[gateway]\napp = \"shop\"\ncounts = \"traefik\"\n\
    shadow = \"http://shadow:42080\"\n";
const NAME: &str = "carve-qrcode";

struct Stage {
    place: Place,
    api: Api,
}

impl Stage {
    /// The app's HTTPRoute, and a route file with these lines at its beginning.
    fn new(lines: &str) -> Self {
        let (place, api) = (Place::new(), Api::start());
        fs::create_dir(place.beside("routes")).unwrap();
        fs::write(place.beside("routes/qrcode.toml"), format!("{lines}{FILE}")).unwrap();
        let all = json!([{ "path": { "type": "PathPrefix", "value": "/" } }]);
        let spec = json!({ "parentRefs": [{ "name": "eg" }], "hostnames": ["shop.example"],
            "rules": [{ "matches": all, "backendRefs": [{ "name": "shop", "port": 3000 }] }] });
        let app = json!({ "metadata": { "name": "shop" }, "spec": spec });
        api.object.lock().unwrap().http_routes.put(app);
        Stage { place, api }
    }

    fn carve(&self, args: &[&str]) -> Result<String, String> {
        let routes = self.place.beside("routes");
        let output = from_elsewhere(
            &self.place,
            &self.api,
            &[args, &["--gateway-routes", routes.to_str().unwrap()]].concat(),
        );
        if output.status.success() { Ok(stdout(&output)) } else { Err(stderr(&output)) }
    }

    fn weights(&self) -> Option<(u64, u64)> {
        self.api.object.lock().unwrap().http_routes.weights(NAME)
    }

    fn has_object(&self) -> bool {
        self.api.object.lock().unwrap().http_routes.all.contains_key(NAME)
    }

    fn object(&self, name: &str) -> Value {
        self.api.object.lock().unwrap().http_routes.all[name].clone()
    }
}

#[test]
fn the_split_is_the_weights_of_an_object_of_its_own() {
    let stage = Stage::new("");
    let app = stage.object("shop");
    stage.carve(&["split", "5"]).unwrap();
    assert_eq!(stage.weights(), Some((500, 9500)));
    let spec = stage.object(NAME)["spec"].clone();
    let of = |it: &Value| ["parentRefs", "hostnames"].map(|name| it[name].clone());
    assert_eq!(of(&spec), of(&app["spec"]));
    let rule = &spec["rules"][0];
    let exact = json!({ "path": { "type": "Exact", "value": "/qrcode" }, "method": "HEAD" });
    assert_eq!(rule["matches"][1], exact);
    assert_eq!(rule["backendRefs"][0], json!({ "name": "qr", "port": 80, "weight": 500 }));
    let mirror = &rule["filters"][0]["requestMirror"];
    assert_eq!(mirror["backendRef"], json!({ "name": "shadow", "port": 42080 }));
    assert_eq!(mirror["fraction"], json!({ "numerator": 2000, "denominator": 10000 }));
    stage.carve(&["split", "12.5"]).unwrap();
    assert_eq!(stage.weights(), Some((1250, 8750)));
    let said = stage.carve(&["status"]).unwrap();
    has_all(&said, &["share   12.50% of request", "served  the same"]);
    // At 0% the app's HTTPRoute answers, unchanged.
    stage.carve(&["split", "0"]).unwrap();
    assert_eq!((stage.weights(), stage.object("shop")), (None, app));
    assert_eq!(stage.api.share(), "0");
}

#[test]
fn no_request_is_routed_to_a_side_that_comes_or_goes() {
    let stage = Stage::new("");
    let changes = |args: &[&str]| {
        stage.carve(args).unwrap();
        mem::take(&mut stage.api.object.lock().unwrap().http_routes.changes)
    };
    // The object is there before it matches, and matches nothing before it goes.
    let parked = true;
    assert_eq!(changes(&["split", "50"]), [(5000, 5000, parked), (5000, 5000, false)]);
    assert_eq!(changes(&["split", "100"]), [(9999, 1, false), (10_000, 0, false)]);
    assert_eq!(changes(&["split", "25"]), [(9999, 1, false), (2500, 7500, false)]);
    assert_eq!(changes(&["rollback", "qrcode", "--reason", "why"]), [(2500, 7500, parked)]);
    assert!(!stage.has_object());
}

#[test]
fn check_names_what_the_cluster_lacks() {
    let stage = Stage::new("");
    let check =
        || stage.carve(&["check", stage.place.beside("routes").to_str().unwrap(), "--gateway"]);
    let object = || stage.api.object.lock().unwrap();
    let nothing = "the gateway eg may send the shadow nothing: carve may not read it";
    has_all(&check().unwrap(), &[nothing]);
    object().http_routes.forbidden = Some("patch");
    has_all(&check().unwrap(), &["warning: carve may not patch httproutes in qr"]);
    let mut app = stage.object("shop");
    app["status"] = json!({});
    object().http_routes.all.insert("shop".to_owned(), app);
    has_all(&check().unwrap_err(), &["no gateway serves the HTTPRoute \"shop\": 0 of 1"]);
    object().http_routes.all.remove("shop");
    has_all(&check().unwrap_err(), &["gateway.app: there is no HTTPRoute qr/shop"]);
}

#[test]
fn a_share_is_served_once_the_gateways_have_seen_it_and_know_its_services() {
    let stage = Stage::new("");
    let object = || stage.api.object.lock().unwrap();
    object().http_routes.is_unseen = true;
    thread::scope(|scope| {
        let split = scope.spawn(|| stage.carve(&["split", "5"]));
        assert!(eventually(|| stage.weights() == Some((500, 9500))));
        thread::sleep(Duration::from_secs(1));
        assert!(!split.is_finished());
        // One of its Services is unknown.
        let mut seen = stage.object(NAME);
        object().http_routes.is_unseen = false;
        seen = object().http_routes.put(seen);
        seen["status"]["parents"][0]["conditions"][1]["status"] = json!("False");
        object().http_routes.all.insert(NAME.to_owned(), seen.clone());
        thread::sleep(Duration::from_secs(1));
        assert!(!split.is_finished());
        object().http_routes.put(seen);
        split.join().unwrap().unwrap();
    });
}

#[test]
fn a_rollback_sets_the_weights_whatever_somebody_made_of_them() {
    let stage = Stage::new("");
    stage.carve(&["split", "25"]).unwrap();
    let edit =
        json!([{ "op": "replace", "path": "/spec/rules/0/backendRefs/0/weight", "value": 9999 }]);
    stage.api.object.lock().unwrap().http_routes.answer("patch", NAME, &edit);
    let edited = "somebody has edited HTTPRoute qr/carve-qrcode: its weights are 9999 and 7500";
    has_all(&stage.carve(&["split", "50"]).unwrap_err(), &[edited]);
    stage.carve(&["rollback", "qrcode", "--reason", "it is slow"]).unwrap();
    assert_eq!(stage.weights(), None);
    has_all(&stage.carve(&["split", "5"]).unwrap_err(), &["it is slow"]);
    stage.carve(&["clear", "qrcode", "--reason", "mended"]).unwrap();
    // Without the second backend, no weight can be set: the object goes.
    stage.carve(&["split", "25"]).unwrap();
    stage.api.object.lock().unwrap().http_routes.all.get_mut(NAME).unwrap()["spec"]["rules"] =
        json!([{ "backendRefs": [{ "name": "qr", "port": 80, "weight": 1 }] }]);
    stage.carve(&["rollback", "qrcode", "--reason", "again"]).unwrap();
    assert!(!stage.has_object());
    stage.carve(&["clear", "qrcode", "--reason", "mended"]).unwrap();
    stage.carve(&["split", "5"]).unwrap();
    assert_eq!(stage.weights(), Some((500, 9500)));
}

#[test]
fn a_stop_that_somebody_writes_to_the_config_map_is_put_into_force() {
    let stage = Stage::new("");
    stage.carve(&["split", "25"]).unwrap();
    let admin = service_kit::free_addresses(1).unwrap()[0];
    let mut command = in_cluster(&stage.place, &stage.api, &["serve", "--gateway-routes"]);
    command
        .arg(stage.place.beside("routes"))
        .env("RAMP_NGINX_DIR", stage.place.beside("pod"))
        .env("RAMP_TARGET", "kubernetes")
        .env("RAMP_ADMIN_ADDR", admin.to_string())
        .stdout(Stdio::null());
    let served = Process(command.spawn().unwrap());
    stage.api.object.lock().unwrap().data.insert("qrcode.stop".to_owned(), "broken".to_owned());
    let split = stage.api.object.lock().unwrap().data["qrcode.conf"].clone();
    stage.api.set(&split);
    assert!(eventually(|| stage.weights().is_none()), "{:?}", stage.weights());
    // A move that was under way when the stop came is undone, too, also long after.
    thread::sleep(Duration::from_secs(2));
    let mut late = stage.object("shop");
    late["metadata"] =
        json!({ "name": NAME, "labels": { "app.kubernetes.io/managed-by": "carve" } });
    stage.api.object.lock().unwrap().http_routes.put(late);
    assert!(eventually(|| !stage.has_object()));
    served.signal(Signal::TERM);
    assert_eq!(served.wait(), Some(0));
}

#[test]
fn what_a_gateway_cannot_do_is_refused_and_nothing_moves() {
    for (lines, message) in [
        ("key = \"client\"\n", "key: a gateway splits by request, not by client"),
        (
            "hosts = [\"other.example\"]\n",
            "hosts: other.example is no hostname of the HTTPRoute shop",
        ),
    ] {
        has_all(&Stage::new(lines).carve(&["split", "5"]).unwrap_err(), &[message]);
    }
    let stage = Stage::new("");
    let change = |it: &dyn Fn(&mut support::gateway::HttpRoutes)| {
        it(&mut stage.api.object.lock().unwrap().http_routes);
    };
    let refused = |message: &str| {
        has_all(&stage.carve(&["split", "5"]).unwrap_err(), &[message]);
        assert_eq!(stage.weights(), None);
    };
    // Somebody else's object of this name stays as it is.
    let theirs = json!({ "metadata": { "name": NAME }, "spec": { "rules": [] } });
    change(&|it| drop(it.put(theirs.clone())));
    for args in [&["split", "5"][..], &["rollback", "qrcode", "--reason", "why"]] {
        has_all(&stage.carve(args).unwrap_err(), &["HTTPRoute qr/carve-qrcode is not carve's"]);
        assert_eq!(stage.object(NAME)["spec"], theirs["spec"]);
    }
    change(&|it| drop(it.all.remove(NAME)));
    stage.carve(&["clear", "qrcode", "--reason", "mended"]).unwrap();
    change(&|it| it.forbidden = Some("post"));
    refused("403 cannot post resource \"httproutes\"");
    change(&|it| {
        it.forbidden = None;
        let mut app = it.all["shop"].clone();
        app["spec"]["rules"][0]["matches"] =
            json!([{ "path": { "type": "Exact", "value": "/qrcode" } }]);
        it.put(app);
    });
    refused("path: the HTTPRoute shop has \"/qrcode\" itself");
    change(&|it| it.all.clear());
    refused("gateway.app: there is no HTTPRoute qr/shop");
}
