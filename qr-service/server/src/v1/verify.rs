//! Checks that a picture can be read at the size at which it is seen, before it is sent.
//!
//! Black on white at whole pixels needs no check, because the encoder's tests decode such pictures. All other
//! pictures are drawn as they will be seen, in grey, and decoded. A picture without a size of its own is checked
//! with [`ENOUGH_PX`] per module, print at [`PRINT_DPI`].

use std::iter::repeat_n;

use qr_core::{Color, Modules};

use crate::v1::artwork::{Artwork, Pixels, over};
use crate::v1::fault::{Code, Fault};
use crate::v1::options::{FinderShape, Kind, Shape};
use crate::v1::plan::{Colors, Fit, PicturePlan, Plan};
use crate::v1::reader::{self, GreyImage, Seen};
use crate::v1::same::is_same;
use crate::v1::symbol::{AnySymbol, Encoded};

/// Pixels per module beyond which a decoder gains nothing. Larger pictures are decoded with this many, so the
/// check takes bounded memory: 0.9 MB for the largest symbol.
const ENOUGH_PX: f64 = 5.0;
/// Pixels a side up to which shapes and logos are decoded at their own size as well. Decoders fit lines to the edges
/// of pixels, so a shape that reads at one scale need not read at the next. It takes 0.6 MB and some milliseconds.
const MOST_SHAPED_PX: f64 = 800.0;
/// The fewest pixels per module of a shape. With one pixel, the grey of a corner depends on how the renderer rounds,
/// and decoders disagree.
const MIN_SHAPED_PX: f64 = 2.0;
/// The fewest pixels per module of Micro QR and rMQR in print, where modules are not whole pixels. These symbols have
/// only one finder pattern, so with fewer pixels the grey edges decide whether a decoder reads them. An SVG with a size
/// is seen at that size and needs whole pixels: of the sizes from 8 to 17 pixels per module, zxing-cpp fails to read
/// R13x77 at a quarter.
const MIN_UNEVEN_PX: f64 = 3.0;
/// The fewest pixels per module in print: two dots of an office printer, 0.17 mm. A decoder reads smaller modules in a
/// perfect picture, but ink runs, and a phone at reading distance sees less.
const MIN_PRINT_PX: f64 = 2.0;
/// Resolution of an office printer, and of a phone's camera at reading distance.
const PRINT_DPI: f64 = 300.0;
/// The smallest difference of dark and light in luma, 0 to 255. ISO/IEC 15415 grades a symbol contrast of 40 % as
/// C, the lowest grade advised for symbols that anyone may scan.
pub(crate) const MIN_CONTRAST: u8 = 102;

/// Whether the picture has to be checked.
pub(crate) fn is_needed(plan: &Plan, symbol: &AnySymbol) -> bool {
    if !plan.look.is_plain() {
        return true;
    }
    match &plan.picture {
        PicturePlan::Png { colors, .. } => *colors != Colors::PLAIN,
        PicturePlan::Svg { fit, colors, .. } => {
            let modules = symbol.modules().width() as u32 + 2 * plan.margin;
            let is_whole = match fit {
                None | Some(Fit::Scale(_)) => true,
                Some(Fit::Size(size)) => size.is_multiple_of(modules),
            };
            *colors != Colors::PLAIN || !is_whole
        }
        PicturePlan::Txt { .. } | PicturePlan::Json => false,
        _ => true,
    }
}

/// Number of pixels that [`check`] decodes for a picture without shapes and logo; 0 if it needs no check.
pub(crate) fn checked_px(plan: &Plan, symbol: &AnySymbol) -> u64 {
    if !is_needed(plan, symbol) {
        return 0;
    }
    let modules = symbol.modules();
    let scale = seen_scale(plan, modules).min(ENOUGH_PX);
    let side = |modules: usize| ((modules + 8) as f64 * scale).ceil() as u64;
    side(modules.width()) * side(modules.height())
}

