//! Where the headers of an answer go: into http's map, or into the head that is sent.

use http::{HeaderMap, HeaderName, HeaderValue};
use service_kit::write_number;

/// Takes the headers of an answer, in their order.
pub(crate) trait Head {
    fn put(&mut self, name: HeaderName, value: HeaderValue);
    /// The value has only characters that a header may have.
    fn put_bytes(&mut self, name: HeaderName, value: &[u8]);
    fn put_number(&mut self, name: HeaderName, value: usize);
}

impl Head for HeaderMap {
    fn put(&mut self, name: HeaderName, value: HeaderValue) {
        self.append(name, value);
    }

    fn put_bytes(&mut self, name: HeaderName, value: &[u8]) {
        if let Ok(value) = HeaderValue::from_bytes(value) {
            self.append(name, value);
        }
    }

    fn put_number(&mut self, name: HeaderName, value: usize) {
        self.append(name, HeaderValue::from(value));
    }
}

/// The lines of a head.
pub(crate) struct Lines<'a>(pub(crate) &'a mut Vec<u8>);

impl Lines<'_> {
    fn put_line(&mut self, name: &HeaderName, write: impl FnOnce(&mut Vec<u8>)) {
        self.0.extend_from_slice(name.as_str().as_bytes());
        self.0.extend_from_slice(b": ");
        write(self.0);
        self.0.extend_from_slice(b"\r\n");
    }
}

impl Head for Lines<'_> {
    fn put(&mut self, name: HeaderName, value: HeaderValue) {
        self.put_line(&name, |out| out.extend_from_slice(value.as_bytes()));
    }

    fn put_bytes(&mut self, name: HeaderName, value: &[u8]) {
        self.put_line(&name, |out| out.extend_from_slice(value));
    }

    fn put_number(&mut self, name: HeaderName, value: usize) {
        self.put_line(&name, |out| write_number(out, value));
    }
}
