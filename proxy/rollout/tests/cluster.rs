//! The split of a cluster: a ConfigMap behind a simulated Kubernetes API, and a real nginx that follows it.
//! `make deploy-test` tests the same on a real cluster.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rollout::{Share, SplitChange};
use rustix::process::Signal;
use serde_json::json;
use service_kit::testing::has_all;

use crate::support;
use crate::support::api::{Api, first, follow, from_elsewhere, in_cluster, share};
use crate::support::homes::{self, Home};
use crate::support::{Place, Process, built, eventually, stderr, stdout};

#[test]
fn set_returns_once_the_proxies_serve_the_split() {
    let (place, api) = (Place::new(), Api::start());
    api.object.lock().unwrap().busy = true;
    let follower = follow(&place, &api);
    for percent in ["25", "100", "0"] {
        let output = from_elsewhere(&place, &api, &["split", percent]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!((place.share(), api.share()), (percent.to_owned(), percent.to_owned()));
    }
    follower.signal(Signal::TERM);
    assert_eq!(follower.wait(), Some(0));
}

#[test]
fn a_new_proxy_applies_the_clusters_split() {
    let (place, api) = (Place::new(), Api::start());
    api.set(&first().with(&share("25")).render("qrcode"));
    let _follower = follow(&place, &api);
    assert!(eventually(|| place.served().share_percent.to_string() == "25"));
}

#[test]
fn what_nginx_refused_for_a_moment_is_tried_again_soon() {
    let (place, api) = (Place::new(), Api::start());
    let configuration = place.read("nginx.conf");
    let write = |text: &str| std::fs::write(place.file("nginx.conf"), text).unwrap();
    write(&format!("{configuration}\nnonsense;\n"));
    api.set(&first().with(&share("25")).render("qrcode"));
    let _follower = follow(&place, &api);
    thread::sleep(Duration::from_millis(1500));
    assert_eq!(place.served().share_percent.to_string(), "0");
    write(&configuration);
    assert!(eventually(|| place.served().share_percent.to_string() == "25"));
}

#[test]
fn without_a_split_in_the_cluster_status_shows_what_the_proxies_serve() {
    let (place, api) = (Place::new(), Api::start());
    let output = from_elsewhere(&place, &api, &["status"]);
    let said = stdout(&output);
    has_all(&said, &["share   0% of parameter:text", "served  the same"]);
}

#[test]
fn a_command_waits_for_proxies_that_do_not_accept_it_yet() {
    let (place, api) = (Place::new(), Api::start());
    let address = service_kit::free_address().unwrap();
    let admin = place.at.admin;
    thread::spawn(move || {
        thread::sleep(Duration::from_millis(600));
        for mut client in TcpListener::bind(address).unwrap().incoming().flatten() {
            let mut nginx = TcpStream::connect(admin).unwrap();
            let mut asked = client.try_clone().unwrap();
            let mut request = nginx.try_clone().unwrap();
            thread::spawn(move || std::io::copy(&mut asked, &mut request));
            thread::spawn(move || std::io::copy(&mut nginx, &mut client));
        }
    });
    let args = ["status", "--proxies", &address.to_string()];
    let output = from_elsewhere(&place, &api, &args);
    assert!(output.status.success(), "{}", stderr(&output));
}

#[test]
fn a_cluster_stops_a_route_by_hand() {
    let (place, api) = (Place::new(), Api::start());
    let _follower = follow(&place, &api);
    let stopped = || place.is_stopped();
    let said = |args: &[&str]| {
        let output = from_elsewhere(&place, &api, args);
        assert!(output.status.success(), "{}", stderr(&output));
        stdout(&output)
    };
    assert!(eventually(|| place.served().share_percent.to_string() == "0"));
    assert!(said(&["rollback", "--reason", "odd"]).contains("qrcode is stopped") && stopped());
    assert!(said(&["status"]).contains(": odd; all of it goes to the old side"));
    said(&["clear", "--reason", "even"]);
    assert!(eventually(|| !stopped()));

    // kubectl can stop a route too; the text that it writes is the reason.
    let set = |value: &str| {
        let mut object = api.object.lock().unwrap();
        object.data.insert("qrcode.stop".to_owned(), value.to_owned());
    };
    set("by kubectl");
    assert!(eventually(stopped));
    assert!(said(&["status"]).contains("by kubectl"));
    said(&["clear", "--reason", "even"]);

    // When a run goes back, this does not count as a stop until somebody stops the route as well.
    let metrics = |braked: u32, stopped: u32| {
        let (text, label) = (place.read("ramp.prom"), "{route=\"qrcode\"}");
        text.contains(&format!("ramp_braked{label} {braked}.0\n"))
            && text.contains(&format!("ramp_stopped{label} {stopped}.0\n"))
    };
    assert!(eventually(|| metrics(0, 0)));
    set(&json!({ "time": "", "reason": "mismatches", "is_brake": true }).to_string());
    assert!(eventually(|| stopped() && metrics(1, 0)));
    set("by kubectl");
    assert!(eventually(|| metrics(0, 1)) && stopped());
    said(&["clear", "--reason", "even"]);
    assert!(eventually(|| metrics(0, 0)));
}

#[test]
fn the_share_of_sessions_moves_beside_each_home() {
    let homes = [Home::start(), Home::start()];
    let place = homes::place(&homes.each_ref().map(|home| home.addr));
    let api = Api::start();
    let _of_the_proxy = follow(&place, &api);
    let relay = place.nginx_of("relay").route_file().unwrap();
    let share = |folder: &Path| {
        let text =
            std::fs::read_to_string(rollout::route_dir(folder, "relay").join("share")).unwrap();
        text.lines().next().unwrap().to_owned()
    };
    // Each home has a pod of its own, in which no nginx runs.
    let folders = ["home-0", "home-1"].map(|name| place.beside(name));
    let mut followers = Vec::new();
    for (home, folder) in homes.iter().zip(&folders) {
        rollout::prepare(folder, std::slice::from_ref(&relay), &SplitChange::default()).unwrap();
        rollout::prepare_stops(folder, None).unwrap();
        *home.file.lock().unwrap() = rollout::route_dir(folder, "relay").join("share");
        let mut command = in_cluster(&place, &api, &["follow"]);
        command.env("RAMP_NGINX_DIR", folder);
        command.env("RAMP_PROXY_ADMIN_ADDR", homes::nobody().to_string());
        followers.push(Process(command.stderr(Stdio::null()).spawn().unwrap()));
    }
    for percent in ["25", "100", "0"] {
        let output = from_elsewhere(&place, &api, &["split", "relay", percent]);
        assert!(output.status.success(), "{}", stderr(&output));
        assert_eq!(folders.each_ref().map(|folder| share(folder)), [percent, percent]);
        // nginx' folder has the share too, for the metrics.
        assert!(eventually(|| share(&place.nginx().dir) == percent));
    }
    let said = stdout(&from_elsewhere(&place, &api, &["status", "relay"]));
    assert!(said.contains("of the sessions") && said.contains("served  the same"), "{said}");
    // If no route is named, the route that nginx splits by request is meant.
    let said = stdout(&from_elsewhere(&place, &api, &["split", "30"]));
    assert!(said.contains("30% of qrcode"), "{said}");
    for follower in followers {
        // The signal that Kubernetes sends to a container of the proxy's image.
        follower.signal(Signal::QUIT);
        assert_eq!(follower.wait(), Some(0));
    }
}

#[test]
fn a_watch_that_ends_or_fails_begins_anew() {
    let (place, api) = (Place::new(), Api::start());
    let _follower = follow(&place, &api);
    let moves_to = |percent: &str| {
        api.set(&first().with(&share(percent)).render("qrcode"));
        assert!(eventually(|| place.served().share_percent.to_string() == percent), "{percent}");
    };
    moves_to("25");
    let before = api.watches();
    assert!(eventually(|| api.watches() > before + 1), "the API ends each");
    moves_to("50");
    api.object.lock().unwrap().forgets = true;
    assert!(eventually(|| !api.object.lock().unwrap().forgets));
    moves_to("75");
    api.be_away(true);
    thread::sleep(Duration::from_millis(1500));
    api.set(&first().with(&share("100")).render("qrcode"));
    thread::sleep(Duration::from_millis(500));
    assert_eq!(place.served().share_percent.to_string(), "75");
    api.be_away(false);
    assert!(eventually(|| place.served().share_percent.to_string() == "100"));
}

#[test]
fn a_stop_by_hand_waits_for_no_proxy_and_no_dns() {
    let (place, api) = (Place::new(), Api::start());
    let _follower = follow(&place, &api);
    let split = from_elsewhere(&place, &api, &["split", "25"]);
    assert!(split.status.success(), "{}", stderr(&split));
    let args = ["rollback", "qrcode", "--proxies", "proxies.invalid:1"];
    let mut command = in_cluster(&place, &api, &args);
    // Nobody can write to this folder.
    command.env("RAMP_NGINX_DIR", "/proc/nowhere").env("RAMP_TARGET", "kubernetes");
    let since = Instant::now();
    let stop = Process(command.stderr(Stdio::null()).spawn().unwrap());
    assert!(eventually(|| place.is_stopped()));
    let took = since.elapsed();
    assert!(took < Duration::from_secs(1), "{took:?}");
    stop.signal(Signal::KILL);

    let unknown = from_elsewhere(&place, &api, &["rollback", "qrcoed"]);
    let said = stderr(&unknown);
    assert!(!unknown.status.success() && said.contains("no route \"qrcoed\""), "{said}");
    assert!(!api.object.lock().unwrap().data.contains_key("qrcoed.stop"));
}

#[test]
fn somebody_elses_change_is_not_overwritten() {
    let (place, api) = (Place::new(), Api::start());
    let _follower = follow(&place, &api);
    api.set(&first().with(&share("5")).render("qrcode"));
    assert!(eventually(|| place.served().share_percent.to_string() == "5"));
    api.object.lock().unwrap().contended = true;
    let output = from_elsewhere(&place, &api, &["split", "50"]);
    assert_eq!(output.status.code(), Some(1));
    let said = stderr(&output);
    assert_eq!(said.matches("somebody else has changed").count(), 1, "{said}");
    assert!(said.contains("the split stays at 5%"), "{said}");
    api.object.lock().unwrap().contended = false;
    assert_eq!(api.share(), "5");
    assert_eq!(place.served().share_percent.to_string(), "5");

    // The split also stays if another process begins a run in the meantime.
    let minute = json!({ "secs": 60, "nanos": 0 });
    let plan = json!({ "steps": [25.0], "hold": minute, "patience": minute, "gates": null });
    let state = json!({
        "run": "another", "plan": plan, "start_share": 5.0, "step": 0, "phase": "holding",
        "reason": "", "judgement": null,
    });
    let run = json!({ "beat": 1, "holder": "ramp-b", "state": state });
    api.object.lock().unwrap().begins = Some(run.to_string());
    let output = from_elsewhere(&place, &api, &["split", "50"]);
    let said = stderr(&output);
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("another process has begun or taken over a run of qrcode"), "{said}");
    assert_eq!((api.run()["holder"].as_str(), api.share().as_str()), (Some("ramp-b"), "5"));
    assert_eq!(place.served().share_percent.to_string(), "5");
}

