//! Judges, verdicts and pictures for tests.

use compare::judge::{Judge, Verdict, compared_headers};
use http::HeaderName;
use qr_core::{Level, Raster, encode, write_png};
use route::JudgeSettings;
use serde::Deserialize;

/// The judge of a route file. `settings` is a name or a table in TOML.
pub(crate) fn judge(settings: &str) -> Judge {
    judge_comparing(settings, compared_headers(None, &[]).unwrap())
}

pub(crate) fn judge_comparing(settings: &str, headers: Vec<HeaderName>) -> Judge {
    #[derive(Deserialize)]
    struct Route {
        judge: JudgeSettings,
    }

    let settings =
        if settings.starts_with('{') { settings.to_owned() } else { format!("\"{settings}\"") };
    let route: Route = toml::from_str(&format!("judge = {settings}")).unwrap();
    Judge::new(&route.judge, headers).unwrap()
}

/// Kind and detail of a difference.
pub(crate) fn shown(verdict: &Verdict) -> (&str, &str) {
    match verdict {
        Verdict::Different { kind, detail } => (kind.as_str(), detail),
        other => panic!("{other:?}"),
    }
}

pub(crate) fn picture(text: &str, level: Level, size_px: u32) -> Vec<u8> {
    let mut png = Vec::new();
    let raster = Raster { size_px, margin_modules: 4 };
    write_png(&encode(text, level).unwrap(), &raster, &mut png).unwrap();
    png
}

/// A PNG of 8-bit samples.
pub(crate) fn png_of(color: png::ColorType, samples: &[u8], width: u32) -> Vec<u8> {
    let height = samples.len() as u32 / color.samples() as u32 / width;
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(color);
    encoder.set_compression(png::Compression::Fastest);
    encoder.write_header().unwrap().write_image_data(samples).unwrap();
    file
}
