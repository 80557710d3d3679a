//! The admin listener, the metrics of the process, and the log.

use serde_json::Value;

use super::*;

/// Serves an admin listener for the rest of the process.
fn served(admin: Admin) -> SocketAddr {
    let (bound, addr) = std::sync::mpsc::channel();
    thread::spawn(move || {
        runtime().block_on(async {
            let any: SocketAddr = "127.0.0.1:0".parse().unwrap();
            let listener = Listener::bind(any, "A").unwrap();
            let ListenAddr::Tcp(addr) = listener.addr else { panic!() };
            bound.send(addr).unwrap();
            service_kit::serve_admin(listener, admin, std::future::pending()).await;
        });
    });
    addr.recv().unwrap()
}

#[test]
fn the_admin_listener_tells_whether_a_service_is_ready_and_has_routes_of_its_own() {
    let admin = Admin::new(|| Ok("# EOF\n".to_owned()));
    let (ready, admin) =
        (admin.readiness(), admin.with(Router::new().route("/own", get(async || "own"))));
    let addr = served(admin);
    let answers = |path: &str, status: &str, body: &str| {
        let answer = service_kit::testing::get(addr, path);
        let is_it = answer.starts_with(status) && answer.ends_with(&format!("\r\n\r\n{body}"));
        assert!(is_it, "{path}: {answer}");
    };
    ready.store(false, Ordering::SeqCst);
    answers("/readyz", "HTTP/1.1 503 ", "not ready\n");
    ready.store(true, Ordering::SeqCst);
    answers("/readyz", "HTTP/1.1 200 ", "ready\n");
    answers("/own", "HTTP/1.1 200 ", "own");
    answers("/metrics", "HTTP/1.1 200 ", "# EOF\n");
}

#[test]
fn the_metrics_of_the_process_are_those_of_the_kernel() {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(service_kit::metrics::ProcessCollector));
    let metric = |name: &str| {
        let text = encode(&registry).unwrap();
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        value.unwrap_or_else(|| panic!("{name} in {text}")).parse::<f64>().unwrap()
    };
    // Other tests in this process open and close fewer.
    let before = metric("process_open_fds");
    let _files = [(); 500].map(|()| std::fs::File::open("/dev/null").unwrap());
    let open = metric("process_open_fds") - before;
    assert!((450.0..550.0).contains(&open), "{open}");
    // User and system time in hundredths of a second (proc_pid_stat(5)).
    let cpu = || {
        let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
        let mut fields = stat.rsplit_once(") ").unwrap().1.split(' ').skip(11);
        [(); 2].map(|()| fields.next().unwrap().parse::<f64>().unwrap()).iter().sum::<f64>() / 100.0
    };
    eventually("it used the processor", || cpu() > 0.0);
    let (least, told, most) = (cpu(), metric("process_cpu_seconds_total"), cpu());
    assert!((least..=most).contains(&told), "{told} s");
    assert_eq!(metric("log_lines_dropped_total"), 0.0);
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let age = now.as_secs_f64() - metric("process_start_time_seconds");
    assert!((-2.0..3600.0).contains(&age), "{age} s");
    assert!(metric("process_resident_memory_bytes") > 1e6);
}

/// An empty 200 would look like a service without metrics.
#[test]
fn metrics_that_cannot_be_encoded_are_a_500() {
    let addr = served(Admin::new(|| Err(std::fmt::Error)));
    let answer = service_kit::testing::get(addr, "/metrics");
    assert!(answer.starts_with("HTTP/1.1 500 "), "{answer}");
}

#[test]
fn the_class_of_an_answer_has_its_media_type_without_parameters() {
    for (content_type, class) in [
        ("Application/Problem+JSON; charset=utf-8", "GET 200 application/problem+json"),
        ("image/x_a-b.c", "GET 200 image/x_a-b.c"),
        ("", "GET 200"),
    ] {
        assert_eq!(service_kit::metrics::class("GET", 200, content_type), class);
    }
}

/// The test runs itself as the process whose log it reads.
#[test]
fn a_log_has_a_line_of_json_for_each_event_and_only_the_place_of_a_panic() {
    if std::env::var_os("LOGS").is_some() {
        let _logging = service_kit::telemetry::init("kit", tracing::Level::INFO).unwrap();
        tracing::info!(port = 7, "listening");
        tracing::debug!("not shown");
        assert!(thread::spawn(|| panic!("a client's text")).join().is_err());
        return;
    }
    let name = "admin::a_log_has_a_line_of_json_for_each_event_and_only_the_place_of_a_panic";
    let mut this = std::process::Command::new(std::env::current_exe().unwrap());
    let output = this.args(["--exact", name, "--nocapture"]).env("LOGS", "1").output().unwrap();
    let text = String::from_utf8(output.stdout).unwrap() + &String::from_utf8_lossy(&output.stderr);
    let lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let lines: Vec<_> = lines.filter(Value::is_object).collect();
    assert!(lines.len() == 2 && !text.contains("a client's text"), "{text}");
    assert_eq!((&lines[0]["msg"], &lines[0]["port"]), (&"listening".into(), &7.into()));
    assert_eq!((&lines[0]["level"], &lines[0]["service"]), (&"info".into(), &"kit".into()));
    assert!(lines[1]["place"].as_str().unwrap().contains("admin.rs:"), "{text}");
}