#[test]
fn a_split_that_ramp_did_not_write_is_not_applied() {
    let (place, api) = (Place::new(), Api::start());
    let mut follower = follow(&place, &api);
    api.set("split_clients $arg_text $split_arm { * new; }");
    let mut said = String::new();
    BufReader::new(follower.0.stderr.take().unwrap()).read_line(&mut said).unwrap();
    assert!(said.contains("qrcode.conf of") && said.contains("not written by ramp"), "{said}");
    assert_eq!(place.share(), "0");
}

#[test]
fn a_new_proxy_starts_with_the_clusters_split_and_no_other_text() {
    let place = Place::new();
    let (routes, splits) = (place.beside("routes"), place.beside("splits"));
    for folder in [&routes, &splits] {
        std::fs::create_dir(folder).unwrap();
    }
    let file = include_str!("../../routes/qrcode.toml");
    std::fs::write(routes.join("qrcode.toml"), file).unwrap();
    let prepare = |prefix: &str| {
        let dir = place.beside(prefix);
        let args = ["prepare", routes.to_str().unwrap(), "--splits", splits.to_str().unwrap()];
        let output = place.ramp(&args).env("RAMP_NGINX_DIR", &dir).output().unwrap();
        (
            output,
            rollout::current(&rollout::route_dir(&dir, "qrcode")).map(|split| split.share_percent),
        )
    };
    let percent = |share: &str| share.parse::<Share>().unwrap();
    assert_eq!(prepare("a").1.unwrap(), percent("100"), "as the route file says");
    let split = first().with(&share("25"));
    std::fs::write(splits.join("qrcode.conf"), split.render("qrcode") + "daemon on;\n").unwrap();
    assert_eq!(prepare("a").1.unwrap(), percent("100"), "it keeps its split");
    assert_eq!(prepare("b").1.unwrap(), percent("25"));
    let written = std::fs::read_to_string(place.beside("b/routes/qrcode/split.conf")).unwrap();
    assert_eq!(written, split.render("qrcode"));
    std::fs::write(splits.join("qrcode.conf"), "split_clients $a $qrcode_split { * new; }")
        .unwrap();
    for start in ["the first", "after a restart of the container"] {
        let (output, _) = prepare("c");
        let said = stderr(&output);
        assert!(said.contains("qrcode.conf is not written by ramp"), "{start}: {said}");
    }
}

