//! Makes the symbol of a plan, or the fault that tells why there is none.

use qr_core::{
    Encoder, Error, Fnc1, Level, MicroEncoder, MicroSymbol, Modules, Palette, Raster, RmqrEncoder,
    RmqrSymbol, Symbol, write_palette_png, write_png, write_smallest_png,
};

use crate::fault::{Code, Fault};
use crate::options::{Compression, LevelName, Mode};
use crate::place::{LogoField, find_field, swiss_cross_field};
use crate::plan::{Colors, Plan, SymbolPlan};

/// Up to this width, in pixels, [`write_png`] writes plain pictures. It takes a third of the time of
/// [`write_palette_png`], whose search for repetitions would save only a few bytes.
const SMALL_PX: u32 = 256;

/// A symbol of any kind.
pub enum AnySymbol {
    /// QR.
    Qr(Box<Symbol>),
    /// Micro QR.
    Micro(Box<MicroSymbol>),
    /// Rectangular Micro QR.
    Rmqr(Box<RmqrSymbol>),
}

impl AnySymbol {
    /// Its modules.
    pub fn modules(&self) -> Modules<'_> {
        match self {
            AnySymbol::Qr(symbol) => symbol.modules(),
            AnySymbol::Micro(symbol) => symbol.modules(),
            AnySymbol::Rmqr(symbol) => symbol.modules(),
        }
    }

    /// The version as the standards name it: `7`, `M3`, `R11x59`.
    pub fn version(&self) -> String {
        match self {
            AnySymbol::Qr(symbol) => symbol.version().to_string(),
            AnySymbol::Micro(symbol) => format!("M{}", symbol.version()),
            AnySymbol::Rmqr(symbol) => {
                let modules = symbol.modules();
                format!("R{}x{}", modules.height(), modules.width())
            }
        }
    }

    /// Its level; `None` for Micro QR M1, which has none.
    pub fn level(&self) -> Option<Level> {
        match self {
            AnySymbol::Qr(symbol) => Some(symbol.level()),
            AnySymbol::Micro(symbol) => symbol.level(),
            AnySymbol::Rmqr(symbol) => Some(symbol.level()),
        }
    }

    /// Its mask; `None` for rMQR, which has only one.
    pub fn mask(&self) -> Option<u8> {
        match self {
            AnySymbol::Qr(symbol) => Some(symbol.mask()),
            AnySymbol::Micro(symbol) => Some(symbol.mask()),
            AnySymbol::Rmqr(_) => None,
        }
    }

    /// Appends its PNG to `out`, as [`write_palette_png`] or [`write_smallest_png`] does.
    ///
    /// # Errors
    /// [`Error::SizeTooSmall`] or [`Error::SizeTooLarge`]; `out` is then unchanged.
    pub fn write_png(
        &self,
        raster: &Raster,
        colors: Colors,
        compression: Compression,
        out: &mut Vec<u8>,
    ) -> Result<(), Error> {
        let palette = Palette::new(colors.dark, colors.light);
        match (self, compression) {
            (_, Compression::Smallest) => write_smallest_png(self.modules(), raster, &palette, out),
            (AnySymbol::Qr(symbol), _) if colors == Colors::PLAIN && raster.size_px <= SMALL_PX => {
                write_png(symbol, raster, out)
            }
            _ => write_palette_png(self.modules(), raster, &palette, out),
        }
    }
}

/// A symbol, and the number of symbols that its message takes.
pub struct Encoded {
    /// The symbol.
    pub symbol: AnySymbol,
    /// Number of symbols of the message, more than 1 with structured append.
    pub parts: usize,
    /// The field of the logo, if there is one.
    pub place: Option<LogoField>,
}

impl Encoded {
    /// The share of its error correction that the worst block has left under the logo; `None` for Micro QR M1,
    /// which corrects nothing.
    pub fn unused_correction(&self) -> Option<f64> {
        self.symbol.level()?;
        Some(self.place.map_or(1.0, |place| place.unused))
    }
}

