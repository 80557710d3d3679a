//! The headers that describe a symbol.

use http::{HeaderName, HeaderValue};
use qr_core::Level;
use service_kit::write_number;

use crate::head::Head;
use crate::plan::Plan;
use crate::symbol::{AnySymbol, Encoded};

// As constants they are checked and hashed once, by the compiler.
const X_QR_KIND: HeaderName = HeaderName::from_static("x-qr-kind");
const X_QR_VERSION: HeaderName = HeaderName::from_static("x-qr-version");
const X_QR_LEVEL: HeaderName = HeaderName::from_static("x-qr-level");
const X_QR_MASK: HeaderName = HeaderName::from_static("x-qr-mask");
const X_QR_MODULES: HeaderName = HeaderName::from_static("x-qr-modules");
const X_QR_PARTS: HeaderName = HeaderName::from_static("x-qr-parts");
const X_QR_UNUSED_CORRECTION: HeaderName = HeaderName::from_static("x-qr-unused-correction");

/// What the headers say of a symbol.
pub(crate) struct Described {
    kind: &'static str,
    version: Version,
    level: Option<Level>,
    mask: Option<u8>,
    /// Width and height in modules.
    modules: (usize, usize),
    parts: usize,
    unused_correction: Option<f64>,
}

/// A version as the standards name it.
enum Version {
    Number(u8),
    Name(String),
}

impl Described {
    pub(crate) fn of(plan: &Plan, encoded: &Encoded) -> Self {
        let symbol = &encoded.symbol;
        let modules = symbol.modules();
        Described {
            kind: plan.symbol.kind().as_str(),
            version: match symbol {
                AnySymbol::Qr(symbol) => Version::Number(symbol.version()),
                _ => Version::Name(symbol.version()),
            },
            level: symbol.level(),
            mask: symbol.mask(),
            modules: (modules.width(), modules.height()),
            parts: encoded.parts,
            unused_correction: encoded.unused_correction(),
        }
    }

    pub(crate) fn put(&self, head: &mut impl Head) {
        head.put(X_QR_KIND, HeaderValue::from_static(self.kind));
        match &self.version {
            Version::Number(number) => head.put_number(X_QR_VERSION, usize::from(*number)),
            Version::Name(name) => head.put_bytes(X_QR_VERSION, name.as_bytes()),
        }
        if let Some(level) = self.level {
            head.put(X_QR_LEVEL, name_of(level));
        }
        if let Some(mask) = self.mask {
            head.put_number(X_QR_MASK, usize::from(mask));
        }
        head.put_bytes(X_QR_MODULES, &size_text(self.modules));
        head.put_number(X_QR_PARTS, self.parts);
        match self.unused_correction {
            Some(1.0) => head.put(X_QR_UNUSED_CORRECTION, const { HeaderValue::from_static("1") }),
            Some(unused) => {
                head.put_bytes(X_QR_UNUSED_CORRECTION, format!("{unused:.2}").as_bytes())
            }
            None => {}
        }
    }
}

fn name_of(level: Level) -> HeaderValue {
    match level {
        Level::L => const { HeaderValue::from_static("L") },
        Level::M => const { HeaderValue::from_static("M") },
        Level::Q => const { HeaderValue::from_static("Q") },
        Level::H => const { HeaderValue::from_static("H") },
    }
}

/// `29x29`, without the cost of `format!`.
fn size_text((width, height): (usize, usize)) -> Vec<u8> {
    let mut text = Vec::with_capacity(8);
    write_number(&mut text, width);
    text.push(b'x');
    write_number(&mut text, height);
    text
}
