//! Turns options into a plan: all defaults are filled in, and its types allow only combinations that make sense.

mod contradictions;

use qr_core::{Color, Data};

use crate::fault::{Code, Fault};
use crate::label::Dots;
use crate::options::{
    Compression, FinderShape, Format, Frame, Gradient, Ink, InkedModules, Kind, LevelName, Logo,
    MAX_MM, Mode, Options, Shape, Style,
};
pub use crate::place::Length;
use contradictions::{contradiction, contradictions_of};

/// Pixels per module of a PNG without a size.
const DEFAULT_SCALE: u32 = 8;
const DEFAULT_MM: f64 = 40.0;
/// Dots per inch of most label printers.
const DEFAULT_DPI: u32 = 203;
/// Width of a QR-bill's symbol.
const BILL_MM: f64 = 46.0;
/// Width of a logo's field as a share of the symbol's width.
const DEFAULT_LOGO: f64 = 0.2;

/// Width of a frame's line, in modules.
pub(crate) const LINE: u32 = 1;
/// Direction of a linear gradient, in degrees: to the lower right.
const DEFAULT_ANGLE: u32 = 45;

/// A picture to make. Equal plans give the same bytes.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct Plan {
    /// The content that the symbol encodes.
    pub content: Content,
    /// The symbol to make.
    pub symbol: SymbolPlan,
    /// The quiet zone in modules.
    pub margin: u32,
    /// The line below the symbol.
    pub caption: Option<String>,
    /// The picture to draw.
    pub picture: PicturePlan,
    /// Shapes, colours and logo.
    pub look: Look,
    /// The colour below the picture.
    pub background: Color,
}

/// Shapes, colours and logo.
#[derive(Clone, Debug, Default, PartialEq, Hash)]
pub struct Look {
    /// Shape of the modules.
    pub shape: Shape,
    /// The finder patterns: top left, top right, bottom left.
    pub finders: [Finder; 3],
    /// Shape of the finder patterns' cores, if it differs. No option sets this, only the URLs of other services.
    pub finder_cores: Option<FinderShape>,
    /// The colours of the dark modules, if they have more than one.
    pub gradient: Option<GradientPlan>,
    /// The line around the picture.
    pub frame: Option<Frame>,
    /// Whether the light modules are drawn, and the dark ones left out.
    pub is_cut_out: bool,
    /// The logo in the middle.
    pub logo: Option<LogoPlan>,
    /// Whether the Swiss cross takes the place of a logo.
    pub has_swiss_cross: bool,
}

/// The look of a finder pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Hash)]
pub struct Finder {
    /// Its shape.
    pub shape: FinderShape,
    /// Its colour, if it differs from that of the dark modules.
    pub color: Option<Ink>,
}

/// A change from the dark colour to another one.
#[derive(Clone, Copy, Debug, PartialEq, Hash)]
pub struct GradientPlan {
    /// Its kind.
    pub kind: Gradient,
    /// The other colour.
    pub to: Color,
    /// The direction of a linear one, in degrees clockwise from the right.
    pub angle: u32,
}

impl Look {
    /// Whether the picture has only squares in one colour, and neither logo nor cross.
    pub fn is_plain(&self) -> bool {
        self.logo.is_none()
            && self.gradient.is_none()
            && self.frame.is_none()
            && self.finders.iter().all(|finder| finder.color.is_none())
            && !self.has_shapes()
            && !self.has_swiss_cross
            && !self.is_cut_out
    }

    /// Whether modules or finder patterns have another shape than squares.
    pub fn has_shapes(&self) -> bool {
        let is_square = |finders: FinderShape| finders == FinderShape::Square;
        self.shape != Shape::Square
            || !self.finders.iter().all(|finder| is_square(finder.shape))
            || !self.finder_cores.is_none_or(is_square)
    }

