use std::fs;
use std::path::PathBuf;
use std::process::Command;

use service_kit::testing::{eventually, get};

use super::*;
use crate::config::Routes;

const LINE: &str = "1732250000.123\tqrcode\tnew\tnew\t200\t0.003\t10\t10.0.0.1:80\tGET\tan-id\t\t/qrcode\t10.0.0.9\t\
    200\t0.001\t0.002\t0.003\n";

fn settings(log: PathBuf, json_file: PathBuf) -> Arguments {
    Arguments {
        log,
        admin_addr: service_kit::free_address().unwrap(),
        status_url: "http://127.0.0.1:9/".to_owned(),
        routes: Routes(Vec::new()),
        json_file: Some(json_file),
        json_percent: 100.0,
        keep_mib: 1,
        log_level: tracing::Level::ERROR,
    }
}

#[test]
fn lines_are_counted_and_printed_until_sigterm() {
    let folder = tempfile::tempdir().unwrap();
    let [log, json] = ["edge.log", "requests.log"].map(|name| folder.path().join(name));
    let settings = settings(log.clone(), json.clone());
    let addr = settings.admin_addr;
    let service = thread::spawn(|| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(run(settings))
    });
    eventually("it listens", || std::net::TcpStream::connect(addr).is_ok());
    assert!(get(addr, "/readyz").starts_with("HTTP/1.1 503 "), "there is no log yet");
    fs::write(&log, LINE.repeat(100)).unwrap();
    eventually("the log is read", || get(addr, "/metrics").contains("\nedge_lines_total 100\n"));
    assert!(get(addr, "/readyz").starts_with("HTTP/1.1 200 "));
    eventually("all is printed", || fs::read_to_string(&json).unwrap().lines().count() == 100);
    assert!(get(addr, "/metrics").contains("\nedge_left_out_lines_total 0\n"));
    let pid = std::process::id().to_string();
    assert!(Command::new("kill").args(["-s", "TERM", &pid]).status().unwrap().success());
    service.join().unwrap().unwrap();
}

#[test]
fn a_reader_polls_once_more_after_its_end_and_its_end_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("edge.log");
    let progress = Arc::new(Progress::new(&[], offset_files(&log), 1 << 20));
    let printer = Printer::new(Arc::clone(&progress), Lines::new(100.0));
    let follower = Follower::new(log.clone(), Arc::clone(&progress), printer);
    let readiness = Readiness::default();
    let (stop, stopped) = channel::<()>();
    let ready = Readiness::clone(&readiness);
    let (reader, mut ended) = start("reader", move || read(follower, &ready, &stopped)).unwrap();
    fs::write(&log, LINE).unwrap();
    eventually("the log is read", || readiness.load(Ordering::Relaxed));
    assert!(ended.try_recv() == Err(oneshot::error::TryRecvError::Empty));
    fs::write(&log, LINE.repeat(3)).unwrap();
    drop(stop);
    reader.join().unwrap();
    assert_eq!(progress.done().counts.lines, 3);
    assert!(ended.try_recv() == Err(oneshot::error::TryRecvError::Closed));
}