/// Encodes the content of a plan.
///
/// # Errors
/// If the content does not fit, the options have no such symbol, or the logo has no room.
pub fn encode(plan: &Plan) -> Result<Encoded, Fault> {
    if let SymbolPlan::Qr { part: Some(part), .. } = plan.symbol {
        let symbols = qr_encoder(&plan.symbol).encode_append(plan.content.data());
        return pick(symbols.map_err(|error| describe(error, plan))?, part);
    }
    let symbol = encode_as(plan, &plan.symbol).map_err(|error| describe(error, plan))?;
    match (&plan.look.logo, symbol) {
        (Some(logo), AnySymbol::Qr(symbol)) => encode_around(plan, symbol, logo.share.0),
        (None, AnySymbol::Qr(symbol)) if plan.look.has_swiss_cross => {
            let place = Some(swiss_cross_field(&symbol));
            Ok(Encoded { symbol: AnySymbol::Qr(symbol), parts: 1, place })
        }
        (_, symbol) => Ok(Encoded { symbol, parts: 1, place: None }),
    }
}

/// Raises the version until the logo has room. Tries every version, because a higher one may have less room.
fn encode_around(plan: &Plan, first: Box<Symbol>, share: f64) -> Result<Encoded, Fault> {
    let (mut symbol, mut widest) = (first, None);
    loop {
        let mut fault = match find_field(&symbol, share) {
            Ok(place) => {
                let symbol = AnySymbol::Qr(symbol);
                return Ok(Encoded { symbol, parts: 1, place: Some(place) });
            }
            Err(fault) => fault,
        };
        // The most room of all versions so far, because a smaller logo may use any of them.
        widest = fault.maximum.into_iter().chain(widest).reduce(f64::max);
        fault.maximum = widest;
        let mut raised = plan.symbol.clone();
        match &mut raised {
            SymbolPlan::Qr { versions, .. } if symbol.version() < versions.1 => {
                versions.0 = symbol.version() + 1;
            }
            _ => return Err(advise(plan, fault)),
        }
        match encode_as(plan, &raised) {
            Ok(AnySymbol::Qr(higher)) => symbol = higher,
            _ => return Err(advise(plan, fault)),
        }
    }
}

/// Adds a suggestion that makes room for a logo: a smaller logo, or a higher level if that helps.
fn advise(plan: &Plan, fault: Fault) -> Fault {
    let mut raised = plan.clone();
    let helps = match &mut raised.symbol {
        SymbolPlan::Qr { level, .. } if *level != LevelName::H => {
            *level = LevelName::H;
            encode(&raised).is_ok()
        }
        _ => false,
    };
    let suggestion = match (fault.maximum, helps) {
        (Some(share), true) => format!("use a logo_size of {share}, or level H"),
        (Some(share), false) => format!("use a logo_size of {share}"),
        (None, true) => "use level H".to_owned(),
        (None, false) => "use a higher version_max".to_owned(),
    };
    fault.suggest(suggestion)
}

/// The encoder of a QR symbol; for other kinds an encoder without options.
fn qr_encoder(symbol: &SymbolPlan) -> Encoder {
    let SymbolPlan::Qr { level, boost, versions, mask, mode, eci, gs1, .. } = *symbol else {
        return Encoder::new(Level::M);
    };
    Encoder::new(level.into())
        .boost(boost)
        .versions(versions.0..=versions.1)
        .modes(mode.into())
        .mask(mask)
        .eci(eci)
        .fnc1(gs1.then_some(Fnc1::Gs1))
}

/// Encodes the content of a plan as `symbol`, which need not be the plan's own.
fn encode_as(plan: &Plan, symbol: &SymbolPlan) -> Result<AnySymbol, Error> {
    let data = plan.content.data();
    Ok(match *symbol {
        SymbolPlan::Qr { .. } => AnySymbol::Qr(Box::new(qr_encoder(symbol).encode(data)?)),
        SymbolPlan::Micro { level, versions, mask, mode } => {
            let encoder = MicroEncoder::new(level.map(Level::from))
                .versions(versions.0..=versions.1)
                .modes(mode.into())
                .mask(mask);
            AnySymbol::Micro(Box::new(encoder.encode(data)?))
        }
        SymbolPlan::Rmqr { level, height, width, mode, eci } => {
            let encoder = RmqrEncoder::new(level.into())
                .heights(height.map_or(7..=17, |it| it..=it))
                .widths(width.map_or(27..=139, |it| it..=it))
                .modes(mode.into())
                .eci(eci);
            AnySymbol::Rmqr(Box::new(encoder.encode(data)?))
        }
    })
}

