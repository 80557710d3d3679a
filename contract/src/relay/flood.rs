//! Many bytes that can be checked without keeping them.

/// An endless sequence of pseudo-random bytes, the same each time (xorshift64).
#[derive(Clone, Debug)]
pub(super) struct Flood {
    state: u64,
    word: [u8; 8],
    at: usize,
}

impl Flood {
    pub(super) fn new() -> Self {
        Flood { state: 0x9e37_79b9_7f4a_7c15, word: [0; 8], at: 8 }
    }

    /// Fills `bytes` with the next bytes of the sequence.
    pub(super) fn fill(&mut self, bytes: &mut [u8]) {
        for byte in bytes {
            *byte = self.next();
        }
    }

    /// Returns the index of the first byte that differs from the sequence.
    pub(super) fn check(&mut self, bytes: &[u8]) -> Option<usize> {
        bytes.iter().position(|&byte| byte != self.next())
    }

    fn next(&mut self) -> u8 {
        if self.at == self.word.len() {
            self.state ^= self.state << 13;
            self.state ^= self.state >> 7;
            self.state ^= self.state << 17;
            self.word = self.state.to_le_bytes();
            self.at = 0;
        }
        self.at += 1;
        self.word[self.at - 1]
    }
}
