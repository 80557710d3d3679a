//! What a user's program writes to standard error is logged.
//!
//! This is the only test of its process: `tracing` may ignore a log line for good if another thread reaches the line
//! while the subscriber is being set.

use std::sync::Mutex;

use compare::judge::{Answer, Judge, RequestLine, Verdict};
use http::HeaderMap;
use route::{ExecSettings, JudgeSettings};

/// Collects the log.
#[derive(Clone, Copy)]
struct Written(&'static Mutex<Vec<u8>>);

impl std::io::Write for Written {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn judge_of(program: &str, file: &str) -> Judge {
    let file = format!("{}/tests/programs/{file}", env!("CARGO_MANIFEST_DIR"));
    Judge::new(&JudgeSettings::Exec(ExecSettings::new([program, &file])), Vec::new()).unwrap()
}

#[test]
fn standard_error_is_logged_within_a_limit_and_never_blocks_the_program() {
    let lines = Written(Box::leak(Box::default()));
    let subscriber = tracing_subscriber::fmt().with_writer(move || lines).with_ansi(false).finish();
    tracing::subscriber::with_default(subscriber, || {
        let judge = judge_of("python3", "moody.py");
        judge.start().unwrap();
        let headers = HeaderMap::new();
        let answer = |body| Answer { status: 200, headers: &headers, body };
        let asked = RequestLine { method: "GET", target: "/prices?sku=4" };
        assert_eq!(judge.compare(&asked, &answer(b"noisy"), &answer(b"")), Verdict::Same);
        drop(judge);
        judge_of("sh", "dies.sh").start().unwrap_err();
    });
    let logged = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
    let noise = logged.matches("a line of noise").count();
    assert!((10..=30).contains(&noise), "{noise}");
    assert!(logged.contains("dropped lines"), "{logged}");
    assert!(logged.contains("cannot open prices.db"), "{logged}");
    assert!(logged.contains("exit status: 3"), "{logged}");
}
