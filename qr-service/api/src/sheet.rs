//! A sheet of labels: symbols in rows and columns, each with a caption under it.

use qr_core::{Modules, write_pdf_path};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use utoipa::ToSchema;

use crate::caption::LabelCaption;
use crate::document::{FONT, put};
use crate::fault::{Code, Fault};

/// Points of a millimetre.
const POINTS: f64 = 72.0 / 25.4;
/// The least width and height of a symbol with its quiet zone, in millimetres.
const LEAST_MM: f64 = 5.0;
/// The shortest and the longest side of a page, in millimetres: A0 is 1189 long.
const PAGE_MM: std::ops::RangeInclusive<f64> = 10.0..=1200.0;
/// Height of a caption's line in its size, and what of it is below the letters' base line.
const LINE: f64 = 1.4;
const DESCENT: f64 = 0.3;

/// The sheet, for all labels.
#[derive(Clone, Debug, Default, Deserialize, ToSchema)]
pub(crate) struct Sheet {
    /// The page: `a4`, `letter`, or its width and height in millimetres, such as `62x29`.
    #[schema(value_type = Option<String>, default = "a4", min_length = 2, max_length = 20, example = "letter",
        pattern = r"^(a4|letter|[0-9]{1,4}(\.[0-9]+)?x[0-9]{1,4}(\.[0-9]+)?)$")]
    pub(crate) page: Option<Paper>,
    /// Labels below each other on a page.
    #[schema(minimum = 1, maximum = 40, default = 8)]
    pub(crate) rows: Option<u32>,
    /// Labels beside each other.
    #[schema(minimum = 1, maximum = 30, default = 3)]
    pub(crate) columns: Option<u32>,
    /// Space at the left and at the right edge of the page, in millimetres.
    #[schema(minimum = 0, maximum = 200, default = 10)]
    pub(crate) page_margin_x_mm: Option<f64>,
    /// Space at the upper and at the lower edge of the page, in millimetres.
    #[schema(minimum = 0, maximum = 200, default = 10)]
    pub(crate) page_margin_y_mm: Option<f64>,
    /// Space between columns, in millimetres.
    #[schema(minimum = 0, maximum = 200, default = 3)]
    pub(crate) gap_x_mm: Option<f64>,
    /// Space between rows, in millimetres.
    #[schema(minimum = 0, maximum = 200, default = 3)]
    pub(crate) gap_y_mm: Option<f64>,
    /// Size of the captions, in points.
    #[schema(minimum = 4, maximum = 36, default = 8)]
    pub(crate) caption_pt: Option<f64>,
}

impl Sheet {
    /// Size of the captions, in points.
    pub(crate) fn caption_pt(&self) -> f64 {
        self.caption_pt.unwrap_or(8.0)
    }
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
        let text = String::deserialize(deserializer)?;
        let side = |text: &str| text.parse().ok().filter(|side| PAGE_MM.contains(side));
        let paper = match (&*text, text.split_once('x')) {
            ("a4", _) => Some(Paper::A4),
            ("letter", _) => Some(Paper::LETTER),
            (_, Some((width, height))) => side(width).zip(side(height)).map(|(w, h)| Paper(w, h)),
            _ => None,
        };
        paper.ok_or_else(|| {
            let (least, most) = (PAGE_MM.start(), PAGE_MM.end());
            let sides = format!("width and height in millimetres, {least} to {most}, as 62x29");
            D::Error::custom(format!("use a4, letter, or {sides}"))
        })
    }
}

/// Where labels are, in points.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) page: (f64, f64),
    rows: usize,
    columns: usize,
    margin: (f64, f64),
    gap: (f64, f64),
    /// Width and height of a label.
    label: (f64, f64),
    caption_pt: f64,
    /// What the captions take of each label's height.
    caption: f64,
}

