//! A sheet of labels: symbols in rows and columns, each with a caption below it or beside it.

mod marks;
mod preset;

use std::sync::LazyLock;

use qr_core::{Modules, write_pdf_path};
use qr_options::definition::{boolean, integer, number, one_of, text};
use qr_options::{Parameters, names, parameters};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::v1::caption::LabelCaption;
use crate::v1::document::{FONT, put};
use crate::v1::fault::{Code, Fault};
use crate::v1::parameters::Schema;
use preset::Preset;

/// Points per millimetre.
const POINTS: f64 = 72.0 / 25.4;
/// The smallest width and height of a symbol with its quiet zone, in millimetres.
const LEAST_MM: f64 = 5.0;
/// The shortest and the longest side of a page, in millimetres: A0 is 1189 long.
const PAGE_MM: std::ops::RangeInclusive<f64> = 10.0..=1200.0;
/// Height of a caption's line, and the part of it below the base line, as multiples of the font size.
const LINE: f64 = 1.4;
const DESCENT: f64 = 0.3;
/// The largest share of a label's width for a symbol beside its caption, and the default share of its height for a
/// caption.
const SYMBOL_SHARE: f64 = 0.6;
const CAPTION_SHARE: f64 = 0.2;
/// The smallest and the largest default font size of captions, in points.
const CAPTION_PT: (f64, f64) = (4.0, 8.0);

/// The parameters of [`Sheet`].
pub(crate) static SHEET: LazyLock<Schema> = LazyLock::new(Schema::of::<Sheet>);

parameters! {
    /// The sheet that all labels are on.
    #[derive(Clone, Debug, Default, serde::Deserialize)]
    pub(crate) Sheet {
        /// Avery's number of a commercial label sheet. It replaces page, rows, columns, margins and gaps.
        preset: Option<Preset> = text(0, 20).example("L7160")
            .pattern("^([aA][vV][eE][rR][yY][ -]?)?(3474|5160|5163|5164|5167|[lL]4731|[lL]71(59|60|61|62|63|65|73)|[lL]7651)$"),
        /// First label of the first page to print on, for a sheet of which some labels are used.
        first_label: Option<usize> = integer(1, 1200).default("1"),
        /// Place of the captions.
        caption_at: Option<CaptionAt> = one_of(CaptionAt::NAMED).default("below"),
        /// The page: `a4`, `letter`, or its width and height in millimetres, such as `62x29`.
        page: Option<Paper> = text(2, 20).default("a4").example("letter")
            .pattern(r"^([aA]4|[lL][eE][tT][tT][eE][rR]|[0-9]{1,4}(\.[0-9]+)?x[0-9]{1,4}(\.[0-9]+)?)$"),
        /// Rows of labels on a page.
        rows: Option<u32> = integer(1, 40).default("8"),
        /// Columns of labels on a page.
        columns: Option<u32> = integer(1, 30).default("3"),
        /// Space at the left and at the right edge of the page, in millimetres.
        page_margin_x_mm: Option<f64> = number(0.0, 200.0).default("10"),
        /// Space at the upper and at the lower edge of the page, in millimetres.
        page_margin_y_mm: Option<f64> = number(0.0, 200.0).default("10"),
        /// Space between columns, in millimetres.
        gap_x_mm: Option<f64> = number(0.0, 200.0).default("3"),
        /// Space between rows, in millimetres.
        gap_y_mm: Option<f64> = number(0.0, 200.0).default("3"),
        /// Moves everything to the right, for a printer that does not feed paper exactly, in millimetres.
        shift_x_mm: Option<f64> = number(-20.0, 20.0).default("0"),
        /// Moves everything down, in millimetres.
        shift_y_mm: Option<f64> = number(-20.0, 20.0).default("0"),
        /// Makes everything wider, for a printer that prints too narrow. The left edge of the page stays.
        scale_x: Option<f64> = number(0.9, 1.1).default("1"),
        /// Makes everything higher. The upper edge of the page stays.
        scale_y: Option<f64> = number(0.9, 1.1).default("1"),
        /// Draws marks at the corners of each label, to cut along.
        crop_marks: Option<bool> = boolean(),
        /// Answers with a test sheet instead: the frames of the labels, and rulers in millimetres that show how the
        /// printer moves and scales. It needs no items.
        calibrate: Option<bool> = boolean(),
        /// Font size of the captions, in points. The default is 8, or less on labels that are less than 20 mm high.
        caption_pt: Option<f64> = number(4.0, 36.0),
    }
}

