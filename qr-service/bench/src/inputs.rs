//! The texts to make pictures of. There are many of each kind, so caching a result gains nothing.

/// A kind of text.
pub struct Input {
    /// Its name in tables and files.
    pub name: &'static str,
    make: fn(u64) -> String,
}

/// Number of texts per kind.
const VARIANTS: u64 = 64;

impl Input {
    /// All texts of this kind.
    pub fn texts(&self) -> Vec<String> {
        (0..VARIANTS).map(self.make).collect()
    }
}

/// A sequence of pseudo-random numbers (SplitMix64, Steele et al. 2014).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }

    fn pick(&mut self, from: &str, count: usize) -> String {
        let from: Vec<char> = from.chars().collect();
        (0..count).map(|_| from[self.below(from.len() as u64) as usize]).collect()
    }
}

const LOWER: &str = "abcdefghijklmnopqrstuvwxyz";
const LETTERS: &str = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
const LOWER_AND_DIGITS: &str = "abcdefghijklmnopqrstuvwxyz0123456789";
const TWO_BYTES: &str = "äöüßéèêàâçñøåæþðžščřůďťň";

/// The four kinds of text: 3 bytes, a link of 53 bytes, 200 bytes of UTF-8, 512 letters.
pub const INPUTS: [Input; 4] = [
    Input { name: "hi", make: |i| format!("hi{}", Numbers(i).pick(LOWER, 1)) },
    Input {
        name: "url",
        make: |i| format!("https://example.com/articles/{}", Numbers(i).pick(LOWER_AND_DIGITS, 24)),
    },
    Input { name: "utf8", make: |i| Numbers(i).pick(TWO_BYTES, 100) },
    Input { name: "max", make: |i| Numbers(i).pick(LETTERS, 512) },
];

#[cfg(test)]
mod tests;
