//! Encodes the eleven texts of FeatherQR's benchmark to matrices, each at its level and in its version, by qr-core and by
//! two of the libraries that it measures: <https://github.com/guitarrapc/FeatherQR>,
//! `tools/CrossLanguageBenchmark/collector/Corpus.cs` at 34a0c28. As there, one text is encoded again and again. FeatherQR
//! itself does not run here; its page has its ratios to the same libraries on other processors.

use std::hint::black_box;
use std::time::Duration;

use anstream::println;
use anyhow::ensure;
use qr_bench::libqrencode;
use qr_bench::turns::{take_turns, time};
use qr_core::{Level, MicroEncoder, RmqrEncoder, encode};

/// Rounds, and the least time of a turn: its protocol has 30 batches of 20 ms.
const ROUNDS: usize = 30;
const TURN: Duration = Duration::from_millis(20);

/// Encodes a text; returns the symbol's width in modules.
type Encode = Box<dyn Fn(&str) -> usize>;

/// A kind of symbol, pinned as in the benchmark: a version at level L or M, or a height and width at level M.
#[derive(Clone, Copy)]
enum Kind {
    Qr(u8),
    Micro(u8, Level),
    Rmqr(u8, u8),
}

const UNICODE: &str = "FooBar你好世界こんにちはПривет мир🎉🎊🎈Zürich";
const PANGRAMS: &str = "the quick brown fox jumps over the lazy dog?! the quick brown fox jumps over the \
    lazy dog?! the quick brown fox jumps over the lazy dog?! the quick br";

const CASES: [(&str, Kind, &str); 11] = [
    ("qr-numeric", Kind::Qr(1), "0123456789012345678901234567890123456789"),
    ("qr-alphanumeric", Kind::Qr(2), "0123456789ABCDEFG0123456789HIJKLMN"),
    ("qr-url", Kind::Qr(3), "https://example.com/user/repo?foo=value&bar=piyo"),
    ("qr-unicode", Kind::Qr(4), UNICODE),
    ("qr-wifi", Kind::Qr(3), "WIFI:S:foobar-wifi;T:WPA;P:test123;H:false;;"),
    ("microqr-numeric", Kind::Micro(2, Level::L), "0123456789"),
    ("microqr-alphanumeric", Kind::Micro(3, Level::L), "HELLO WORLD 14"),
    ("microqr-byte", Kind::Micro(4, Level::M), "bytes m4 mode"),
    ("rmqr-numeric", Kind::Rmqr(7, 43), "012345678901"),
    ("rmqr-alphanumeric", Kind::Rmqr(11, 59), "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 $%*+-."),
    ("rmqr-byte", Kind::Rmqr(17, 139), PANGRAMS),
];

fn encoders(kind: Kind) -> Vec<(&'static str, Encode)> {
    let symbol: Encode = match kind {
        Kind::Qr(_) => Box::new(|text| encode(text, Level::L).map_or(0, |symbol| symbol.size())),
        Kind::Micro(version, level) => {
            let encoder = MicroEncoder::new(Some(level)).versions(version..=version);
            Box::new(move |text| encoder.encode(text).map_or(0, |it| it.modules().width()))
        }
        Kind::Rmqr(height, width) => {
            let encoder = RmqrEncoder::new(Level::M).heights(height..=height).widths(width..=width);
            Box::new(move |text| encoder.encode(text).map_or(0, |it| it.modules().width()))
        }
    };
    let mut encoders = vec![("qr-core", symbol)];
    if let Kind::Qr(version) = kind {
        encoders.push(("fast_qr", Box::new(|text| qr_bench::makers::fast_qr_of(text).size)));
        if let Some(width) = libqrencode::WIDTH {
            encoders.push(("libqrencode", Box::new(move |text| width(text, version))));
        }
    }
    encoders
}

fn main() -> anyhow::Result<()> {
    println!("µs from text to matrix, median of {ROUNDS} turns; ratio to the first column\n");
    for (name, kind, text) in CASES {
        let width = match kind {
            Kind::Qr(version) => usize::from(4 * version + 17),
            Kind::Micro(version, _) => usize::from(2 * version + 9),
            Kind::Rmqr(_, width) => width.into(),
        };
        let (mut encoders, texts) = (encoders(kind), [text.to_owned()]);
        for (library, encode) in &encoders {
            ensure!(encode(text) == width, "{library} makes another version of {name}");
        }
        let times = take_turns(&mut encoders, ROUNDS, |(_, encode)| {
            Ok(time(TURN, &texts, |text| _ = black_box(encode(text))))
        })?;
        let ours = times[0][1];
        let of = |((library, _), [_, ns, _]): (&(&str, Encode), &[f64; 3])| {
            format!("{library} {:.2} ({:.1}x)", ns / 1e3, ns / ours)
        };
        let figures: Vec<_> = encoders.iter().zip(&times).map(of).collect();
        println!("{name:<22} {}", figures.join("  "));
    }
    Ok(())
}