/// Decodes the picture as it is seen. Fails if the contrast is too low, or the picture cannot be read; the fault
/// suggests a change.
pub(crate) fn check(
    plan: &Plan,
    encoded: &Encoded,
    art: Option<&Artwork<'_>>,
) -> Result<(), Fault> {
    let colors = plan.picture.colors();
    let greys = check_contrast("dark", colors, plan.background)?;
    let others = plan.look.finders.iter().filter_map(|finder| Some(finder.color?.0));
    let others = others.map(|color| ("finder_color", color));
    for (name, dark) in others.chain(plan.look.gradient.map(|it| ("gradient_color", it.to))) {
        check_contrast(name, Colors { dark, ..colors }, plan.background)?;
    }
    let modules = encoded.symbol.modules();
    let scale = seen_scale(plan, modules);
    let kind = plan.symbol.kind();
    let reads_at = |scale: f64| {
        let picture = match art {
            Some(art) => render_art(art, scale, plan.background),
            None => render(modules, scale, greys, kind),
        };
        let is_same = |seen: &Seen| is_same(seen, plan, encoded);
        // Even squares, which every decoder reads, are checked by the fastest.
        let is_even = art.is_none() && scale >= 2.0 && (scale.fract() == 0.0 || scale >= 3.0);
        is_even && reader::read_only(&picture).is_some_and(|seen| is_same(&seen))
            || reader::read(&picture, &[kind], 1).pop().is_some_and(|found| is_same(&found.into()))
    };
    let has_shapes = plan.look.has_shapes();
    let is_uneven = kind != Kind::Qr && scale.fract() != 0.0;
    if is_uneven && scale >= MIN_UNEVEN_PX && matches!(plan.picture, PicturePlan::Svg { .. }) {
        return Err(uneven(plan, modules, scale));
    }
    let printed = match &plan.picture {
        PicturePlan::Pdf { .. } | PicturePlan::Eps { .. } => scale,
        PicturePlan::Zpl(dots) | PicturePlan::Epl(dots) => scale / f64::from(dots.dpi) * PRINT_DPI,
        _ => MIN_PRINT_PX,
    };
    if printed < MIN_PRINT_PX {
        return Err(unreadable(plan, modules, printed));
    }
    if has_shapes && scale < MIN_SHAPED_PX || is_uneven && scale < MIN_UNEVEN_PX {
        return Err(unreadable(plan, modules, scale));
    }
    let most = (MOST_SHAPED_PX / (modules.width() + 8) as f64).floor();
    let shaped = art.map(|_| scale.min(most)).filter(|scale| *scale > ENOUGH_PX);
    let reads = [Some(scale.min(ENOUGH_PX)), shaped].into_iter().flatten().all(reads_at);
    if reads { Ok(()) } else { Err(unreadable(plan, modules, scale)) }
}

/// Checks the contrast of dark modules in the colour `name`. Returns the greys of dark and light, as a camera sees them
/// on the page.
fn check_contrast(name: &str, colors: Colors, page: Color) -> Result<(u8, u8), Fault> {
    let (dark, light) = (luma(over(colors.dark, page)), luma(over(colors.light, page)));
    if dark >= light {
        let detail = "dark is not darker than light; many readers cannot read such a symbol";
        let fault = Fault::new(name, Code::Contrast, detail);
        return Err(fault.suggest(match colors.dark.alpha {
            0 => "give the dark colour that is below as background, and a light one as light",
            _ => "swap dark and light",
        }));
    }
    let contrast = light - dark;
    if contrast < MIN_CONTRAST {
        let percent = f64::from(contrast) / 2.55;
        let detail = format!("dark and light differ by only {percent:.0} % of black and white");
        let fault = Fault::new(name, Code::Contrast, detail).at_least(40);
        return Err(fault.suggest("use a darker dark or a lighter light"));
    }
    Ok((dark, light))
}

/// Luma of a colour (ITU-R BT.601). Decoders convert pixels to luma.
pub(crate) fn luma(color: Color) -> u8 {
    let Color { red, green, blue, .. } = color;
    let sum = 299 * u32::from(red) + 587 * u32::from(green) + 114 * u32::from(blue);
    ((sum + 500) / 1000) as u8
}

