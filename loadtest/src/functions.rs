//! Where the instructions of a request are: callgrind's counts by address, summed by what the code is for.
//!
//! The optimiser inlines most functions, so a function's name says little. The debug information says for each
//! instruction which calls were inlined around it. The innermost one that is not the standard library's decides.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, ensure};

/// Instructions by object file, function and address.
pub type Counts = HashMap<(String, String, u64), u64>;

/// What the code is for, by a part of its file's path, or of the function's name where only that is known. The first
/// that fits counts.
const KINDS: [(&str, &[&str]); 16] = [
    (
        "the picture",
        &[
            "qr-service/core/",
            "server/src/engine.rs",
            "/fearless_simd-",
            "/crc32fast-",
            "qr_core::",
            "crc32fast::",
        ],
    ),
    ("the request's head (httparse)", &["/httparse-", "httparse::"]),
    ("the head, until it is a plain request; the date", &["server/shortcut.rs"]),
    ("the query and the text", &["qr-service/query/", "qr_query::"]),
    (
        "the options of `/v1/qr`, its plan and headers",
        &[
            "qr-service/api/",
            "qr-service/options/",
            "/serde",
            "qr_options::",
            "qr_api::",
            "serde_json::",
        ],
    ),
    ("the answer's head", &["server/src/routes/"]),
    ("the tag", &["server/src/tags.rs", "/xxhash-rust-"]),
    ("the request id", &["server/src/layers.rs", "server/src/hex.rs", "/fastrand-"]),
    (
        "metrics",
        &[
            "server/src/metrics.rs",
            "/distribution.rs",
            "/per_thread.rs",
            "/thread_local-",
            "server/metrics.rs",
        ],
    ),
    (
        "the connection: reads, timeouts, its place",
        &[
            "server/connection",
            "server/places.rs",
            "server/clients.rs",
            "server/stream.rs",
            "server/requests.rs",
        ],
    ),
    ("tokio: timers", &["/runtime/time/", "/src/time/"]),
    (
        "tokio and mio: events and sockets",
        &["/runtime/io/", "/src/io/", "/src/net/", "/mio-", "/socket2-"],
    ),
    ("tokio: the task and its turn", &["/tokio-", "/parking_lot"]),
    ("hyper and http", &["/hyper-", "/http-", "/bytes-", "/http-body-"]),
    (
        "texts of the standard library: UTF-8, splitting, searching",
        &["core::str::", "core::slice::", "alloc::str"],
    ),
    ("axum and tower", &["/axum-", "/tower-", "/matchit-"]),
];
/// The same for functions of the C library, by the beginning of their names.
const LIBRARY: [(&str, &[&str]); 4] = [
    (
        "the clock: reading it without the kernel, and subtracting times",
        &["clock_gettime", "__vdso", "__clock_gettime"],
    ),
    ("copying and comparing bytes (libc)", &["__mem", "mem", "bcmp", "__str", "str"]),
    (
        "allocating (libc)",
        &[
            "malloc",
            "free",
            "calloc",
            "realloc",
            "_int_",
            "cfree",
            "sysmalloc",
            "unlink_chunk",
            "tcache",
            "__libc_malloc",
        ],
    ),
    ("calls of the kernel: the wrappers of recv, send, epoll_wait (libc)", &[""]),
];
const CLOCK: [&str; 3] = ["Instant::now", "Timespec", "Duration"];

/// Reads what callgrind wrote with `--dump-instr=yes` and nothing compressed.
///
/// # Errors
/// If the file cannot be read, or has no counts.
pub fn read(file: &Path) -> anyhow::Result<Counts> {
    let text = fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let counts = counts(&text);
    ensure!(!counts.is_empty(), "{} has no counts", file.display());
    Ok(counts)
}

fn counts(text: &str) -> Counts {
    let mut counts = Counts::new();
    let (mut object, mut function, mut is_call) = (String::new(), String::new(), false);
    for line in text.lines() {
        if let Some(name) = line.strip_prefix("ob=") {
            name.clone_into(&mut object);
        } else if let Some(name) = line.strip_prefix("fn=") {
            name.clone_into(&mut function);
        } else if line.starts_with("calls=") {
            // The next line has what was called, which is counted where it is.
            is_call = true;
        } else if let Some(rest) = line.strip_prefix("0x")
            && !std::mem::take(&mut is_call)
            && let Some((address, count)) = rest.split_once(' ')
            && let (Ok(address), Ok(count)) = (u64::from_str_radix(address, 16), count.parse())
        {
            let counted: u64 = count;
            *counts.entry((object.clone(), function.clone(), address)).or_default() += counted;
        }
    }
    counts
}

