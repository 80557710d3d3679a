//! Judges, verdicts and pictures for tests.

use compare::judge::{Answer, Differences, Judge, RequestLine, Verdict};
use http::header::{CONTENT_TYPE, LOCATION};
use http::{HeaderMap, HeaderName};
use route::JudgeSettings;
use serde::Deserialize;

pub(crate) use crate::support::picture;

pub(crate) const GET: RequestLine<'_> = RequestLine { method: "GET", target: "/items" };

pub(crate) fn answer<'a>(status: u16, headers: &'a HeaderMap, body: &'a [u8]) -> Answer<'a> {
    Answer { status, headers, body }
}

/// Compares two bodies.
pub(crate) fn compare(settings: &str, old: &[u8], new: &[u8]) -> Verdict {
    let none = HeaderMap::new();
    judge(settings).compare(&GET, &answer(200, &none, old), &answer(200, &none, new))
}

/// The judge of a route file. `settings` is a name or a table in TOML.
pub(crate) fn judge(settings: &str) -> Judge {
    judge_comparing(settings, vec![CONTENT_TYPE, LOCATION])
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

/// The kind and detail of the first difference.
pub(crate) fn shown(verdict: &Verdict) -> (&str, &str) {
    let first = &differences(verdict).listed()[0];
    (first.kind.as_str(), &first.detail)
}

pub(crate) fn differences(verdict: &Verdict) -> &Differences {
    match verdict {
        Verdict::Different(differences) => differences,
        other => panic!("{other:?}"),
    }
}

/// A PNG with 8-bit samples.
pub(crate) fn png_of(color: png::ColorType, samples: &[u8], width: u32) -> Vec<u8> {
    let height = samples.len() as u32 / color.samples() as u32 / width;
    let mut file = Vec::new();
    let mut encoder = png::Encoder::new(&mut file, width, height);
    encoder.set_color(color);
    encoder.set_compression(png::Compression::Fastest);
    encoder.write_header().unwrap().write_image_data(samples).unwrap();
    file
}