/// Pixels per module at which the picture is seen.
fn seen_scale(plan: &Plan, modules: Modules<'_>) -> f64 {
    let width = modules.width() as f64 + 2.0 * f64::from(plan.margin);
    match &plan.picture {
        PicturePlan::Png { fit: Fit::Size(size), .. } => (f64::from(*size) / width).floor(),
        PicturePlan::Svg { fit: Some(Fit::Size(size)), .. } => f64::from(*size) / width,
        PicturePlan::Png { fit: Fit::Scale(scale), .. }
        | PicturePlan::Svg { fit: Some(Fit::Scale(scale)), .. } => f64::from(*scale),
        PicturePlan::Pdf { width: mm, .. } | PicturePlan::Eps { width: mm, .. } => {
            mm.0 / 25.4 * PRINT_DPI / width
        }
        PicturePlan::Zpl(dots) | PicturePlan::Epl(dots) => dots.per_module(width as u32).into(),
        _ => ENOUGH_PX,
    }
}

/// Draws the symbol with `scale` pixels per module. The quiet zone is the standard's, because a picture with a smaller
/// one is meant for a page of its light colour.
fn render(modules: Modules<'_>, scale: f64, (dark, light): (u8, u8), kind: Kind) -> GreyImage {
    let margin = kind.quiet_zone() as usize;
    let (width, height) = (modules.width() + 2 * margin, modules.height() + 2 * margin);
    let grey = |at: usize| {
        let (x, y) = ((at % width).wrapping_sub(margin), (at / width).wrapping_sub(margin));
        if modules.is_dark(x, y) { dark } else { light }
    };
    let grey = (0..width * height).map(grey).collect();
    resampled(&GreyImage { width: width as u32, height: height as u32, grey }, scale)
}

/// The picture with `scale` times as many pixels a side, each of them the mean of what it covers.
fn resampled(picture: &GreyImage, scale: f64) -> GreyImage {
    let (width, height) = (picture.width as usize, picture.height as usize);
    if scale >= 1.0 && scale.fract() == 0.0 {
        let times = scale as usize;
        let mut grey = Vec::with_capacity(picture.grey.len() * times * times);
        for row in picture.grey.chunks_exact(width) {
            let line = grey.len()..grey.len() + width * times;
            grey.extend(row.iter().flat_map(|grey| repeat_n(*grey, times)));
            (1..times).for_each(|_| grey.extend_from_within(line.clone()));
        }
        let [width, height] = [picture.width, picture.height].map(|side| side * times as u32);
        return GreyImage { width, height, grey };
    }
    let (columns, rows) = (spans(width, scale), spans(height, scale));
    let mut grey: Vec<u8> = Vec::with_capacity(columns.len() * rows.len());
    for (index, row) in rows.iter().enumerate() {
        // Most lines of a larger picture equal the one above.
        if index > 0 && rows[index - 1] == *row {
            grey.extend_from_within(grey.len() - columns.len()..);
            continue;
        }
        let of_column = |x: usize| mean(row, |y| picture.grey[y * width + x].into());
        let line: Vec<f32> = (0..width).map(of_column).collect();
        grey.extend(columns.iter().map(|column| mean(column, |x| line[x]).round() as u8));
    }
    GreyImage { width: columns.len() as u32, height: rows.len() as u32, grey }
}

/// The mean of the values of a span, by their shares.
fn mean(span: &[(usize, f32)], value: impl Fn(usize) -> f32) -> f32 {
    let sums = span.iter().map(|(at, share)| (value(*at) * share, *share));
    let (sum, weight) = sums.fold((0.0, 0.0), |(sum, weight), it| (sum + it.0, weight + it.1));
    sum / weight.max(f32::EPSILON)
}

/// Draws shapes and logo with `scale` pixels per module, over the page. At whole scales these are the pixels of a
/// PNG, at other scales means of such pixels.
fn render_art(art: &Artwork<'_>, scale: f64, page: Color) -> GreyImage {
    const MARGIN: usize = 4;
    let whole = scale.ceil().max(1.0);
    let pixels = Pixels::new(art, whole as usize);
    let (side, before) = (pixels.side(), MARGIN * whole as usize);
    let full = side + 2 * before;
    let (mut steps, mut colors) = (vec![0; side], vec![Color::WHITE; side]);
    let mut grey = vec![luma(over(art.light(), page)); full * full];
    for y in 0..side {
        pixels.write_colors(y, &mut steps, &mut colors);
        let row = &mut grey[(y + before) * full + before..][..side];
        row.iter_mut().zip(&colors).for_each(|(grey, color)| *grey = luma(over(*color, page)));
    }
    let drawn = GreyImage { width: full as u32, height: full as u32, grey };
    if scale == whole { drawn } else { resampled(&drawn, scale / whole) }
}

