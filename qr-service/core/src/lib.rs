//! Text to QR symbol to PNG.
