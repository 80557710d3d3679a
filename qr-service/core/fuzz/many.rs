//! Runs the checks of the fuzz targets on millions of random inputs. It is much faster, because it measures no
//! coverage.
//!
//!     many QUERIES PIXELS MODULES [SEED]

#[path = "checks/modules.rs"]
mod modules;
#[path = "checks/pixels.rs"]
mod pixels;
#[path = "checks/query.rs"]
mod query;

use std::time::Instant;

use fastrand::Rng;

fn main() {
    let numbers: Result<Vec<u64>, _> = std::env::args().skip(1).map(|text| text.parse()).collect();
    let Ok([queries, pixels, modules, seed @ ..]) = numbers.as_deref() else {
        eprintln!("usage: many QUERIES PIXELS MODULES [SEED], the number of cases of each check");
        std::process::exit(2);
    };
    let seed = seed.first().copied().unwrap_or_else(|| fastrand::u64(..));
    println!("seed {seed}");
    let mut rng = Rng::with_seed(seed);
    run("query", *queries, || query::check(&some_query(&mut rng)));
    run("pixels", *pixels, || pixels::check(&some_text(&mut rng)));
    run("modules", *modules, || modules::check(&some_text(&mut rng)));
}

fn run(name: &str, cases: u64, mut case: impl FnMut()) {
    let began = Instant::now();
    (0..cases).for_each(|_| case());
    println!("{name}: {cases} cases in {:.0} s, no finding", began.elapsed().as_secs_f64());
}

/// A query of pieces that have a meaning for the parser, whole and broken, and of random bytes.
fn some_query(rng: &mut Rng) -> Vec<u8> {
    const PIECES: [&[u8]; 16] = [
        b"text=",
        b"text",
        b"te%78t=",
        b"&",
        b"=",
        b"+",
        b"%",
        b"%4",
        b"%41",
        b"%C3%A9",
        b"%ff",
        b"%+1",
        b"a",
        "\u{e9}".as_bytes(),
        b"https://example.com/?a=b",
        b"\0",
    ];
    let mut query = Vec::new();
    // A few queries are longer than the longest text.
    let pieces = if rng.u8(..) == 0 { rng.usize(..400) } else { rng.usize(..12) };
    for _ in 0..pieces {
        match rng.u8(..20) {
            0 => query.push(rng.u8(..)),
            _ => query.extend_from_slice(PIECES[rng.usize(..PIECES.len())]),
        }
    }
    query
}

/// Bytes for the choices of a target, and a text. Most texts are short, because large symbols take long and are no more
/// likely to be wrong.
fn some_text(rng: &mut Rng) -> Vec<u8> {
    let longest = if rng.u8(..) == 0 { 3000 } else { 120 };
    let mut input = vec![0; 3 + rng.usize(..longest)];
    match rng.bool() {
        true => rng.fill(&mut input),
        // Few different characters make more matches in the stream than noise does.
        false => input.fill_with(|| b"abcABC0123./:?"[rng.usize(..14)]),
    }
    input[..3].fill_with(|| rng.u8(..));
    input
}