/// For each pixel of a resampled line, the pixels of before that it covers and their shares of it.
fn spans(before: usize, scale: f64) -> Vec<Vec<(usize, f32)>> {
    // Without a pixel that only an error of rounding makes.
    let pixels = (before as f64 * scale - 1e-9).ceil().max(1.0) as usize;
    let span = |px: usize| {
        let (start, end) = (px as f64 / scale, (px + 1) as f64 / scale);
        let covered = start as usize..(end.ceil() as usize).min(before);
        let share = |at: usize| {
            let overlap = end.min(at as f64 + 1.0) - start.max(at as f64);
            (at, (overlap * scale) as f32)
        };
        covered.map(share).filter(|(_, share)| *share > 0.0).collect()
    };
    (0..pixels).map(span).collect()
}

/// The fault of an SVG of Micro QR or rMQR whose modules are not whole pixels.
fn uneven(plan: &Plan, modules: Modules<'_>, scale: f64) -> Fault {
    let width = modules.width() as f64 + 2.0 * f64::from(plan.margin);
    let parameter = size_parameter(plan);
    let whole = scale.floor() * if parameter == "scale" { 1.0 } else { width };
    let detail = format!(
        "a module is {scale:.2} pixels wide; decoders need whole pixels for Micro QR and rMQR"
    );
    Fault::new(parameter, Code::Unreadable, detail).suggest(format!("use a {parameter} of {whole}"))
}

/// The parameter that sets the size of the picture.
fn size_parameter(plan: &Plan) -> &'static str {
    match &plan.picture {
        PicturePlan::Png { fit: Fit::Scale(_), .. }
        | PicturePlan::Svg { fit: Some(Fit::Scale(_)), .. } => "scale",
        PicturePlan::Zpl(dots) | PicturePlan::Epl(dots) if dots.scale.is_some() => "scale",
        PicturePlan::Png { .. } | PicturePlan::Svg { .. } => "size",
        _ => "width_mm",
    }
}

fn unreadable(plan: &Plan, modules: Modules<'_>, scale: f64) -> Fault {
    let parameter = size_parameter(plan);
    // All decoders that were tested read three pixels per module.
    let width = modules.width() as f64 + 2.0 * f64::from(plan.margin);
    let enough = match parameter {
        "scale" => match &plan.picture {
            PicturePlan::Zpl(dots) | PicturePlan::Epl(dots) => {
                (MIN_PRINT_PX * f64::from(dots.dpi) / PRINT_DPI).ceil()
            }
            _ => 3.0,
        },
        "size" => 3.0 * width,
        _ => (3.0 * width * 25.4 / PRINT_DPI).ceil(),
    };
    if scale >= 3.0 && !plan.look.is_plain() {
        // There are enough pixels for squares, so the shape or the logo is the cause.
        let has_squares = plan.look.finders.iter().all(|it| it.shape == FinderShape::Square);
        let (name, suggestion) = match plan.look.shape {
            Shape::Square if has_squares && plan.look.logo.is_some() => {
                ("logo", "use a smaller logo_size")
            }
            Shape::Dots | Shape::Rounded if has_squares => {
                ("shape", "use shape square, or a lower version")
            }
            _ => ("finder_shape", "use finder_shape square, or a lower version"),
        };
        let detail = "a decoder cannot read the symbol with it";
        return Fault::new(name, Code::Unreadable, detail).suggest(suggestion);
    }
    let detail = match parameter {
        "width_mm" => {
            let mm = scale / PRINT_DPI * 25.4;
            format!("a module would be {mm:.2} mm wide, which is too small to print and read")
        }
        _ => format!("a module is {scale:.2} pixels wide, which a decoder cannot read"),
    };
    let fault = Fault::new(parameter, Code::Unreadable, detail).at_least(enough);
    fault.suggest(format!("use a {parameter} of {enough}, or a lower version"))
}