    /// The look that the options ask for.
    pub(crate) fn of(options: &Options) -> Self {
        let finder = |(color, shape): (Option<Ink>, Option<FinderShape>)| Finder {
            shape: shape.or(options.finder_shape).unwrap_or_default(),
            color: color
                .or(options.finder_color)
                .filter(|color| options.gradient_color.is_some() || Some(*color) != options.dark),
        };
        Look {
            shape: options.shape.unwrap_or_default(),
            finders: [
                (options.top_left_color, options.top_left_shape),
                (options.top_right_color, options.top_right_shape),
                (options.bottom_left_color, options.bottom_left_shape),
            ]
            .map(finder),
            finder_cores: None,
            gradient: options.gradient_color.map(|to| GradientPlan {
                kind: options.gradient.unwrap_or_default(),
                to: to.0,
                angle: options.gradient_angle.unwrap_or(DEFAULT_ANGLE),
            }),
            frame: options.frame,
            is_cut_out: options.dark.is_some_and(|dark| dark.0.alpha == 0),
            has_swiss_cross: options.has_swiss_cross,
            logo: options.logo.as_ref().map(|logo| LogoPlan {
                file: logo.clone(),
                share: Length(options.logo_size.unwrap_or(DEFAULT_LOGO)),
            }),
        }
    }
}

/// A logo to place.
#[derive(Clone, Debug, PartialEq, Hash)]
pub struct LogoPlan {
    /// The picture's file, which the items of a batch share.
    pub file: Logo,
    /// The width of its field, as a share of the symbol's width.
    pub share: Length,
}

/// The content that a symbol encodes.
#[derive(Clone, PartialEq, Hash)]
pub enum Content {
    /// A text, as UTF-8.
    Text(String),
    /// Bytes as they are.
    Bytes(Vec<u8>),
}

/// Leaves out the content, so that it gets into no log.
impl std::fmt::Debug for Content {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.as_bytes().len())
    }
}

impl Content {
    /// The bytes to encode.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            Content::Text(text) => text.as_bytes(),
            Content::Bytes(bytes) => bytes,
        }
    }

    /// The content for an encoder.
    pub fn data(&self) -> Data<'_> {
        match self {
            Content::Text(text) => Data::Text(text),
            Content::Bytes(bytes) => Data::Bytes(bytes),
        }
    }

    /// The name of the parameter that the content came from.
    pub fn parameter(&self) -> &'static str {
        match self {
            Content::Text(_) => "text",
            Content::Bytes(_) => "data",
        }
    }
}

/// The symbol to make.
#[derive(Clone, Debug, PartialEq, Hash)]
#[allow(missing_docs, reason = "the fields are the options of the same names")]
pub enum SymbolPlan {
    /// QR.
    Qr {
        level: LevelName,
        boost: bool,
        versions: (u8, u8),
        mask: Option<u8>,
        mode: Mode,
        eci: Option<u32>,
        gs1: bool,
        part: Option<u8>,
    },
    /// Micro QR.
    Micro { level: Option<LevelName>, versions: (u8, u8), mask: Option<u8>, mode: Mode },
    /// Rectangular Micro QR.
    Rmqr { level: LevelName, height: Option<u8>, width: Option<u8>, mode: Mode, eci: Option<u32> },
}

impl SymbolPlan {
    /// The kind of symbol.
    pub fn kind(&self) -> Kind {
        match self {
            SymbolPlan::Qr { .. } => Kind::Qr,
            SymbolPlan::Micro { .. } => Kind::Micro,
            SymbolPlan::Rmqr { .. } => Kind::Rmqr,
        }
    }

    /// The modes that it may use.
    pub fn mode(&self) -> Mode {
        match self {
            SymbolPlan::Qr { mode, .. }
            | SymbolPlan::Micro { mode, .. }
            | SymbolPlan::Rmqr { mode, .. } => *mode,
        }
    }
}

