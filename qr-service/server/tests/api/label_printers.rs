//! Tests labels in ZPL and EPL, drawn by a small renderer and read by zxing-cpp.

use crate::support::{Picture, get, of_epl, of_zpl, padded, read, start};

/// The greatest common divisor of the lengths of all runs of equal dots in a picture's rows: the dots of a module.
fn dots_of(picture: &Picture) -> usize {
    let divisor = |mut one: usize, mut two: usize| {
        while two > 0 {
            (one, two) = (two, one % two);
        }
        one
    };
    let rows = picture.grey.chunks(picture.width as usize);
    // The last run also has the dots that fill the last byte.
    let runs = rows.flat_map(|row| {
        let lengths: Vec<usize> = row.chunk_by(|one, two| one == two).map(<[u8]>::len).collect();
        lengths[..lengths.len() - 1].to_vec()
    });
    runs.fold(0, divisor)
}

#[test]
fn labels_have_modules_of_whole_dots_and_are_read() {
    let service = start(&[]);
    for dpi in [203, 300, 600] {
        for (query, kind) in [
            ("text=https://example.com/label", "qr"),
            ("text=https://example.com/label&version_min=40&width_mm=100", "qr"),
            ("text=label&kind=micro&width_mm=12", "micro"),
            ("text=label&kind=rmqr&width_mm=25.5&margin=3", "rmqr"),
            ("text=label&scale=8", "qr"),
        ] {
            let query = format!("{query}&dpi={dpi}");
            let answer = get(service.addr, &format!("/v1/qr.zpl?{query}"));
            assert_eq!(answer.status, 200, "{query} {}", answer.text());
            assert_eq!(answer.header("content-type"), Some("application/zpl"));
            let picture = of_zpl(answer.text());
            let text = read(&padded(&picture), kind).unwrap().text();
            assert!(query.contains(&format!("text={text}")), "{query}: {text}");
            let (width, _) = answer.header("x-qr-modules").unwrap().split_once('x').unwrap();
            let margin = if query.contains("margin") {
                3
            } else if kind == "qr" {
                4
            } else {
                2
            };
            let modules = width.parse::<usize>().unwrap() + 2 * margin;
            let mm =
                query.split_once("width_mm=").map_or("40", |(_, mm)| mm.split('&').next().unwrap());
            let most = mm.parse::<f64>().unwrap() / 25.4 * f64::from(dpi) / modules as f64;
            let dots = if query.contains("scale") { 8 } else { most as usize };
            assert_eq!(dots_of(&picture), dots, "{query}");
            assert_eq!(picture.width as usize, (dots * modules).next_multiple_of(8), "{query}");
            if dpi < 600 {
                let epl = get(service.addr, &format!("/v1/qr.epl?{query}"));
                assert_eq!(epl.header("content-type"), Some("application/epl"));
                assert!(of_epl(&epl.body).grey == picture.grey, "{query}");
            }
        }
    }
}
