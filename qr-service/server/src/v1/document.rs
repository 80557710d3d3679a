//! A PDF (ISO 32000-1), written object by object, so that an answer can start before the document is complete. The
//! crates that write PDF keep the whole document in memory.

use std::io::Write;

/// The name of the font Helvetica in the resources of every page.
pub(crate) const FONT: &str = "F";
/// Fixed object numbers, of objects that other objects refer to before they are written, or that occur once.
const CATALOG: usize = 1;
const PAGES: usize = 2;
const FONT_OBJECT: usize = 3;
/// Asks viewers not to fit the pages to the printer's margins, which would move every label.
const AS_IT_IS: &str = "/ViewerPreferences<</PrintScaling/None>>";

/// The document so far.
pub(crate) struct Document {
    /// Bytes returned so far.
    len: usize,
    /// Offsets of the objects, by number from 1.
    offsets: Vec<usize>,
    pages: Vec<usize>,
}

/// Appends text to a document, or to the content of a page.
pub(crate) fn put(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    // Writing to a vector cannot fail.
    let _ = out.write_fmt(text);
}

impl Document {
    /// An empty document, and its first bytes.
    pub(crate) fn begin() -> (Self, Vec<u8>) {
        let mut document = Document { len: 0, offsets: vec![0; FONT_OBJECT], pages: Vec::new() };
        // Four bytes above 127 tell programs that the file is binary.
        let mut out = b"%PDF-1.6\n%\xe2\xe3\xcf\xd3\n".to_vec();
        document.offsets[FONT_OBJECT - 1] = out.len();
        let font = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>";
        put(&mut out, format_args!("{FONT_OBJECT} 0 obj\n{font}\nendobj\n"));
        document.len = out.len();
        (document, out)
    }

    /// Adds a part of a page's content, which zlib has compressed. Returns its number and its bytes.
    pub(crate) fn content(&mut self, compressed: &[u8]) -> (usize, Vec<u8>) {
        let number = self.next();
        let mut out = Vec::with_capacity(compressed.len() + 90);
        let length = compressed.len();
        put(
            &mut out,
            format_args!("{number} 0 obj\n<</Length {length}/Filter/FlateDecode>>stream\n"),
        );
        out.extend_from_slice(compressed);
        put(&mut out, format_args!("\nendstream\nendobj\n"));
        self.len += out.len();
        (number, out)
    }

    /// Adds a page of these parts, in their order, with its size in points. Returns its bytes.
    pub(crate) fn page(&mut self, contents: &[usize], (width, height): (f64, f64)) -> Vec<u8> {
        let number = self.next();
        self.pages.push(number);
        let mut out = Vec::new();
        put(&mut out, format_args!("{number} 0 obj\n<</Type/Page/Parent {PAGES} 0 R"));
        put(&mut out, format_args!("/MediaBox[0 0 {width:.3} {height:.3}]"));
        put(&mut out, format_args!("/Resources<</Font<</{FONT} {FONT_OBJECT} 0 R>>>>/Contents["));
        put_references(&mut out, contents);
        put(&mut out, format_args!("]>>\nendobj\n"));
        self.len += out.len();
        out
    }

    /// Returns the bytes that end the document.
    pub(crate) fn finish(mut self) -> Vec<u8> {
        let mut out = Vec::new();
        self.offsets[PAGES - 1] = self.len;
        put(&mut out, format_args!("{PAGES} 0 obj\n<</Type/Pages/Kids["));
        put_references(&mut out, &self.pages);
        put(&mut out, format_args!("]/Count {}>>\nendobj\n", self.pages.len()));
        self.offsets[CATALOG - 1] = self.len + out.len();
        put(
            &mut out,
            format_args!(
                "{CATALOG} 0 obj\n<</Type/Catalog/Pages {PAGES} 0 R{AS_IT_IS}>>\nendobj\n"
            ),
        );
        let (table, size) = (self.len + out.len(), self.offsets.len() + 1);
        put(&mut out, format_args!("xref\n0 {size}\n0000000000 65535 f \n"));
        for offset in &self.offsets {
            put(&mut out, format_args!("{offset:010} 00000 n \n"));
        }
        put(&mut out, format_args!("trailer\n<</Size {size}/Root {CATALOG} 0 R>>\n"));
        put(&mut out, format_args!("startxref\n{table}\n%%EOF\n"));
        out
    }

    /// Begins an object at the current offset and returns its number.
    fn next(&mut self) -> usize {
        self.offsets.push(self.len);
        self.offsets.len()
    }
}

fn put_references(out: &mut Vec<u8>, numbers: &[usize]) {
    for number in numbers {
        put(out, format_args!("{number} 0 R "));
    }
}
