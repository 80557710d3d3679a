//! Runs the commands of a document and compares their output with the document.
//!
//! All blocks ```` ```sh ```` run in order in one shell with job control, as a person would type them. Each line of the
//! following ```` ```text ```` block must be printed. A line `...` stands for lines left out; at the end of a line,
//! `...` stands for its rest. [`exit_code`] derives the exit code of the last command from that block.

use super::shell::Shell;

/// A block of commands and the lines that it must print.
#[derive(Default)]
pub(crate) struct Block {
    pub(crate) commands: String,
    prints: Vec<String>,
}

pub(crate) fn blocks(guide: &str) -> Vec<Block> {
    let mut blocks: Vec<Block> = Vec::new();
    for fenced in guide.split("\n```").skip(1).step_by(2) {
        let (language, text) = fenced.split_once('\n').unwrap();
        match language {
            "sh" => blocks.push(Block { commands: text.to_owned(), ..Block::default() }),
            "text" => {
                let block = blocks.last_mut().unwrap();
                block.prints.extend(text.lines().map(str::to_owned));
            }
            other => panic!("a block is sh or text, not {other:?}"),
        }
    }
    blocks
}

/// Removes from a line what differs between runs: figures with a decimal point or at least three digits, the measured
/// values of gates, and repeated spaces.
fn without_figures(line: &str) -> String {
    let words: Vec<&str> = line.split_whitespace().collect();
    let next = |index: usize| words.get(index + 1).copied().unwrap_or_default();
    let words = words.iter().enumerate().map(|(index, word)| {
        let varies = next(index) == "must";
        let mut text = String::new();
        let mut rest = *word;
        while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
            let figure = rest[start..].split(|c: char| c != '.' && !c.is_ascii_digit());
            let figure = figure.into_iter().next().unwrap();
            let after = &rest[start + figure.len()..];
            let is_share = after.starts_with('%');
            let digits = figure.trim_end_matches('.');
            let long = digits.contains('.') || digits.len() >= 3;
            text += &rest[..start];
            text += if varies || (long && !is_share) { "#" } else { figure };
            rest = after;
        }
        text + rest
    });
    words.collect::<Vec<_>>().join(" ")
}

fn is_printed(wanted: &str, line: &str) -> bool {
    let start = wanted.strip_suffix("...");
    let wanted = without_figures(start.unwrap_or(wanted));
    let line = without_figures(line);
    if start.is_some() { line.starts_with(&wanted) } else { line == wanted }
}

/// The exit code of `carve` that belongs to these printed lines.
fn exit_code(prints: &[&str]) -> u8 {
    let has = |part: &str| prints.iter().any(|line| line.contains(part));
    match () {
        () if has(" mismatch (") => 1,
        () if has("rolled back: ") => 3,
        () if has("inconclusive: ") => 4,
        () => 0,
    }
}

/// Runs a guide's commands. `here` adapts each block to this shell.
pub(crate) fn follow(shell: &mut Shell, blocks: &[Block], here: impl Fn(&Shell, &str) -> String) {
    for block in blocks {
        let lines = block.prints.iter().map(String::as_str).filter(|line| line.trim() != "...");
        let wanted: Vec<&str> = lines.collect();
        let commands = here(shell, &block.commands);
        shell.run(&commands, exit_code(&wanted), &wanted, is_printed);
    }
}

#[test]
fn figures_that_vary_are_no_difference_and_others_are() {
    assert!(is_printed(
        "  pass  requests  162.2, must be >= 100",
        "pass requests 99, must be >= 100"
    ));
    assert!(is_printed("old 29, new 28; ...", "old 29, new 28; new 200, 998 bytes"));
    assert!(!is_printed("old 29, new 28; ...", "old 29, new 27; new 200, 998 bytes"));
    assert!(
        !is_printed("100% of report", "25% of report") && !is_printed("100% of a", "200% of a")
    );
}