impl Layout {
    /// Divides the page. Every label has room for a caption if any has one. `None` if labels would be too
    /// small, which is added to `faults`.
    pub(crate) fn new(sheet: &Sheet, has_captions: bool, faults: &mut Vec<Fault>) -> Option<Self> {
        let Paper(width, height) = sheet.page.unwrap_or(Paper::A4);
        let page = (width * POINTS, height * POINTS);
        let points = |mm: Option<f64>, default: f64| mm.unwrap_or(default) * POINTS;
        let margin = (points(sheet.page_margin_x_mm, 10.0), points(sheet.page_margin_y_mm, 10.0));
        let gap = (points(sheet.gap_x_mm, 3.0), points(sheet.gap_y_mm, 3.0));
        let (rows, columns) = (sheet.rows.unwrap_or(8), sheet.columns.unwrap_or(3));
        let divide = |length: f64, margin: f64, gap: f64, count: u32| {
            (length - 2.0 * margin - gap * f64::from(count - 1)) / f64::from(count)
        };
        let label =
            (divide(page.0, margin.0, gap.0, columns), divide(page.1, margin.1, gap.1, rows));
        let caption_pt = sheet.caption_pt();
        let caption = if has_captions { LINE * caption_pt } else { 0.0 };
        let before = faults.len();
        for (name, length, less) in [
            ("columns", label.0, "page_margin_x_mm or gap_x_mm"),
            ("rows", label.1 - caption, "page_margin_y_mm or gap_y_mm"),
        ] {
            if length < LEAST_MM * POINTS {
                let millimetres = (length / POINTS).max(0.0);
                let detail = format!("a symbol would have {millimetres:.1} mm, below {LEAST_MM}");
                let fault = Fault::new(name, Code::Size, detail);
                faults.push(fault.suggest(format!("use fewer {name}, or less {less}")));
            }
        }
        let (rows, columns) = (rows as usize, columns as usize);
        let layout = Layout { page, rows, columns, margin, gap, label, caption_pt, caption };
        (faults.len() == before).then_some(layout)
    }

    /// Labels of a page.
    pub(crate) fn per_page(&self) -> usize {
        self.rows * self.columns
    }

    /// The widest caption, in points.
    pub(crate) fn caption_width(&self) -> f64 {
        self.label.0
    }

    /// Points a module of a symbol that fills its label.
    fn module(&self, modules: Modules<'_>, margin: u32) -> f64 {
        let (width, height) = sides(modules, margin);
        (self.label.0 / width).min((self.label.1 - self.caption) / height)
    }

    /// Width of a symbol with its quiet zone, in millimetres.
    pub(crate) fn width_mm(&self, modules: Modules<'_>, margin: u32) -> f64 {
        self.module(modules, margin) * sides(modules, margin).0 / POINTS
    }

    /// Appends the label at `index` of its page to the page's content, in its middle.
    pub(crate) fn draw(
        &self,
        index: usize,
        modules: Modules<'_>,
        margin: u32,
        caption: Option<&LabelCaption>,
        content: &mut Vec<u8>,
    ) {
        let (row, column) = ((index / self.columns) as f64, (index % self.columns) as f64);
        let centre = self.margin.0 + column * (self.label.0 + self.gap.0) + self.label.0 / 2.0;
        let top = self.page.1 - self.margin.1 - row * (self.label.1 + self.gap.1);
        let module = self.module(modules, margin);
        let (width, height) = sides(modules, margin);
        let spare = self.label.1 - module * height - self.caption;
        let quiet = module * f64::from(margin);
        let (x, y) = (centre - module * width / 2.0 + quiet, top - spare / 2.0 - quiet);
        put(content, format_args!("q {module:.6} 0 0 -{module:.6} {x:.4} {y:.4} cm\n"));
        write_pdf_path(modules, content);
        put(content, format_args!("f Q\n"));
        if let Some(caption) = caption {
            let x = centre - caption.width_pt / 2.0;
            let below = self.caption - DESCENT * self.caption_pt;
            let y = top - spare / 2.0 - module * height - below;
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
