//! Tests URLs as programs use them: their forms and parameters come from public code, the texts are our own.

use serde::Deserialize;

use crate::pictures::seen;
use crate::show::get_from;
use crate::support::{Answer, start};

/// The host name under which the service answers like qrcode.show.
const SHOW: &str = "qr.example";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Found {
    about: String,
    url: String,
    #[serde(default)]
    accept: String,
    /// The text of the code, and the picture's width in pixels.
    text: Option<String>,
    width: Option<u32>,
    #[serde(default = "png")]
    media: String,
    /// A part of the reason for a refusal.
    refused: Option<String>,
}

fn png() -> String {
    "image/png".to_owned()
}

#[test]
fn urls_found_in_public_code_give_their_codes_or_say_why_not() {
    let service = start(&[("QR_COMPAT", "goqr,quickchart,google"), ("QR_SHOW_HOST", SHOW)]);
    let all: Vec<Found> = serde_json::from_str(include_str!("wild.json")).unwrap();
    assert!(all.len() > 50);
    for found in all {
        let (_, rest) = found.url.split_once("//").unwrap();
        let end = rest.find(['/', '?']).unwrap();
        let (host, target) = rest.split_at(end);
        let host = if host == "qrcode.show" { SHOW } else { host };
        let target = if target.starts_with('?') { format!("/{target}") } else { target.to_owned() };
        let accept = match &*found.accept {
            "" => String::new(),
            accept => format!("accept: {accept}\r\n"),
        };
        check(&found, &get_from(service.addr, host, &target, &accept));
    }
}

fn check(found: &Found, answer: &Answer) {
    let Found { about, url, .. } = found;
    let header = answer.header("x-quickchart-error").map(str::to_owned);
    let reason = || header.clone().unwrap_or_else(|| answer.text().to_owned());
    if let Some(says) = &found.refused {
        assert_eq!(answer.status, 400, "{about}: {url}");
        assert!(reason().contains(says), "{about}: {url}: {}", reason());
        return;
    }
    assert_eq!(answer.status, 200, "{about}: {url}: {}", header.unwrap_or_default());
    assert_eq!(answer.header("content-type"), Some(&*found.media), "{about}");
    let (width, height, text) = seen(answer);
    assert_eq!((Some(width), Some(&text)), (found.width, found.text.as_ref()), "{about}: {url}");
    // A caption is below the code.
    let has_caption = url.contains("&caption=");
    assert_eq!((height > width, height < width), (has_caption, false), "{about}");
}
