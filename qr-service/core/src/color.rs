//! Colours of pictures.

use std::fmt;
use std::str::FromStr;

use crate::error::Error;

/// A colour in sRGB with its opacity.
#[doc = example!(
    assert_eq!("#06c".parse(), Ok(Color::rgb(0x00, 0x66, 0xcc)));
    assert_eq!("0066CC80".parse(), Ok(Color { red: 0, green: 0x66, blue: 0xcc, alpha: 0x80 }));
    assert_eq!("0-102-204".parse(), Ok(Color::rgb(0, 102, 204)));
    assert!("blue".parse::<Color>().is_err());
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Color {
    /// Red, 0 to 255.
    pub red: u8,
    /// Green, 0 to 255.
    pub green: u8,
    /// Blue, 0 to 255.
    pub blue: u8,
    /// Opacity: 0 is transparent, 255 is opaque.
    pub alpha: u8,
}

impl Color {
    /// Opaque black.
    #[doc = example!(assert_eq!("000".parse(), Ok(Color::BLACK)))]
    pub const BLACK: Color = Color::rgb(0, 0, 0);
    /// Opaque white.
    #[doc = example!(assert_eq!("fff".parse(), Ok(Color::WHITE)))]
    pub const WHITE: Color = Color::rgb(255, 255, 255);
    /// No colour at all.
    #[doc = example!(assert_eq!(Color::TRANSPARENT.alpha, 0))]
    pub const TRANSPARENT: Color = Color { red: 255, green: 255, blue: 255, alpha: 0 };

    /// An opaque colour.
    #[doc = example!(assert_eq!(Color::rgb(0, 102, 204).to_string(), "#0066cc"))]
    pub const fn rgb(red: u8, green: u8, blue: u8) -> Self {
        Color { red, green, blue, alpha: 255 }
    }
}

/// `#` and two hexadecimal digits per channel; an opaque colour leaves alpha out.
impl fmt::Display for Color {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Color { red, green, blue, alpha } = *self;
        write!(f, "#{red:02x}{green:02x}{blue:02x}")?;
        if alpha < 255 { write!(f, "{alpha:02x}") } else { Ok(()) }
    }
}

/// Reads 3, 4, 6 or 8 hexadecimal digits, with or without `#` before them; red, green and blue as decimals with
/// dashes between them; or `transparent`.
impl FromStr for Color {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self, Error> {
        if text == "transparent" {
            return Ok(Color::TRANSPARENT);
        }
        let channels = if text.contains('-') { decimals(text) } else { hexadecimals(text) };
        let [red, green, blue, alpha] = channels.ok_or(Error::Color)?;
        Ok(Color { red, green, blue, alpha })
    }
}

fn decimals(text: &str) -> Option<[u8; 4]> {
    let mut channels = [255; 4];
    let mut parts = text.split('-');
    for channel in &mut channels[..3] {
        let part = parts.next()?;
        // `u8::from_str` also takes a plus sign.
        *channel = part.bytes().all(|b| b.is_ascii_digit()).then(|| part.parse().ok())??;
    }
    parts.next().is_none().then_some(channels)
}

fn hexadecimals(text: &str) -> Option<[u8; 4]> {
    let digits = text.strip_prefix('#').unwrap_or(text).chars();
    let digits: Vec<u8> = digits.map(|c| c.to_digit(16).map(|d| d as u8)).collect::<Option<_>>()?;
    let mut channels = [255; 4];
    match digits.len() {
        3 | 4 => channels.iter_mut().zip(&digits).for_each(|(c, d)| *c = d * 17),
        6 | 8 => {
            let pairs = digits.as_chunks::<2>().0;
            channels.iter_mut().zip(pairs).for_each(|(c, [high, low])| *c = high << 4 | low);
        }
        _ => return None,
    }
    Some(channels)
}

#[cfg(test)]
mod tests;
