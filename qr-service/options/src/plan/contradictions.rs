//! Finds options that contradict each other, or that the kind of symbol or the format does not support.

use qr_core::Helvetica;

use super::Look;
use crate::definition::Parameters;
use crate::fault::{Code, Fault};
use crate::options::{Compression, Format, Gradient, Ink, Kind, LevelName, Mode, Options};

/// Heights and widths of rMQR symbols, in modules (ISO/IEC 23941).
const RMQR_HEIGHTS: [u8; 6] = [7, 9, 11, 13, 15, 17];
const RMQR_WIDTHS: [u8; 6] = [27, 43, 59, 77, 99, 139];

/// Every contradiction between options, except those of `text` and `data`. `format` is the format to draw.
pub(crate) fn contradictions_of(options: &Options, format: Format) -> Vec<Fault> {
    let mut faults = Vec::new();
    check_formats(options, format, &mut faults);
    check_kind(options, &mut faults);
    if matches!(options.mode, Some(Mode::Kanji | Mode::AutoKanji)) && options.data.is_some() {
        let detail = "data is bytes, and only a text has Kanji";
        faults.push(contradiction("mode", detail).suggest("give text, or use mode byte"));
    }
    let is_more = options.caption.is_some() || !Look::of(options).is_plain();
    if options.compression == Some(Compression::Smallest) && is_more {
        faults.push(contradiction("compression", "smallest excludes shapes, a logo and a caption"));
    }
    check_look(options, format, &mut faults);
    if options.size.is_some() && options.scale.is_some() {
        faults.push(contradiction("scale", "size is given too; one of them decides"));
    }
    faults
}

/// The fault of a parameter that another one rules out.
pub(crate) fn contradiction(parameter: &str, detail: impl Into<String>) -> Fault {
    Fault::new(parameter, Code::Contradictory, detail)
}

/// Refuses options that have no effect on the format.
fn check_formats(options: &Options, format: Format, faults: &mut Vec<Fault>) {
    for option in options.given() {
        if !option.formats.is_empty() && !option.formats.contains(&format.as_str()) {
            let only = option.formats.join(", ");
            let detail = format!("it has no effect on {}, only on {only}", format.as_str());
            faults.push(contradiction(option.name, detail));
        }
    }
    let of_printer: &[u32] = if format == Format::Epl { &[203, 300] } else { &[203, 300, 600] };
    if let Some(dpi) = options.dpi.filter(|dpi| !of_printer.contains(dpi)) {
        let detail = format!("{} printers do not have {dpi} dots per inch", format.as_str());
        faults.push(Fault::new("dpi", Code::NotAllowed, detail).allowed(of_printer));
    }
    let is_label = matches!(format, Format::Zpl | Format::Epl);
    if is_label && options.scale.is_some() && options.width_mm.is_some() {
        faults.push(contradiction("scale", "width_mm is given too; one of them decides"));
    }
    let is_print = matches!(format, Format::Pdf | Format::Eps);
    for (name, ink) in colors_of(options) {
        let Some(Ink(color, inks)) = ink else { continue };
        if inks.is_some() && matches!(format, Format::Png | Format::Svg) {
            let detail = format!("{} has no inks, only pdf and eps", format.as_str());
            faults.push(contradiction(name, detail).suggest(format!("use {color}")));
        }
        let may_be_transparent = matches!(name, "dark" | "light") && color.alpha == 0;
        if is_print && color.alpha < 255 && !may_be_transparent {
            faults
                .push(contradiction(name, "print has no opacity").suggest("use an opaque colour"));
        }
    }
    if let Some(caption) = &options.caption {
        check_caption(caption, is_print, faults);
    }
    if let Some(asked) = options.format.filter(|asked| *asked != format) {
        let detail =
            format!("it is {}, and the path ends with {}", asked.as_str(), format.as_str());
        faults.push(contradiction("format", detail));
    }
    if let Some(name) = &options.filename
        && name.contains(|c: char| c.is_control() || "/\\\"".contains(c))
    {
        let detail = "a file name has no slash, quotation mark or control character";
        faults.push(Fault::new("filename", Code::Malformed, detail));
    }
}

/// The widest caption, as a multiple of its font size, which is then 0.9 mm on a picture of 40 mm.
const MOST_EM: f64 = 40.0;

fn check_caption(caption: &str, is_print: bool, faults: &mut Vec<Fault>) {
    if let (true, Err(error)) = (is_print, Helvetica::encode(caption)) {
        faults.push(Fault::new("caption", Code::NotAllowed, error.to_string()));
    } else if caption.contains(char::is_control) {
        faults.push(Fault::new("caption", Code::NotAllowed, "a caption is one line"));
    } else if Helvetica::width_em(caption) > MOST_EM {
        let detail = "its letters would be smaller than a fortieth of the picture's width";
        faults.push(Fault::new("caption", Code::TooLong, detail).suggest("shorten it"));
    }
}