#[test]
fn a_new_proxy_starts_with_the_clusters_stops() {
    let folder = tempfile::tempdir().unwrap();
    let [routes, splits, nginx] =
        ["routes", "splits", "nginx"].map(|name| folder.path().join(name));
    for folder in [&routes, &splits, &nginx] {
        std::fs::create_dir(folder).unwrap();
    }
    for route in support::routes() {
        std::fs::write(routes.join(format!("{}.toml", route.name)), route.text).unwrap();
    }
    std::fs::write(splits.join("qrcode.stop"), "by kubectl").unwrap();
    let mut command = Command::new(built("carve"));
    command.arg("prepare").arg(&routes).arg("--splits").arg(&splits);
    let output = command.env("RAMP_NGINX_DIR", &nginx).output().unwrap();
    assert!(output.status.success(), "{}", stderr(&output));
    let is_stopped = |route: &str| nginx.join("stop").join(route).is_file();
    assert_eq!(["qrcode", "report"].map(is_stopped), [true, false]);
}

#[test]
fn proxies_that_were_prepared_alike_agree() {
    let place = Place::new();
    let first_split = |prefix: &str| {
        let dir = place.beside(prefix);
        let args = ["prepare", concat!(env!("CARGO_MANIFEST_DIR"), "/../routes")];
        let output = place.ramp(&args).env("RAMP_NGINX_DIR", &dir).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        rollout::current(&rollout::route_dir(&dir, "qrcode")).unwrap()
    };
    assert_eq!(first_split("a"), first_split("b"));
}

