//! A ZIP archive, written file by file (APPNOTE.TXT 6.3.10, sections 4.3.7, 4.3.12 and 4.3.16).
//!
//! Pictures are stored, because they are compressed already. Each file is in memory as a whole before it is
//! written, so its header has its length and checksum, and readers need not look for them after the file. The
//! crates that write ZIP either seek, which is impossible in an answer, or put the length after the file.

/// Bit 11: names are UTF-8.
const UTF_8: u16 = 1 << 11;
/// Version 2.0 is needed to extract.
const VERSION: u16 = 20;
/// 1 January 1980 in MS-DOS's format. It is fixed, so that the same request gives the same bytes.
const DATE: u16 = 0x21;

/// The archive so far.
#[derive(Default)]
pub(crate) struct Archive {
    /// Bytes returned so far.
    len: u32,
    /// The central directory.
    directory: Vec<u8>,
    count: u16,
}

impl Archive {
    /// Adds a file and returns its bytes. Callers must stay within 65,535 files and 4 GB.
    pub(crate) fn add(&mut self, name: &str, content: &[u8]) -> Vec<u8> {
        let mut described = Vec::with_capacity(26 + name.len());
        put16(&mut described, [VERSION, UTF_8, 0, 0, DATE]);
        put32(
            &mut described,
            [crc32fast::hash(content), content.len() as u32, content.len() as u32],
        );
        put16(&mut described, [name.len() as u16, 0]);
        let mut entry = Vec::with_capacity(30 + name.len() + content.len());
        entry.extend_from_slice(b"PK\x03\x04");
        entry.extend_from_slice(&described);
        entry.extend_from_slice(name.as_bytes());
        entry.extend_from_slice(content);

        let directory = &mut self.directory;
        directory.extend_from_slice(b"PK\x01\x02");
        put16(directory, [VERSION]);
        directory.extend_from_slice(&described);
        // No comment, the first disk, no attributes.
        put16(directory, [0; 5]);
        put32(directory, [self.len]);
        directory.extend_from_slice(name.as_bytes());
        self.len += entry.len() as u32;
        self.count += 1;
        entry
    }

    /// Returns the bytes that end the archive.
    pub(crate) fn finish(self) -> Vec<u8> {
        let mut end = self.directory;
        let directory_len = end.len() as u32;
        end.extend_from_slice(b"PK\x05\x06");
        put16(&mut end, [0, 0, self.count, self.count]);
        put32(&mut end, [directory_len, self.len]);
        put16(&mut end, [0]);
        end
    }
}

fn put16<const N: usize>(out: &mut Vec<u8>, values: [u16; N]) {
    out.extend(values.into_iter().flat_map(u16::to_le_bytes));
}

fn put32<const N: usize>(out: &mut Vec<u8>, values: [u32; N]) {
    out.extend(values.into_iter().flat_map(u32::to_le_bytes));
}
