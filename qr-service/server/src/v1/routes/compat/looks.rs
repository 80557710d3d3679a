//! Translates QuickChart's styles and its picture in the middle to our options.

use serde::Deserialize;
use serde_json::Value;

use super::drawing::{Wrong, symbol};
use super::fields::{Fields, text};
use crate::v1::options::{FinderShape, Ink, LevelName, Logo, Options, Shape};

/// Default width of the picture in the middle, as a share of the symbol's width.
const DEFAULT_RATIO: f64 = 0.3;

/// Reads the styles into `options`. Returns the shape of the finder patterns' cores if it is another. As in QuickChart,
/// an unknown style means the default. Fails if the colour is invalid.
pub(super) fn read_styles(
    fields: &Fields,
    options: &mut Options,
) -> Result<Option<FinderShape>, Wrong> {
    let of = |name: &str| fields.first(name).filter(|value| !value.is_empty()).map(text);
    options.shape = match of("dotStyle") {
        Some("dot") => Some(Shape::Dots),
        Some("rounded") => Some(Shape::Rounded),
        _ => None,
    };
    options.finder_shape = match of("finderStyle") {
        Some("rounded") => Some(FinderShape::Rounded),
        Some("circle") => Some(FinderShape::Circle),
        _ => None,
    };
    let cores = match of("finderDotStyle") {
        Some("square") => Some(FinderShape::Square),
        Some("rounded") => Some(FinderShape::Rounded),
        Some("dot" | "circle") => Some(FinderShape::Circle),
        _ => None,
    };
    let color = of("finderColor").map(|value| value.parse::<Ink>()).transpose();
    options.finder_color = color
        .map_err(|_| Wrong::new("finderColor", "use 3, 4, 6 or 8 hexadecimal digits"))?
        .filter(|color| *color != options.dark.unwrap_or(qr_core::Color::BLACK.into()));
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
) -> Result<(), Wrong> {
    let of = |name: &str| fields.first(name).filter(|value| !value.is_empty()).map(text);
    let Some(url) = of("centerImageUrl") else { return Ok(()) };
    let logo = Logo::deserialize(Value::from(url));
    let logo = logo.map_err(|error| Wrong::new("centerImageUrl", error.to_string()))?;
    let pixels = |name: &str| of(name).and_then(|value| value.parse().ok()).filter(|it| *it > 0.0);
    let sides = [pixels("centerImageWidth"), pixels("centerImageHeight")];
    let longer: Option<f64> = sides.into_iter().flatten().reduce(f64::max);
    let ratio = of("centerImageSizeRatio").and_then(|value| value.parse().ok());
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