/// The options that are colours.
fn colors_of(options: &Options) -> [(&'static str, Option<Ink>); 8] {
    [
        ("dark", options.dark),
        ("light", options.light),
        ("finder_color", options.finder_color),
        ("top_left_color", options.top_left_color),
        ("top_right_color", options.top_right_color),
        ("bottom_left_color", options.bottom_left_color),
        ("gradient_color", options.gradient_color),
        ("background", options.background),
    ]
}

/// Refuses colours and frames that exclude each other.
fn check_look(options: &Options, format: Format, faults: &mut Vec<Fault>) {
    let is_opaque = |ink: &Ink| ink.0.alpha == 255;
    let has_gradient = options.gradient_color.is_some();
    let is_radial = options.gradient == Some(Gradient::Radial);
    let mut colors = [options.dark, options.gradient_color].into_iter().flatten();
    let is_cut_out = Look::of(options).is_cut_out;
    let has_light = options.light.is_some_and(|ink| ink.0.alpha > 0);
    let is_print = matches!(format, Format::Pdf | Format::Eps);
    let quiet_zone = Kind::Qr.quiet_zone();
    let no_color = "there is no gradient_color";
    let is_dark = "it has the colour dark, which is transparent";
    for (name, is_wrong, detail) in [
        ("gradient", !has_gradient && options.gradient.is_some(), no_color),
        ("gradient_angle", !has_gradient && options.gradient_angle.is_some(), no_color),
        (
            "gradient_angle",
            has_gradient && is_radial && options.gradient_angle.is_some(),
            "a radial gradient has no direction",
        ),
        (
            "gradient_color",
            has_gradient && !colors.all(|ink| is_opaque(&ink) && ink.1.is_none()),
            "a gradient is between two opaque colours of a screen",
        ),
        (
            "background",
            options.background.is_some_and(|ink| !is_opaque(&ink)),
            "it is below everything, so it is opaque",
        ),
        (
            "margin",
            options.frame.is_some() && options.margin.is_some_and(|margin| margin < quiet_zone),
            "a frame is around the quiet zone of 4 modules",
        ),
        (
            "dark",
            is_cut_out && options.kind.is_some_and(|kind| kind != Kind::Qr),
            "only qr can leave its dark modules out",
        ),
        (
            "dark",
            is_cut_out && is_print && !has_light,
            "only light modules are left, so give light",
        ),
        ("caption", is_cut_out && options.caption.is_some(), is_dark),
        ("frame", is_cut_out && options.frame.is_some(), is_dark),
    ] {
        if is_wrong {
            faults.push(contradiction(name, detail));
        }
    }
}

/// Refuses options that the kind of symbol does not have.
fn check_kind(options: &Options, faults: &mut Vec<Fault>) {
    let kind = options.kind.unwrap_or_default();
    let is_off = |name: &str| match name {
        "boost" => options.boost == Some(false),
        "gs1" => options.gs1 == Some(false),
        _ => false,
    };
    for option in options.given().filter(|option| !is_off(option.name)) {
        if !option.kinds.is_empty() && !option.kinds.contains(&kind.as_str()) {
            let only = option.kinds.join(", ");
            let detail = format!("{} does not support it, only {only}", kind.as_str());
            faults.push(contradiction(option.name, detail));
        }
    }
    if options.logo.is_some() && options.part.is_some() {
        let detail = "a logo may need a higher version than the other parts";
        faults.push(contradiction("part", detail));
    }
    if kind == Kind::Qr && options.logo.is_none() && options.logo_size.is_some() {
        faults.push(contradiction("logo_size", "there is no logo"));
    }
    check_limits_of_kind(options, kind, faults);
}

fn check_limits_of_kind(options: &Options, kind: Kind, faults: &mut Vec<Fault>) {
    let levels: &[LevelName] = match kind {
        Kind::Qr => return check_version_order(options, faults),
        Kind::Micro => &[LevelName::L, LevelName::M, LevelName::Q],
        Kind::Rmqr => &[LevelName::M, LevelName::H],
    };
    if let Some(level) = options.level.filter(|level| !levels.contains(level)) {
        let names = levels.iter().map(|level| format!("{level:?}"));
        let detail = format!("{} has no level {level:?}", kind.as_str());
        faults.push(Fault::new("level", Code::NotAllowed, detail).allowed(names));
    }
    if kind == Kind::Micro {
        let given =
            [("version_min", options.version_min, 4), ("version_max", options.version_max, 4)];
        for (name, value, most) in given.into_iter().chain([("mask", options.mask, 3)]) {
            if value.is_some_and(|value| value > most) {
                let detail = format!("use at most {most} with micro");
                faults.push(Fault::new(name, Code::OutOfRange, detail).at_most(most));
            }
        }
        check_version_order(options, faults);
    } else {
        let given = [
            ("rmqr_height", options.rmqr_height, RMQR_HEIGHTS),
            ("rmqr_width", options.rmqr_width, RMQR_WIDTHS),
        ];
        for (name, value, allowed) in given {
            if value.is_some_and(|value| !allowed.contains(&value)) {
                let detail = format!("use one of {allowed:?}");
                faults.push(Fault::new(name, Code::NotAllowed, detail).allowed(allowed));
            }
        }
        if options.rmqr_width == Some(27)
            && options.rmqr_height.is_some_and(|it| it != 11 && it != 13)
        {
            let fault = contradiction("rmqr_width", "a symbol 27 modules wide is 11 or 13 high");
            faults.push(fault.suggest("use rmqr_height 11 or 13, or a width of 43"));
        }
    }
}

fn check_version_order(options: &Options, faults: &mut Vec<Fault>) {
    if let (Some(low), Some(high)) = (options.version_min, options.version_max)
        && low > high
    {
        let detail = format!("version_min {low} is above version_max {high}");
        faults.push(contradiction("version_min", detail).at_most(high));
    }
}
