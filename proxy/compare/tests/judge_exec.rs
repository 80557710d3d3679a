//! A user's program may do anything. A pair costs no more than the limits, a failure is never a match, and after a
//! failure the program is started again.

use std::path::Path;
use std::time::{Duration, Instant};

use compare::judge::{Answer, Failure, Judge, RequestLine, Verdict};
use http::HeaderMap;
use http::header::{CONTENT_ENCODING, CONTENT_TYPE, SET_COOKIE};
use route::{ExecSettings, JudgeSettings, Time};
use strum::VariantArray;

const TIMEOUT: Duration = Duration::from_secs(1);
/// The additional time that a pair may take on a busy machine.
const SLACK: Duration = Duration::from_secs(2);
const ASKED: RequestLine<'_> = RequestLine { method: "GET", target: "/prices?sku=4" };

fn settings<const N: usize>(command: [&str; N]) -> ExecSettings {
    let mut settings = ExecSettings::new(command);
    let file = settings.command.get_mut(1).unwrap();
    *file = format!("{}/tests/programs/{file}", env!("CARGO_MANIFEST_DIR"));
    ExecSettings { timeout: Time(TIMEOUT), start_timeout: Time::seconds(20), ..settings }
}

fn judge_of(settings: ExecSettings) -> Judge {
    Judge::new(&JudgeSettings::Exec(settings), Vec::new()).unwrap()
}

fn moody() -> Judge {
    let judge = judge_of(settings(["python3", "moody.py"]));
    judge.start().unwrap();
    judge
}

fn compare(judge: &Judge, old: &str, new: &str) -> Verdict {
    let headers = HeaderMap::new();
    let old = Answer { status: 200, headers: &headers, body: old.as_bytes() };
    let new = Answer { status: 200, headers: &headers, body: new.as_bytes() };
    judge.compare(&ASKED, &old, &new)
}

/// The detail of a mismatch.
fn detail(verdict: Verdict) -> String {
    match verdict {
        Verdict::Different(differences) => differences.listed()[0].detail.clone(),
        other => panic!("{other:?}"),
    }
}

fn reason(verdict: Verdict) -> String {
    match verdict {
        Verdict::Unjudged { reason } => reason,
        other => panic!("{other:?}"),
    }
}