#[test]
fn an_unavailable_or_refusing_api_is_named() {
    let (place, api) = (Place::new(), Api::start());
    let output = from_elsewhere(&place, &api, &["status", "--split-config-map", "qr/other"]);
    assert_eq!(output.status.code(), Some(1));
    assert!(stderr(&output).contains("configmaps/other: 404"), "{}", stderr(&output));
    let args = ["status", "--kubernetes-url", "http://127.0.0.1:1"];
    let output = from_elsewhere(&place, &api, &args);
    assert!(stderr(&output).contains("no answer from http://127.0.0.1:1"), "{}", stderr(&output));
    assert_eq!(place.share(), "0");
}

#[test]
fn the_api_is_asked_at_the_address_that_a_container_is_given() {
    let (place, api) = (Place::new(), Api::start());
    let credentials = place.beside("credentials");
    std::fs::create_dir(&credentials).unwrap();
    let certificate = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    std::fs::write(credentials.join("ca.crt"), certificate).unwrap();
    std::fs::write(credentials.join("token"), "token").unwrap();
    for (host, url) in [("127.0.0.1", "https://127.0.0.1:1"), ("::1", "https://[::1]:1")] {
        let mut command = in_cluster(&place, &api, &["status", "--target", "kubernetes"]);
        command
            .env_remove("RAMP_KUBERNETES_URL")
            .env("RAMP_NGINX_DIR", place.beside("elsewhere"))
            .env("RAMP_KUBERNETES_CREDENTIALS", &credentials)
            .env("KUBERNETES_SERVICE_HOST", host)
            .env("KUBERNETES_SERVICE_PORT", "1");
        let said = stderr(&command.output().unwrap());
        assert!(said.contains(&format!("no answer from {url}: ")), "{said}");
    }
}

#[test]
fn while_dns_does_not_answer_the_proxies_are_where_they_were() {
    let (place, api) = (Place::new(), Api::start());
    let _follower = follow(&place, &api);
    let unknown = "proxies.invalid:1";
    let set = |percent: &str, proxies: &str| {
        from_elsewhere(&place, &api, &["split", percent, "--proxies", proxies])
    };
    let output = set("25", unknown);
    assert!(stderr(&output).contains(unknown), "{}", stderr(&output));
    assert!(set("25", &place.at.admin.to_string()).status.success());
    let output = set("0", unknown);
    assert!(output.status.success(), "{}", stderr(&output));
    assert_eq!((place.share(), api.share()), ("0".to_owned(), "0".to_owned()));
}

#[test]
fn without_dns_proxies_that_are_gone_hold_up_no_way_back() {
    let (place, api) = (Place::new(), Api::start());
    let _follower = follow(&place, &api);
    assert!(from_elsewhere(&place, &api, &["split", "25"]).status.success());
    // These accept connections but never answer.
    let gone = [(); 9].map(|()| TcpListener::bind("127.0.0.1:0").unwrap());
    let addresses = gone.iter().map(|it| it.local_addr().unwrap()).chain([place.at.admin]);
    let known: Vec<String> = addresses.map(|it| it.to_string()).collect();
    fs::write(place.beside("elsewhere/proxies"), known.join("\n")).unwrap();
    let mut command = in_cluster(&place, &api, &["split", "0", "--proxies", "proxies.invalid:1"]);
    command.env("RAMP_NGINX_DIR", place.beside("elsewhere")).env("RAMP_TARGET", "kubernetes");
    // After it has stopped the route, it waits for all of them.
    let set = Process(command.spawn().unwrap());
    assert!(eventually(|| api.object.lock().unwrap().data.contains_key("qrcode.stop")));
    set.signal(Signal::KILL);
}