/// The picture to draw.
#[derive(Clone, Debug, PartialEq, Hash)]
#[allow(missing_docs, reason = "the fields are the options of the same names")]
pub enum PicturePlan {
    /// PNG.
    Png { fit: Fit, colors: Colors, compression: Compression },
    /// SVG; without a size it fills the space that the page gives it.
    Svg { fit: Option<Fit>, colors: Colors, title: Option<String> },
    /// PDF, with its width in millimetres.
    Pdf { width: Length, inks: Inks },
    /// Encapsulated PostScript, with its width in millimetres.
    Eps { width: Length, inks: Inks },
    /// Characters.
    Txt { style: Style, ink: InkedModules },
    /// The symbol's modules, version, level and mask.
    Json,
    /// A label in ZPL.
    Zpl(Dots),
    /// A label in EPL.
    Epl(Dots),
}

/// The size of a picture in pixels.
#[derive(Clone, Copy, Debug, PartialEq, Hash)]
pub enum Fit {
    /// Its width.
    Size(u32),
    /// Pixels per module.
    Scale(u32),
}

/// The colours of a picture.
#[derive(Clone, Copy, Debug, PartialEq, Hash)]
pub struct Colors {
    /// Colour of the dark modules.
    pub dark: Color,
    /// Colour of the light modules and the quiet zone.
    pub light: Color,
}

impl Colors {
    /// Black on white.
    pub const PLAIN: Colors = Colors { dark: Color::BLACK, light: Color::WHITE };
}

/// The colours of a picture in print.
#[derive(Clone, Copy, Debug, Default, PartialEq, Hash)]
pub struct Inks {
    /// Colour of the dark modules; `None` is black ink alone.
    pub dark: Option<Ink>,
    /// Colour of the page; `None` leaves the paper.
    pub light: Option<Ink>,
}

impl Inks {
    /// The same colours as a screen shows them; paper without ink is transparent.
    pub fn seen(self) -> Colors {
        Colors {
            dark: self.dark.map_or(Color::BLACK, |ink| ink.0),
            light: self.light.map_or(Color::TRANSPARENT, |ink| ink.0),
        }
    }
}

impl PicturePlan {
    /// Its colours, as a screen shows them.
    pub fn colors(&self) -> Colors {
        match self {
            PicturePlan::Png { colors, .. } | PicturePlan::Svg { colors, .. } => *colors,
            PicturePlan::Pdf { inks, .. } | PicturePlan::Eps { inks, .. } => inks.seen(),
            _ => Colors::PLAIN,
        }
    }
}