fn pick(mut symbols: Vec<Symbol>, part: u8) -> Result<Encoded, Fault> {
    let parts = symbols.len();
    if usize::from(part) > parts {
        let detail = format!("the data takes only {parts} symbols");
        return Err(Fault::new("part", Code::OutOfRange, detail).at_most(parts as u32));
    }
    let symbol = AnySymbol::Qr(Box::new(symbols.swap_remove(usize::from(part) - 1)));
    Ok(Encoded { symbol, parts, place: None })
}

/// The fault of an encoder's error, with a suggestion.
fn describe(error: Error, plan: &Plan) -> Fault {
    let content = plan.content.parameter();
    match error {
        Error::TooLong { needed_bits, available_bits, smallest_version } => {
            let detail =
                format!("it takes {needed_bits} bits, but the symbol holds {available_bits}");
            let fault = Fault::new(content, Code::TooLong, detail);
            match room_for(plan, smallest_version) {
                Some(suggestion) => fault.suggest(suggestion),
                None => fault.suggest("shorten it"),
            }
        }
        Error::NoSuchSymbol { .. } => {
            let detail = "no allowed version has this level: M2 and M3 have L and M, M4 also Q";
            Fault::new("level", Code::NotAllowed, detail)
                .suggest("use level L, or raise version_max")
        }
        Error::TooManySymbols { held_bytes } => {
            let detail = format!("16 symbols hold only {held_bytes} bytes of it");
            Fault::new(content, Code::TooLong, detail)
                .at_most(held_bytes as u32)
                .suggest("raise version_max or lower the level")
        }
        Error::NotInMode { at_byte, .. } => {
            let detail = format!("the mode cannot encode the character at byte {at_byte}");
            Fault::new("mode", Code::NotAllowed, detail).suggest("use mode auto or byte")
        }
        Error::Eci { .. } => {
            let (detail, allowed) = match plan.symbol.mode() {
                Mode::Kanji | Mode::AutoKanji => ("Kanji are Shift JIS, which is ECI 20", 20),
                _ => ("a text is UTF-8, which is ECI 26", 26),
            };
            let suggestion =
                format!("use {allowed}, or give data in the encoding that the number declares");
            Fault::new("eci", Code::NotAllowed, detail).allowed([allowed]).suggest(suggestion)
        }
        error => Fault::new(content, Code::NotAllowed, error.to_string()),
    }
}

/// Suggests how to make room for a message that is too long.
fn room_for(plan: &Plan, smallest_version: Option<u8>) -> Option<String> {
    if let (Some(version), SymbolPlan::Qr { .. } | SymbolPlan::Micro { .. }) =
        (smallest_version, &plan.symbol)
    {
        return Some(format!("use version_max {version}"));
    }
    if smallest_version.is_some() {
        return Some("leave out rmqr_height or rmqr_width".to_owned());
    }
    let SymbolPlan::Qr { level: asked, .. } = plan.symbol else {
        return Some("use kind qr".to_owned());
    };
    // No version has room at this level, but the highest version may have it at a lower level.
    let fits = |lower: &LevelName| {
        let mut symbol = plan.symbol.clone();
        if let SymbolPlan::Qr { level, versions, .. } = &mut symbol {
            (*level, *versions) = (*lower, (40, 40));
        }
        encode_as(plan, &symbol).is_ok()
    };
    let mut lower = [LevelName::Q, LevelName::M, LevelName::L]
        .into_iter()
        .filter(|lower| (Level::from(*lower) as u8) < Level::from(asked) as u8);
    let level = lower.find(fits).map(|level| format!("use level {level:?}"));
    Some(level.unwrap_or_else(|| "split it over several symbols with part".to_owned()))
}