impl Sheet {
    /// Page, rows and columns, margins and gaps, in millimetres. With a preset, any of these options that is also given
    /// is a fault.
    fn grid(&self, faults: &mut Vec<Fault>) -> Grid {
        let Some(preset) = self.preset else {
            return Grid {
                page: self.page.unwrap_or(Paper::A4),
                count: (self.columns.unwrap_or(3), self.rows.unwrap_or(8)),
                margin: (
                    self.page_margin_x_mm.unwrap_or(10.0),
                    self.page_margin_y_mm.unwrap_or(10.0),
                ),
                gap: (self.gap_x_mm.unwrap_or(3.0), self.gap_y_mm.unwrap_or(3.0)),
            };
        };
        const SET: &str = "page rows columns page_margin_x_mm page_margin_y_mm gap_x_mm gap_y_mm";
        for field in self.given().filter(|field| SET.split(' ').any(|it| it == field.name)) {
            faults.push(Fault::new(field.name, Code::Contradictory, "the preset sets it"));
        }
        preset.grid()
    }
}

names! {
    /// Place of the captions.
    #[derive(Default)]
    pub(crate) CaptionAt {
        /// One line below the symbol.
        #[default]
        Below = "below",
        /// Lines to the right of the symbol.
        Beside = "beside",
    }
}

/// The division of a page, in millimetres; the first number of each pair is along the x axis.
struct Grid {
    page: Paper,
    count: (u32, u32),
    margin: (f64, f64),
    gap: (f64, f64),
}

/// Width and height of a page, in millimetres.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Paper(f64, f64);

impl Paper {
    const A4: Paper = Paper(210.0, 297.0);
    const LETTER: Paper = Paper(215.9, 279.4);
}

impl<'de> Deserialize<'de> for Paper {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?.to_lowercase();
        let side = |text: &str| text.parse().ok().filter(|side| PAGE_MM.contains(side));
        let paper = match (&*text, text.split_once('x')) {
            ("a4", _) => Some(Paper::A4),
            ("letter", _) => Some(Paper::LETTER),
            (_, Some((width, height))) => side(width).zip(side(height)).map(|(w, h)| Paper(w, h)),
            _ => None,
        };
        paper.ok_or_else(|| {
            let (least, most) = (PAGE_MM.start(), PAGE_MM.end());
            let sides =
                format!("width and height in millimetres, {least} to {most}, such as 62x29");
            D::Error::custom(format!("use a4, letter, or {sides}"))
        })
    }
}

/// The places of labels on a page, in points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) page: (f64, f64),
    rows: usize,
    columns: usize,
    margin: (f64, f64),
    gap: (f64, f64),
    /// Width and height of a label.
    label: (f64, f64),
    /// The part of a label that a symbol may fill, from its upper left corner.
    room: (f64, f64),
    caption_at: CaptionAt,
    pub(crate) caption_pt: f64,
    /// Labels of the first page that are skipped.
    pub(crate) skipped: usize,
    /// How much wider and higher everything is drawn, and how far it is moved to the right and down.
    scale: (f64, f64),
    shift: (f64, f64),
    has_crop_marks: bool,
}

impl Layout {
    /// Divides the page. Every label has room for a caption if any has one. If labels would be too small or the
    /// sheet is contradictory, adds faults and returns `None`.
    pub(crate) fn new(sheet: &Sheet, has_captions: bool, faults: &mut Vec<Fault>) -> Option<Self> {
        let before = faults.len();
        let Grid { page: Paper(width, height), count, margin, gap } = sheet.grid(faults);
        let points = |(x, y): (f64, f64)| (x * POINTS, y * POINTS);
        let (page, margin, gap) = (points((width, height)), points(margin), points(gap));
        let divide = |length: f64, margin: f64, gap: f64, count: u32| {
            (length - 2.0 * margin - gap * f64::from(count - 1)) / f64::from(count)
        };
        let label =
            (divide(page.0, margin.0, gap.0, count.0), divide(page.1, margin.1, gap.1, count.1));
        let usual = (label.1 * CAPTION_SHARE / LINE).clamp(CAPTION_PT.0, CAPTION_PT.1);
        let caption_pt = sheet.caption_pt.unwrap_or(usual);
        let caption_at = sheet.caption_at.unwrap_or_default();
        let room = match caption_at {
            _ if !has_captions => label,
            CaptionAt::Below => (label.0, label.1 - LINE * caption_pt),
            CaptionAt::Beside => (label.1.min(label.0 * SYMBOL_SHARE), label.1),
        };
        for (name, length, less) in [
            ("columns", room.0, "page_margin_x_mm or gap_x_mm"),
            ("rows", room.1, "page_margin_y_mm or gap_y_mm"),
        ] {
            if length < LEAST_MM * POINTS {
                let millimetres = (length / POINTS).max(0.0);
                let detail = format!(
                    "a symbol would have only {millimetres:.1} mm, less than {LEAST_MM} mm"
                );
                let fault = Fault::new(name, Code::Size, detail);
                faults.push(fault.suggest(format!("use fewer {name}, or less {less}")));
            }
        }
        let (columns, rows) = (count.0 as usize, count.1 as usize);
        let skipped = sheet.first_label.map_or(0, |first| first.saturating_sub(1));
        if skipped >= rows * columns {
            let detail = format!("a page has {} labels", rows * columns);
            let fault = Fault::new("first_label", Code::OutOfRange, detail);
            faults.push(fault.at_most((rows * columns) as u32));
        }
        let layout = Layout {
            page,
            rows,
            columns,
            margin,
            gap,
            label,
            room,
            caption_at,
            caption_pt,
            skipped,
            scale: (sheet.scale_x.unwrap_or(1.0), sheet.scale_y.unwrap_or(1.0)),
            shift: points((
                sheet.shift_x_mm.unwrap_or_default(),
                sheet.shift_y_mm.unwrap_or_default(),
            )),
            has_crop_marks: sheet.crop_marks.unwrap_or_default(),
        };
        (faults.len() == before).then_some(layout)
    }

