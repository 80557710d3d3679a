//! A growing string of bits, for the encoders with options. `crate::codewords` has its own writer, which does not
//! allocate.

/// Bits packed into bytes, the most significant bit first.
pub(crate) struct BitString {
    bytes: Vec<u8>,
    len: usize,
}

impl BitString {
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        BitString { bytes: Vec::with_capacity(bytes), len: 0 }
    }

    /// Number of bits.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Appends the low `count` bits of `value`.
    pub(crate) fn put(&mut self, value: u32, count: u32) {
        let mut left = count;
        while left > 0 {
            let room = 8 - self.len as u32 % 8;
            if room == 8 {
                self.bytes.push(0);
            }
            let step = room.min(left);
            left -= step;
            let bits = (value >> left) & ((1 << step) - 1);
            if let Some(last) = self.bytes.last_mut() {
                *last |= (bits << (room - step)) as u8;
            }
            self.len += step as usize;
        }
    }

    /// Appends digits, three in 10 bits.
    pub(crate) fn put_numeric(&mut self, digits: &[u8]) {
        for part in digits.chunks(3) {
            let value = part.iter().fold(0, |v, b| v * 10 + u32::from(b - b'0'));
            self.put(value, [0, 4, 7, 10][part.len()]);
        }
    }

    /// Appends values of alphanumeric mode, two in 11 bits.
    pub(crate) fn put_alphanumeric(&mut self, values: &[u8]) {
        for part in values.chunks(2) {
            let value = part.iter().fold(0, |v, b| v * 45 + u32::from(*b));
            self.put(value, [0, 6, 11][part.len()]);
        }
    }

    /// Appends an ECI assignment number, at most 999999: one to three codewords, with as many leading
    /// ones as there are further codewords (table 4).
    pub(crate) fn put_eci(&mut self, assignment: u32) {
        match assignment {
            0..=127 => self.put(assignment, 8),
            128..=16383 => self.put(0b10 << 14 | assignment, 16),
            _ => self.put(0b110 << 21 | assignment, 24),
        }
    }

    /// The bytes, padded to `capacity` with the pad codewords of section 7.4.10.
    pub(crate) fn into_padded(self, capacity: usize) -> Vec<u8> {
        let mut bytes = self.bytes;
        let pads = [0xec, 0x11].into_iter().cycle().take(capacity.saturating_sub(bytes.len()));
        bytes.extend(pads);
        bytes
    }
}