impl Plan {
    /// Fills in defaults and checks options against each other. `format` is the format to draw, whether it comes
    /// from an option, the path's extension or `Accept`.
    ///
    /// # Errors
    /// Every contradiction, and a fault if there is no content.
    pub fn new(options: Options, format: Format) -> Result<Plan, Vec<Fault>> {
        let mut faults = contradictions_of(&options, format);
        let symbol = symbol_plan(&options);
        let look = Look::of(&options);
        // A bill has a symbol of 46 mm and brings its own quiet zone.
        let (quiet_zone, default_mm) = match options.has_swiss_cross {
            true => (0, BILL_MM),
            false => (symbol.kind().quiet_zone(), DEFAULT_MM),
        };
        // The frame is outside the quiet zone.
        let margin = options.margin.unwrap_or(quiet_zone) + look.frame.map_or(0, |_| LINE);
        let fit = options.size.map(Fit::Size).or(options.scale.map(Fit::Scale));
        let colors = Colors {
            dark: options.dark.map_or(Color::BLACK, |ink| ink.0),
            light: options.light.map_or(Color::WHITE, |ink| ink.0),
        };
        let background = options.background.map_or(Color::WHITE, |ink| ink.0);
        let width = Length(options.width_mm.unwrap_or(default_mm).min(MAX_MM));
        let dots = Dots { dpi: options.dpi.unwrap_or(DEFAULT_DPI), width, scale: options.scale };
        let is_drawn = |ink: &Ink| ink.0.alpha > 0;
        let inks = Inks { dark: options.dark, light: options.light.filter(is_drawn) };
        let picture = match format {
            Format::Png => PicturePlan::Png {
                fit: fit.unwrap_or(Fit::Scale(DEFAULT_SCALE)),
                colors,
                compression: options.compression.unwrap_or_default(),
            },
            Format::Svg => PicturePlan::Svg { fit, colors, title: options.title },
            Format::Pdf => PicturePlan::Pdf { width, inks },
            Format::Eps => PicturePlan::Eps { width, inks },
            Format::Txt => PicturePlan::Txt {
                style: options.style.unwrap_or_default(),
                ink: options.ink.unwrap_or_default(),
            },
            Format::Json => PicturePlan::Json,
            Format::Zpl => PicturePlan::Zpl(dots),
            Format::Epl => PicturePlan::Epl(dots),
        };
        let caption = options.caption;
        let content = match (options.text, options.data) {
            (Some(text), None) => Some(Content::Text(text)),
            (None, Some(data)) if data.0.is_empty() => {
                faults.push(Fault::new("data", Code::OutOfRange, "it is empty").at_least(1));
                None
            }
            (None, Some(data)) => Some(Content::Bytes(data.0)),
            (Some(_), Some(_)) => {
                faults.push(contradiction("data", "text is given too; one of them is encoded"));
                None
            }
            (None, None) => {
                let detail = "there is nothing to encode";
                let fault = Fault::new("text", Code::Missing, detail);
                faults.push(fault.suggest("give text, or data in Base64"));
                None
            }
        };
        match content {
            Some(content) if faults.is_empty() => {
                Ok(Plan { content, symbol, margin, caption, picture, look, background })
            }
            _ => Err(faults),
        }
    }
}

/// Makes the plan of options. `faults` are the faults of the options found so far.
///
/// # Errors
/// `faults` and those of [`Plan::new`], if there are any.
pub fn plan_of(
    options: Options,
    format: Format,
    mut faults: Vec<Fault>,
) -> Result<Plan, Vec<Fault>> {
    let more = match Plan::new(options, format) {
        Ok(plan) if faults.is_empty() => return Ok(plan),
        Ok(_) => return Err(faults),
        Err(more) => more,
    };
    // A parameter that already has a fault does not get a second one as missing or contradictory.
    let is_content = |name: &str| matches!(name, "text" | "data");
    let is_new = |fault: &Fault| {
        !faults.iter().any(|it| {
            it.parameter == fault.parameter
                || fault.code == Code::Missing
                    && is_content(&fault.parameter)
                    && is_content(&it.parameter)
        })
    };
    let more: Vec<Fault> = more.into_iter().filter(is_new).collect();
    faults.extend(more);
    Err(faults)
}

fn symbol_plan(options: &Options) -> SymbolPlan {
    let versions = |most| (options.version_min.unwrap_or(1), options.version_max.unwrap_or(most));
    let mode = options.mode.unwrap_or_default();
    match options.kind.unwrap_or_default() {
        Kind::Qr => SymbolPlan::Qr {
            level: options.level.unwrap_or(match options.logo {
                Some(_) => LevelName::H,
                None => LevelName::M,
            }),
            boost: options.boost.unwrap_or(false),
            versions: versions(40),
            mask: options.mask,
            mode,
            eci: options.eci,
            gs1: options.gs1.unwrap_or(false),
            part: options.part,
        },
        Kind::Micro => SymbolPlan::Micro {
            level: options.level,
            versions: versions(4),
            mask: options.mask,
            mode,
        },
        Kind::Rmqr => SymbolPlan::Rmqr {
            level: options.level.unwrap_or(LevelName::M),
            height: options.rmqr_height,
            width: options.rmqr_width,
            mode,
            eci: options.eci,
        },
    }
}
