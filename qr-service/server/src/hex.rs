//! Hexadecimal digits for the hot path, where `format!` would allocate and take longer.

/// Writes `bytes` as lower-case digits to `out`, which has room for two per byte.
pub(crate) fn write_hex(bytes: &[u8], out: &mut [u8]) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    for (byte, digits) in bytes.iter().zip(out.chunks_exact_mut(2)) {
        digits.copy_from_slice(&[DIGITS[usize::from(byte >> 4)], DIGITS[usize::from(byte & 15)]]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digits_are_those_of_format() {
        let number = 0x0123_4567_89ab_cdef_u64;
        let mut digits = [0; 16];
        write_hex(&number.to_be_bytes(), &mut digits);
        assert_eq!(std::str::from_utf8(&digits), Ok(format!("{number:016x}").as_str()));
    }
}
