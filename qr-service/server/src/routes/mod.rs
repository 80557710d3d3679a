//! One file an endpoint.

pub(crate) mod qrcode;