    /// Number of labels on a page.
    pub(crate) fn per_page(&self) -> usize {
        self.rows * self.columns
    }

    /// Appends what makes up for the printer. It holds until the end of the content.
    pub(crate) fn adjust(&self, content: &mut Vec<u8>) {
        let ((scale_x, scale_y), (right, down)) = (self.scale, self.shift);
        // The origin of a page is its lower left corner.
        let up = self.page.1 * (1.0 - scale_y) - down;
        put(content, format_args!("q {scale_x} 0 0 {scale_y} {right:.4} {up:.4} cm\n"));
    }

    /// The lines of a caption. Fails if it has characters that the font lacks, or does not fit.
    pub(crate) fn caption(&self, text: &str) -> Result<Vec<LabelCaption>, Fault> {
        match self.caption_at {
            CaptionAt::Below => {
                Ok(vec![LabelCaption::new(text, self.caption_pt, Some(self.label.0))?])
            }
            CaptionAt::Beside => {
                let most = (self.label.1 / (LINE * self.caption_pt)) as usize;
                LabelCaption::lines(text, self.caption_pt, self.label.0 - self.room.0, most)
            }
        }
    }

    /// Points per module of a symbol that fills its room.
    fn module(&self, modules: Modules<'_>, margin: u32) -> f64 {
        let (width, height) = sides(modules, margin);
        (self.room.0 / width).min(self.room.1 / height)
    }

    /// Width of a symbol with its quiet zone, in millimetres.
    pub(crate) fn width_mm(&self, modules: Modules<'_>, margin: u32) -> f64 {
        self.module(modules, margin) * sides(modules, margin).0 / POINTS
    }

    /// The upper left corner of a label, by its place on the page.
    fn corner(&self, index: usize) -> (f64, f64) {
        let (row, column) = ((index / self.columns) as f64, (index % self.columns) as f64);
        let left = self.margin.0 + column * (self.label.0 + self.gap.0);
        (left, self.page.1 - self.margin.1 - row * (self.label.1 + self.gap.1))
    }

    /// Appends a label to the content of its page. `index` is its place on the page.
    pub(crate) fn draw(
        &self,
        index: usize,
        modules: Modules<'_>,
        margin: u32,
        caption: &[LabelCaption],
        content: &mut Vec<u8>,
    ) {
        let (left, top) = self.corner(index);
        if self.has_crop_marks {
            self.put_crop_marks((left, top), content);
        }
        let module = self.module(modules, margin);
        let (width, height) = sides(modules, margin);
        let (centre, spare) = (left + self.room.0 / 2.0, self.room.1 - module * height);
        let quiet = module * f64::from(margin);
        let (x, y) = (centre - module * width / 2.0 + quiet, top - spare / 2.0 - quiet);
        put(content, format_args!("q {module:.6} 0 0 -{module:.6} {x:.4} {y:.4} cm\n"));
        write_pdf_path(modules, content);
        put(content, format_args!("f Q\n"));
        let line = LINE * self.caption_pt;
        // The upper edge of the first line.
        let above = match self.caption_at {
            CaptionAt::Below => top - spare / 2.0 - module * height,
            CaptionAt::Beside => top - (self.label.1 - line * caption.len() as f64) / 2.0,
        };
        for (index, caption) in caption.iter().enumerate() {
            let x = match self.caption_at {
                CaptionAt::Below => centre - caption.width_pt / 2.0,
                CaptionAt::Beside => left + self.room.0,
            };
            let y = above - line * (index + 1) as f64 + DESCENT * self.caption_pt;
            let (size, text) = (self.caption_pt, caption.hex());
            put(content, format_args!("BT /{FONT} {size} Tf {x:.4} {y:.4} Td <{text}> Tj ET\n"));
        }
    }
}

/// Width and height of a symbol with its quiet zone, in modules.
fn sides(modules: Modules<'_>, margin: u32) -> (f64, f64) {
    let margins = 2.0 * f64::from(margin);
    (modules.width() as f64 + margins, modules.height() as f64 + margins)
}