/// Compares until the program runs again.
fn compare_once_ready(judge: &Judge, old: &str, new: &str) -> Verdict {
    let start = Instant::now();
    loop {
        let waiting = judge.stats().unwrap().waiting;
        let verdict = compare(judge, old, new);
        if judge.stats().unwrap().waiting == waiting {
            return verdict;
        }
        assert!(start.elapsed() < Duration::from_secs(30), "{verdict:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Whether the process exists and is not a zombie.
fn runs(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(')').next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with(" Z"))
}

#[test]
fn verdicts_come_from_the_program() {
    let judge = moody();
    assert_eq!(compare(&judge, "12", "12"), Verdict::Same);
    assert_eq!(compare(&judge, "skip", ""), Verdict::Skipped);
    match compare(&judge, "12", "13") {
        Verdict::Different(differences) => {
            let first = &differences.listed()[0];
            assert_eq!((first.kind.as_str(), first.detail.as_str()), ("price", "12 and 13"));
        }
        other => panic!("{other:?}"),
    }
    let kinds: Vec<String> = judge.kinds().iter().map(ToString::to_string).collect();
    assert_eq!(kinds, ["status", "header", "price", "process"]);
    let stats = judge.stats().unwrap();
    assert_eq!((stats.starts, stats.busy, stats.waiting), (1, 0, 0));
    assert!(Failure::VARIANTS.iter().all(|&failure| stats.failures(failure) == 0), "{stats:?}");
}

#[test]
fn the_question_has_request_headers_and_bodies() {
    let judge = moody();
    let mut headers = HeaderMap::new();
    headers.append(CONTENT_TYPE, "text/csv".parse().unwrap());
    headers.append(CONTENT_ENCODING, "gzip".parse().unwrap()); // the program gets the decoded body
    headers.append(SET_COOKIE, "a=1".parse().unwrap());
    headers.append(SET_COOKIE, "b=2".parse().unwrap());
    let empty = HeaderMap::new();
    let old = Answer { status: 200, headers: &headers, body: b"question" };
    let new = Answer { status: 200, headers: &empty, body: b"\xff" };
    // The program cannot decode the new body and dies.
    let died = reason(judge.compare(&ASKED, &old, &new));
    assert!(died.contains("exit status: 1"), "{died}");
    let new = Answer { status: 200, headers: &empty, body: b"" };
    let start = Instant::now();
    let question = loop {
        match judge.compare(&ASKED, &old, &new) {
            Verdict::Different(found) => break found.listed()[0].detail.clone(),
            other => assert!(start.elapsed() < Duration::from_secs(20), "{other:?}"),
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let expected = concat!(
        r#"{"v":1,"id":1,"request":{"method":"GET","target":"/prices?sku=4"},"#,
        r#""old":{"status":200,"headers":{"content-type":"text/csv","set-cookie":"a=1, b=2"},"#,
        r#""body_b64":"cXVlc3Rpb24="},"new":{"status":200,"headers":{},"body_b64":""}}"#,
    );
    assert_eq!(question, expected);
}

#[test]
fn a_header_that_differs_is_a_difference_even_if_the_program_skips_the_pair() {
    let exec = JudgeSettings::Exec(settings(["python3", "moody.py"]));
    let judge = Judge::new(&exec, vec![CONTENT_TYPE]).unwrap();
    judge.start().unwrap();
    let (mut csv, none) = (HeaderMap::new(), HeaderMap::new());
    csv.insert(CONTENT_TYPE, "text/csv".parse().unwrap());
    let old = Answer { status: 200, headers: &csv, body: b"skip" };
    let verdict = judge.compare(&ASKED, &old, &Answer { headers: &none, ..old });
    assert!(detail(verdict).contains("text/csv"));
}

#[test]
fn a_status_that_differs_is_not_asked_about() {
    let judge = judge_of(settings(["sh", "agrees.sh"]));
    let headers = HeaderMap::new();
    let answer = |status| Answer { status, headers: &headers, body: b"" };
    let verdict = judge.compare(&ASKED, &answer(200), &answer(404));
    assert_eq!(detail(verdict), "old 200, new 404");
    assert_eq!(judge.stats().unwrap().starts, 0);
}

/// What the program does, how the failure is counted, and a part of its reason.
const FAILURES: [(&str, Failure, &str); 18] = [
    ("hang", Failure::Timeout, "no answer within 1s"),
    ("hang with closed pipes", Failure::Timeout, "no answer within 1s"),
    ("die", Failure::Died, "exit status: 3"),
    ("die in the middle", Failure::Died, "exit status: 3"),
    ("close", Failure::Died, "closed its output"),
    ("flood", Failure::Flooded, "more than one line"),
    ("endless line", Failure::Flooded, "more than 65536 bytes"),
    ("match twice", Failure::Flooded, "more than one line"),
    ("another id", Failure::Nonsense, "answered question"),
    ("the last id", Failure::Nonsense, "answered question"),
    ("id as text", Failure::Nonsense, "its answer is not"),
    ("unknown verdict", Failure::Nonsense, "match, mismatch or skip"),
    ("no verdict", Failure::Nonsense, "its answer is not"),
    ("undeclared kind", Failure::Nonsense, "undeclared kind"),
    ("no kind", Failure::Nonsense, "no kind"),
    ("no JSON", Failure::Nonsense, "its answer is not"),
    ("empty line", Failure::Nonsense, "its answer is not"),
    ("no UTF-8", Failure::Nonsense, "its answer is not"),
];

#[test]
fn every_failure_costs_a_limit_and_is_counted_and_the_next_process_judges() {
    for (mood, failure, why) in FAILURES {
        let judge = moody();
        let pid = detail(compare(&judge, "pid", ""));
        assert!(runs(&pid));

        let start = Instant::now();
        let failed = reason(compare(&judge, mood, mood));
        assert!(start.elapsed() < TIMEOUT + SLACK, "{mood}: {:?}", start.elapsed());
        assert!(failed.contains(<&str>::from(failure)) && failed.contains(why), "{mood}: {failed}");
        assert!(!Path::new("/proc").join(&pid).exists(), "{mood}: process {pid} is left");

        assert_eq!(compare_once_ready(&judge, "12", "12"), Verdict::Same, "{mood}");
        assert_ne!(detail(compare(&judge, "pid", "")), pid, "{mood}");
        let stats = judge.stats().unwrap();
        assert_eq!(stats.starts, 2, "{mood}");
        for &other in Failure::VARIANTS {
            assert_eq!(stats.failures(other), u64::from(other == failure), "{mood}: {stats:?}");
        }
    }
}

#[test]
fn what_the_program_says_between_two_pairs_is_no_answer_to_the_second() {
    let judge = moody();
    // The second line may come together with the first one, or later.
    let verdict = compare(&judge, "talk later", "");
    if verdict == Verdict::Same {
        std::thread::sleep(Duration::from_millis(200));
        let failed = reason(compare(&judge, "12", "13"));
        assert!(failed.contains("without being asked"), "{failed}");
    }
    assert_eq!(judge.stats().unwrap().failures(Failure::Flooded), 1);
}

#[test]
fn a_program_that_dies_between_two_pairs_does_not_judge_the_second() {
    let judge = moody();
    let pid = detail(compare(&judge, "pid", ""));
    let pid_number = rustix::process::Pid::from_raw(pid.parse().unwrap()).unwrap();
    rustix::process::kill_process(pid_number, rustix::process::Signal::KILL).unwrap();
    while runs(&pid) {
        std::thread::yield_now();
    }
    assert!(reason(compare(&judge, "12", "12")).contains("died"));
    assert_eq!(compare_once_ready(&judge, "12", "12"), Verdict::Same);
}

#[test]
fn a_wrong_hello_is_refused() {
    let rows = [
        ("hello", "its first line is not"),
        ("", "its first line is not"),
        ("{}", "its first line is not"),
        (r#"{"v":1}"#, "its first line is not"),
        (r#"{"v":2,"kinds":["price"]}"#, "version 2"),
        (r#"{"v":1,"kinds":["status"]}"#, "declares a kind"),
        (r#"{"v":1,"kinds":["header"]}"#, "declares a kind"),
        (r#"{"v":1,"kinds":[""]}"#, "declares a kind"),
        (r#"{"v":1,"kinds":["Price in EUR"]}"#, "declares a kind"),
    ];
    for (hello, why) in rows {
        let judge = judge_of(settings(["sh", "says.sh", hello]));
        let error = judge.start().unwrap_err().to_string();
        assert!(error.contains("failed (hello)") && error.contains(why), "{hello}: {error}");
        assert_eq!(judge.stats().unwrap().failures(Failure::Hello), 1, "{hello}");
    }
    let many: Vec<String> = (0..33).map(|i| format!("kind_{i}")).collect();
    let hello = serde_json::json!({ "v": 1, "kinds": many }).to_string();
    let error = judge_of(settings(["sh", "says.sh", &hello])).start().unwrap_err().to_string();
    assert!(error.contains("33 kinds"), "{error}");
}

#[test]
fn a_program_that_never_says_hello_is_killed() {
    let settings = ExecSettings {
        start_timeout: Time(Duration::from_millis(1500)),
        ..settings(["sh", "silent.sh"])
    };
    let judge = judge_of(settings);
    let start = Instant::now();
    assert!(reason(compare(&judge, "", "")).contains("still starting"));
    assert!(start.elapsed() < TIMEOUT + SLACK);
    let failed = reason(compare_once_ready(&judge, "", ""));
    assert!(failed.contains("no hello within 1.5s"), "{failed}");
    let stats = judge.stats().unwrap();
    assert_eq!((stats.starts, stats.failures(Failure::Hello)), (1, 1));
}

#[test]
fn a_program_that_dies_at_once_is_started_less_and_less_often() {
    let judge = judge_of(settings(["sh", "dies.sh"]));
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(1400) {
        let failed = reason(compare(&judge, "", ""));
        assert!(failed.contains("exit status: 3") || failed.contains("starts again"), "{failed}");
        std::thread::sleep(Duration::from_millis(1));
    }
    // The program starts at about 0, 100, 300 and 700 ms.
    let stats = judge.stats().unwrap();
    assert!((2..=4).contains(&stats.starts), "{stats:?}");
    assert_eq!(stats.failures(Failure::Died), stats.starts);
    assert!(stats.waiting > 10, "{stats:?}");
}

#[test]
fn a_program_that_is_not_there_is_named() {
    let judge = judge_of(ExecSettings::new(["/no/such/judge"]));
    let error = judge.start().unwrap_err().to_string();
    assert!(error.contains("/no/such/judge: No such file"), "{error}");
    assert_eq!(judge.stats().unwrap().failures(Failure::Start), 1);
}

#[test]
fn a_program_that_starts_slowly_judges_once_it_is_there() {
    let judge = judge_of(settings(["sh", "starts_slowly.sh"]));
    assert!(reason(compare(&judge, "", "")).contains("still starting"));
    assert_eq!(compare_once_ready(&judge, "", ""), Verdict::Same);
    assert_eq!(judge.stats().unwrap().starts, 1);
}

#[test]
fn a_program_that_does_not_read_a_long_question_is_killed() {
    let judge = judge_of(settings(["sh", "says.sh", r#"{"v":1,"kinds":[]}"#]));
    judge.start().unwrap();
    let long = "x".repeat(1 << 20);
    let start = Instant::now();
    assert!(reason(compare(&judge, &long, &long)).contains("no answer within"));
    assert!(start.elapsed() < TIMEOUT + SLACK);
}

#[test]
fn long_questions_arrive_whole() {
    let judge = moody();
    let long = "x".repeat(1 << 20);
    assert_eq!(compare(&judge, &long, &long), Verdict::Same);
    // Only the beginning of a long detail is kept.
    assert_eq!(detail(compare(&judge, &long[..10_000], "")), format!("{}…", &long[..300]));
}

#[test]
fn memory_beyond_the_limit_is_refused() {
    let settings = ExecSettings { max_memory_mib: Some(256), ..settings(["python3", "moody.py"]) };
    let judge = judge_of(settings);
    judge.start().unwrap();
    assert_eq!(compare(&judge, "12", "12"), Verdict::Same);
    assert!(reason(compare(&judge, "eat", "")).contains("exit status: 1"));
}

#[test]
fn threads_share_the_program_and_wait_for_it_up_to_the_limit() {
    let timeout = Duration::from_secs(2);
    let judge =
        judge_of(ExecSettings { timeout: Time(timeout), ..settings(["python3", "moody.py"]) });
    judge.start().unwrap();
    let ask = |body: &str| {
        std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..5).map(|_| scope.spawn(|| compare(&judge, body, body))).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect::<Vec<_>>()
        })
    };
    assert!(ask("12").iter().all(|verdict| *verdict == Verdict::Same));

    let start = Instant::now();
    let verdicts = ask("slow");
    assert!(start.elapsed() < 2 * timeout + SLACK);
    let judged = verdicts.iter().filter(|verdict| **verdict == Verdict::Same).count();
    let stats = judge.stats().unwrap();
    assert_eq!(judged + stats.busy as usize, 5, "{verdicts:?}");
    assert!(stats.busy >= 2 && judged >= 1, "{verdicts:?}");
    assert_eq!(stats.starts, 1);
}

#[test]
fn no_process_is_left_when_the_judge_is_dropped() {
    let judge = judge_of(settings(["sh", "leaves_children.sh"]));
    judge.start().unwrap();
    let processes = detail(compare(&judge, "", ""));
    let (program, child) = processes.split_once(' ').unwrap();
    assert!(runs(program) && runs(child), "{processes}");
    drop(judge);
    assert!(!Path::new("/proc").join(program).exists(), "{program} is left");
    // The process that adopts the child waits for it.
    let start = Instant::now();
    while runs(child) {
        assert!(start.elapsed() < SLACK, "{child} is left");
    }
}

#[test]
fn a_hanging_program_is_killed_when_the_judge_is_dropped() {
    let judge = judge_of(settings(["sh", "silent.sh"]));
    let _ = compare(&judge, "", "");
    let start = Instant::now();
    drop(judge);
    assert!(start.elapsed() < SLACK);
}