/// Instructions a request of each kind, the most first, from a run with so many requests more than another.
///
/// # Errors
/// If `addr2line` is missing.
pub fn by_kind(
    program: &Path,
    (more, fewer): (&Counts, &Counts),
    requests: usize,
) -> anyhow::Result<Vec<(&'static str, f64)>> {
    let is_program = |object: &str| Path::new(object).file_name() == program.file_name();
    let mut addresses: Vec<u64> =
        more.keys().filter(|(object, ..)| is_program(object)).map(|it| it.2).collect();
    addresses.sort_unstable();
    addresses.dedup();
    let inlined = inlined(program, &addresses)?;
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    for (key, count) in more {
        let (object, function, address) = key;
        let kind = match inlined.get(address).filter(|_| is_program(object)) {
            Some(calls) => kind_of(calls),
            None => kind_in_library(function),
        };
        let before = fewer.get(key).copied().unwrap_or_default();
        *sums.entry(kind).or_default() += (*count as f64 - before as f64) / requests as f64;
    }
    let mut sums: Vec<(&str, f64)> = sums.into_iter().filter(|it| it.1 >= 1.0).collect();
    sums.sort_by(|(_, mine), (_, other)| other.total_cmp(mine));
    Ok(sums)
}

/// A function and the file it stands in.
type Call = (String, String);

/// The calls around each address, the innermost first.
fn inlined(program: &Path, addresses: &[u64]) -> anyhow::Result<HashMap<u64, Vec<Call>>> {
    let mut asked = tempfile::tempfile()?;
    addresses.iter().try_for_each(|address| writeln!(asked, "{address:#x}"))?;
    std::io::Seek::rewind(&mut asked)?;
    let mut command = Command::new("addr2line");
    command.args(["-a", "-i", "-f", "-C", "-e"]).arg(program).stdin(asked).stderr(Stdio::null());
    let output = command.output().context("addr2line (binutils has it)")?;
    ensure!(output.status.success(), "addr2line: {}", output.status);
    let (text, mut found) = (String::from_utf8_lossy(&output.stdout), HashMap::new());
    let (mut lines, mut address) = (text.lines(), 0);
    while let Some(line) = lines.next() {
        if let Some(hexadecimal) = line.strip_prefix("0x") {
            address = u64::from_str_radix(hexadecimal, 16)?;
            continue;
        }
        let calls: &mut Vec<Call> = found.entry(address).or_default();
        calls.push((line.to_owned(), lines.next().unwrap_or_default().to_owned()));
    }
    Ok(found)
}

fn kind_of(calls: &[Call]) -> &'static str {
    let is_clock = |(function, _): &Call| CLOCK.iter().any(|name| function.contains(name));
    if calls.iter().any(is_clock) {
        return LIBRARY[0].0;
    }
    let is_standard = |file: &str| {
        file.contains("/library/") || file.contains("/rustc/") || file.starts_with('?')
    };
    let own = calls.iter().find(|(_, file)| !is_standard(file));
    let known = own.map(|(_, file)| file).or_else(|| calls.last().map(|(function, _)| function));
    let known = known.map_or("", String::as_str);
    let fits = |(_, parts): &&(&str, &[&str])| parts.iter().any(|part| known.contains(part));
    KINDS.iter().find(fits).map_or("other", |(kind, _)| kind)
}

fn kind_in_library(function: &str) -> &'static str {
    let fits = |(_, names): &&(&str, &[&str])| names.iter().any(|name| function.starts_with(name));
    LIBRARY.iter().find(fits).map_or("other", |(kind, _)| kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_are_counted_where_they_are() {
        let text = "positions: instr\nob=/a\nfn=one\n0x10 3\n0x11 4\ncfn=two\ncalls=1 0x20\n0x12 500\n\
                    0x13 1\nfn=two\n0x20 500\n";
        let counts = counts(text);
        assert_eq!(counts.values().sum::<u64>(), 508);
        assert_eq!(counts[&("/a".to_owned(), "two".to_owned(), 0x20)], 500);
    }

    #[test]
    fn the_innermost_call_outside_the_standard_library_decides() {
        let call = |function: &str, file: &str| (function.to_owned(), file.to_owned());
        let inlined = [
            call("core::slice::iter", "/rustc/1/library/core/src/slice/iter.rs:9"),
            call("httparse::skip", "/x/httparse-1.10/src/lib.rs:7"),
            call("answer", "/y/qr-service/server/src/routes/plain.rs:20"),
        ];
        assert_eq!(kind_of(&inlined), "the request's head (httparse)");
        assert_eq!(kind_of(&inlined[2..]), "the answer's head");
        let now = [call("std::time::Instant::now", "/rustc/1/library/std/src/time.rs:1")];
        assert_eq!(kind_of(&now), kind_in_library("clock_gettime"));
        assert_eq!(kind_in_library("__memcpy_avx_unaligned"), LIBRARY[1].0);
        assert_eq!(kind_in_library("epoll_wait"), LIBRARY[3].0);
    }
}
