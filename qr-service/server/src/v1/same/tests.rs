use super::*;
use crate::v1::options::{Format, Options};
use crate::v1::reader::{self, GreyImage};
use crate::v1::symbol::encode;

fn plan(options: Options) -> Plan {
    Plan::new(options, Format::Json).unwrap()
}

fn of_text(text: &str, mode: Mode) -> Options {
    let text = Some(text.to_owned());
    Options { text, mode: Some(mode), version_max: Some(4), ..Options::default() }
}

/// Draws a plan's symbol with four pixels per module, and reads it with the decoder.
fn read(plan: &Plan) -> (Encoded, Seen) {
    const SCALE: usize = 4;
    let encoded = encode(plan).unwrap();
    let modules = encoded.symbol.modules();
    let side = (modules.width() + 8) * SCALE;
    let is_dark = |at: usize| {
        let (x, y) = (at % side / SCALE, at / side / SCALE);
        modules.is_dark(x.wrapping_sub(4), y.wrapping_sub(4))
    };
    let grey = (0..side * side).map(|at| if is_dark(at) { 0 } else { 255 }).collect();
    let picture = GreyImage { width: side as u32, height: side as u32, grey };
    let found = reader::read(&picture, &[plan.symbol.kind()], 1).remove(0);
    (encoded, found.into())
}

/// Checks that the plan's own symbol counts as the same, and those of the other plans do not.
fn tell_apart(asked: Options, others: Vec<Options>) {
    let asked = plan(asked);
    let (encoded, found) = read(&asked);
    assert!(is_same(&found, &asked, &encoded), "{found:?}");
    for other in others {
        let (_, wrong) = read(&plan(other));
        assert_eq!(wrong.version, found.version);
        assert!(!is_same(&wrong, &asked, &encoded), "{wrong:?}");
    }
}

#[test]
fn other_kanji_are_not_the_same() {
    for mode in [Mode::Kanji, Mode::AutoKanji] {
        let other = |text| of_text(text, mode);
        tell_apart(other("点茗荷点"), vec![other("点茗荷茗"), other("茗点荷点"), other("点茗荷")]);
    }
    let mixed = |text| of_text(text, Mode::AutoKanji);
    tell_apart(
        mixed("点茗ab12c"),
        vec![mixed("点茗ab12d"), mixed("点点ab12c"), mixed("点茗ab13c")],
    );
}

#[test]
fn other_elements_of_gs1_are_not_the_same() {
    let gs1 = |text| Options { gs1: Some(true), ..of_text(text, Mode::Auto) };
    tell_apart(gs1("10A-1\u{1d}212"), vec![gs1("10A-1\u{1d}213"), gs1("10A-1\u{1d}21")]);
}

#[test]
fn other_parts_are_not_the_same() {
    for mode in [Mode::Byte, Mode::AutoKanji] {
        let text = |name: &str| format!("part {name} of 点茗 ").repeat(12);
        let part = |last: &str, part| Options { part: Some(part), ..of_text(&text(last), mode) };
        // Parts with another index, and of another message.
        let others = vec![part("a", 2), part("b", 3)];
        tell_apart(part("a", 3), others);
    }
    // A part with equal text, but of a message with another parity.
    let whole = |last: &str| "0123456789abcdef".repeat(12) + last;
    let part = |last: &str| Options { part: Some(1), ..of_text(&whole(last), Mode::Byte) };
    tell_apart(part("a"), vec![part("b")]);
}
