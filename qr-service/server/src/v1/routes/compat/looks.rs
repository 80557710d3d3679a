//! Translates QuickChart's styles and its picture in the middle to our options, and reads its caption.

use qr_core::Color;
use serde::Deserialize;
use serde_json::Value;

use super::drawing::{symbol, wrong};
use super::fields::Fields;
use crate::v1::fault::Fault;
use crate::v1::letters::Letters;
use crate::v1::options::{FinderShape, Ink, LevelName, Logo, Options, Shape};

/// Default width of the picture in the middle, as a share of the symbol's width.
const DEFAULT_RATIO: f64 = 0.3;

/// Font sizes of captions, and the most characters.
const DEFAULT_SIZE_PX: f32 = 10.0;
const SIZES_PX: std::ops::RangeInclusive<f32> = 1.0..=200.0;
const MOST_CHARACTERS: usize = 500;

/// Reads the styles into `options`. Returns the shape of the finder patterns' cores if it is another. As in QuickChart,
/// an unknown style means the default. Fails if the colour is invalid.
pub(super) fn read_styles(
    fields: &Fields,
    options: &mut Options,
) -> Result<Option<FinderShape>, Fault> {
    options.shape = match fields.given("dotStyle") {
        Some("dot") => Some(Shape::Dots),
        Some("rounded") => Some(Shape::Rounded),
        _ => None,
    };
    options.finder_shape = match fields.given("finderStyle") {
        Some("rounded") => Some(FinderShape::Rounded),
        Some("circle") => Some(FinderShape::Circle),
        _ => None,
    };
    let cores = match fields.given("finderDotStyle") {
        Some("square") => Some(FinderShape::Square),
        Some("rounded") => Some(FinderShape::Rounded),
        Some("dot" | "circle") => Some(FinderShape::Circle),
        _ => None,
    };
    let color = fields.given("finderColor").map(|value| value.parse::<Ink>()).transpose();
    options.finder_color = color
        .map_err(|_| wrong("finderColor", "use 3, 4, 6 or 8 hexadecimal digits"))?
        .filter(|color| *color != options.dark.unwrap_or(Color::BLACK.into()));
    // One that equals the default is left out, so that the picture stays plain.
    Ok(cores.filter(|cores| *cores != options.finder_shape.unwrap_or_default()))
}

/// Reads the picture in the middle into `options`, if there is one. `size` and `margin` are those of the whole picture,
/// in pixels and in modules. Fails if it is a URL, which is not fetched, or is not Base64.
pub(super) fn read_center_image(
    fields: &Fields,
    size: i64,
    margin: u32,
    options: &mut Options,
) -> Result<(), Fault> {
    let Some(url) = fields.given("centerImageUrl") else { return Ok(()) };
    let logo = Logo::deserialize(Value::from(url));
    let logo = logo.map_err(|error| wrong("centerImageUrl", error.to_string()))?;
    let pixels =
        |name: &str| fields.given(name).and_then(|value| value.parse().ok()).filter(|it| *it > 0.0);
    let sides = [pixels("centerImageWidth"), pixels("centerImageHeight")];
    let longer: Option<f64> = sides.into_iter().flatten().reduce(f64::max);
    let ratio = fields.given("centerImageSizeRatio").and_then(|value| value.parse().ok());
    let ratio = ratio.filter(|ratio| *ratio > 0.0 && *ratio <= 1.0).unwrap_or(DEFAULT_RATIO);
    options.level = options.level.or(Some(LevelName::H));
    let share = match longer {
        Some(longer) => {
            let modules = f64::from(symbol(options)?.symbol.modules().width() as u32);
            let module_px = size.max(1) as f64 / (modules + 2.0 * f64::from(margin));
            // A logo's field is half a module wider on each side, and has an odd number of modules, rounded down.
            let field = (longer / module_px / 2.0).round() * 2.0 + 1.0;
            (field + 0.01) / modules
        }
        None => ratio,
    };
    (options.logo, options.logo_size) = (Some(logo), Some(share.clamp(0.0, 1.0)));
    Ok(())
}

/// Reads the caption of a request; `None` if there is none. The font is the same whatever family the request asks for.
/// Fails if the caption is too long, the font lacks one of its characters, or its size or colour is invalid.
pub(super) fn read_caption(fields: &Fields) -> Result<Option<Letters>, Fault> {
    let of = |name: &str| fields.given(name).filter(|value| !value.trim().is_empty());
    let Some(words) = of("caption") else { return Ok(None) };
    if words.chars().count() > MOST_CHARACTERS {
        let detail = format!("it has more than {MOST_CHARACTERS} characters");
        return Err(wrong("caption", detail));
    }
    // As in QuickChart, an invalid number means the default.
    let size_px = of("captionFontSize").and_then(|size| size.parse().ok());
    let size_px = size_px.unwrap_or(DEFAULT_SIZE_PX);
    if !SIZES_PX.contains(&size_px) {
        let detail = format!("use {} to {} pixels", SIZES_PX.start(), SIZES_PX.end());
        return Err(wrong("captionFontSize", detail));
    }
    let [red, green, blue, alpha] = match of("captionFontColor") {
        Some(color) => csscolorparser::parse(color)
            .map_err(|_| wrong("captionFontColor", "use a colour as CSS has them"))?
            .to_rgba8(),
        None => [0, 0, 0, 255],
    };
    Ok(Some(Letters::new(words, size_px, Color { red, green, blue, alpha })?))
}
