//! Commercial label sheets, with sizes in millimetres from the makers' templates. The labels are centred on their
//! pages, without gaps between rows.

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::{Grid, Paper};

/// Number, page, columns, rows, width and height of a label, and the gap between columns.
type Row = (&'static str, Paper, u32, u32, f64, f64, f64);

const PRESETS: [Row; 14] = [
    ("3474", Paper::A4, 3, 8, 70.0, 37.0, 0.0),
    ("5160", Paper::LETTER, 3, 10, 66.675, 25.4, 3.175),
    ("5163", Paper::LETTER, 2, 5, 101.6, 50.8, 4.7625),
    ("5164", Paper::LETTER, 2, 3, 101.6, 254.0 / 3.0, 4.7625),
    ("5167", Paper::LETTER, 4, 20, 44.45, 12.7, 7.9375),
    ("L4731", Paper::A4, 7, 27, 25.4, 10.0, 2.54),
    ("L7159", Paper::A4, 3, 8, 63.5, 33.9, 2.54),
    ("L7160", Paper::A4, 3, 7, 63.5, 38.1, 2.54),
    ("L7161", Paper::A4, 3, 6, 63.5, 46.6, 2.54),
    ("L7162", Paper::A4, 2, 8, 99.1, 33.9, 2.54),
    ("L7163", Paper::A4, 2, 7, 99.1, 38.1, 2.54),
    ("L7165", Paper::A4, 2, 4, 99.1, 67.7, 2.54),
    ("L7173", Paper::A4, 2, 5, 99.1, 57.0, 2.54),
    ("L7651", Paper::A4, 5, 13, 38.1, 21.2, 2.54),
];

/// One of these sheets.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Preset(Row);

impl Preset {
    pub(super) fn grid(self) -> Grid {
        let Preset((_, page, columns, rows, width, height, gap)) = self;
        let taken = f64::from(columns) * width + f64::from(columns - 1) * gap;
        let margin = ((page.0 - taken) / 2.0, (page.1 - f64::from(rows) * height) / 2.0);
        Grid { page, count: (columns, rows), margin, gap: (gap, 0.0) }
    }
}

impl<'de> Deserialize<'de> for Preset {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?.to_uppercase();
        let number = text.trim_start_matches("AVERY").trim_start_matches([' ', '-']);
        let found = PRESETS.into_iter().find(|(name, ..)| *name == number);
        found.map(Preset).ok_or_else(|| {
            let names = PRESETS.map(|(name, ..)| name).join(", ");
            D::Error::custom(format!("use {names}, or page, rows and columns instead"))
        })
    }
}
