//! Tests colours, logos and the Swiss cross in PDF and EPS, drawn by poppler and Ghostscript.

use std::process::Command;

use serde_json::{Value, json};

use crate::artwork::{get, logo, post_json, uri};
use crate::labels::poppler;
use crate::support::{Picture, encode, of_png, of_print, of_svg, padded, read, start};

#[test]
fn a_symbol_in_colour_with_a_logo_is_read_in_print() {
    let service = start(&[]);
    let text = "https://example.com/in/print";
    let red = uri(&logo(600, 300, [255, 0, 0, 255]));
    for extension in ["pdf", "eps"] {
        for (more, written) in [
            (json!({"dark": "036"}), "0 0.2 0.4 setrgbcolor"),
            (json!({"dark": "cmyk(100,70,0,30)", "light": "ffe"}), "1 0.7 0 0.3 setcmykcolor"),
            (json!({"logo": red, "light": "cmyk(0,0,20,0)"}), "0 0 0.2 0 setcmykcolor"),
            (json!({"logo": red, "dark": "036", "light": "transparent"}), "/DeviceRGB"),
        ] {
            let mut body = more.clone();
            (body["text"], body["width_mm"]) = (json!(text), json!(50));
            let answer = post_json(service.addr, &format!("/v1/qr.{extension}"), &body);
            assert_eq!(answer.status, 200, "{more} {}", answer.text());
            let picture = of_print(&answer.body, extension, 200.0);
            assert_eq!(read(&picture, "qr").unwrap().text(), text, "{extension} {more}");
            if extension == "eps" {
                assert!(answer.text().contains(written), "{more}");
                assert!(answer.text().lines().all(|line| line.len() <= 255));
            }
            if more["logo"].is_string() {
                // The logo is red, and twice as wide as high.
                let middle = at(&picture, 50.0, 25.0, 25.0);
                assert!(middle.abs_diff(76) < 3, "{middle}");
            }
        }
    }
}

#[test]
fn shapes_are_read_in_print() {
    let service = start(&[]);
    let text = "https://example.com/in/print";
    for extension in ["pdf", "eps"] {
        // Outside the finder pattern's round corner, 4 modules from the edge.
        for (shape, finders, corner) in [("dots", "circle", 255), ("rounded", "square", 0)] {
            let query = format!("text={text}&shape={shape}&finder_shape={finders}&width_mm=37");
            let answer = get(service.addr, &format!("/v1/qr.{extension}?{query}"));
            assert_eq!(answer.status, 200, "{query} {}", answer.text());
            let picture = of_print(&answer.body, extension, 300.0);
            assert_eq!(read(&picture, "qr").unwrap().text(), text, "{extension} {query}");
            assert_eq!(at(&picture, 37.0, 4.2, 4.2), corner, "{extension} {query}");
            // The pattern's ring and core.
            let ring_and_core = [at(&picture, 37.0, 5.5, 7.5), at(&picture, 37.0, 7.5, 7.5)];
            assert_eq!(ring_and_core, [255, 0], "{extension} {query}");
        }
    }
}

#[test]
fn a_caption_keeps_the_quiet_zone_that_a_margin_lacks() {
    let service = start(&[]);
    for (query, size) in [("text=a", "21 26.96875"), ("text=1&kind=micro", "11 14.03125")] {
        let svg = get(service.addr, &format!("/v1/qr.svg?{query}&margin=0&caption=a"));
        assert!(svg.text().contains(&format!("viewBox=\"0 0 {size}\"")), "{}", svg.text());
    }
    let bare = get(service.addr, "/v1/qr.png?text=hello&margin=0&size=210&caption=Hi");
    let picture = of_png(&bare.body);
    assert!(picture.grey[210 * 210..][..40 * 210].iter().all(|grey| *grey == 255));
}

#[test]
fn a_caption_is_a_line_below_the_quiet_zone() {
    let service = start(&[]);
    let caption = "Größe – 5 € (a)";
    for extension in ["svg", "pdf", "eps", "png"] {
        let ask = |more: &str| {
            get(service.addr, &format!("/v1/qr.{extension}?text=https://example.com/{more}"))
        };
        let answer = ask(&format!("&caption={}", encode(caption)));
        assert_eq!(answer.status, 200, "{}", answer.text());
        if extension == "svg" {
            // 33 modules; the caption adds one and a half times the height of its letters, a sixteenth of the width.
            assert!(answer.text().contains("viewBox=\"0 0 33 36.09375\""), "{}", answer.text());
            assert!(answer.text().ends_with(&format!(">{caption}</text></svg>\n")));
            continue;
        }
        let (with, without) = [&answer, &ask("")]
            .map(|answer| match extension {
                "png" => of_png(&answer.body),
                _ => of_print(&answer.body, extension, 300.0),
            })
            .into();
        assert_eq!(read(&with, "qr").unwrap().text(), "https://example.com/", "{extension}");
        assert_eq!(with.width, without.width);
        let higher = f64::from(with.height) / f64::from(without.height);
        assert!((1.08..1.15).contains(&higher), "{extension} {higher}");
        let below = &with.grey[(without.height * without.width) as usize..];
        assert!(below.iter().any(|grey| *grey < 100), "{extension}");
        if extension == "png" {
            continue;
        }
        let shown = match extension {
            "pdf" => poppler("pdftotext", &[], &answer.body),
            _ => text_of_eps(&answer.body),
        };
        assert_eq!(String::from_utf8_lossy(&shown).trim(), caption, "{extension}");
        let long = ask(&format!("&caption={}", "Wide".repeat(40)));
        assert_eq!((long.status, long.faults()), (400, vec!["caption too-long".to_owned()]));
    }
}

/// Returns the text that Ghostscript finds.
fn text_of_eps(eps: &[u8]) -> Vec<u8> {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    std::io::Write::write_all(&mut file, eps).unwrap();
    let options = ["-q", "-dSAFER", "-dBATCH", "-dNOPAUSE", "-sDEVICE=txtwrite", "-o", "-"];
    Command::new("gs").args(options).arg(file.path()).output().unwrap().stdout
}

/// Returns the grey at a point, in millimetres, of a picture that is `wide` millimetres wide.
fn at(picture: &Picture, wide: f64, x: f64, y: f64) -> u8 {
    let px = |mm: f64| (mm / wide * f64::from(picture.width)) as usize;
    picture.grey[px(y) * picture.width as usize + px(x)]
}

/// Returns a bill like the standard's example, and one with the required fields only.
fn bills() -> [Value; 2] {
    let least = json!({"iban": "CH5800791123000889012", "creditor_name": "A", "creditor_postcode": "2501",
        "creditor_town": "Biel"});
    let mut full = json!({"iban": "CH4431999123000889012", "creditor_name": "Robert Schneider AG",
        "creditor_street": "Rue du Lac", "creditor_house_number": "1268", "amount": "1949.75",
        "debtor_name": "Pia-Maria Rutschmann-Schnyder", "debtor_street": "Grosse Marktgasse",
        "debtor_house_number": "28", "debtor_postcode": "9400", "debtor_town": "Rorschach",
        "reference": "210000000003139471430009017", "message": "Auftrag vom 15.06.2020",
        "bill_information": "//S1/10/10201409/11/200701/20/140.000-53/30/102673831/31/200615/32/7.7/33/7.7:139.40/40/0:30",
        "procedure_1": "Name AV1: UV;UltraPay005;12345", "procedure_2": "Name AV2: XY;XYService;54321"});
    (full["creditor_postcode"], full["creditor_town"]) = (json!("2501"), json!("Biel"));
    [full, least]
}

#[test]
fn a_swiss_bill_has_its_cross_in_every_format_and_is_read() {
    let service = start(&[]);
    for bill in bills() {
        for extension in ["png", "svg", "pdf", "eps"] {
            let mut body = bill.clone();
            if extension == "png" {
                body["scale"] = json!(6);
            }
            let answer = post_json(service.addr, &format!("/v1/payload/swiss.{extension}"), &body);
            assert_eq!(answer.status, 200, "{bill} {}", answer.text());
            assert_eq!(answer.header("x-qr-level"), Some("M"));
            let picture = match extension {
                "png" => of_png(&answer.body),
                "svg" => of_svg(&answer.body, 8.0),
                _ => of_print(&answer.body, extension, 300.0),
            };
            // The page is the symbol, 46 mm wide.
            let is_page = matches!(extension, "pdf" | "eps");
            let off = picture.width.abs_diff((46.0 / 25.4 * 300.0) as u32);
            assert!(!is_page || off < 3, "{}", picture.width);
            let code =
                read(&padded(&picture), "qr").unwrap_or_else(|| panic!("{extension} {bill}"));
            assert!(code.text().starts_with("SPC\n0200\n1\nCH"), "{}", code.text());
            assert!(code.text().contains("\nEPD"), "{}", code.text());
            let around = |x: f64, y: f64| at(&picture, 46.0, 23.0 + x, 23.0 + y);
            for (x, y, is_white) in [
                (0.0, 0.0, true),
                (0.0, -1.7, true),
                (1.7, 0.0, true),
                (0.0, 2.4, false),
                (1.0, 1.0, false),
                (-2.7, 2.7, false),
                (2.7, -2.7, false),
                (3.25, 0.0, true),
                (0.0, -3.25, true),
            ] {
                assert_eq!(around(x, y) > 127, is_white, "{extension} {x} {y}");
            }
        }
    }
    let mut wrong = bills()[1].clone();
    wrong["logo"] = json!(uri(&logo(8, 8, [0, 0, 0, 255])));
    wrong["version_max"] = json!(30);
    let answer = post_json(service.addr, "/v1/payload/swiss", &wrong);
    assert_eq!(answer.faults(), ["logo contradictory", "version_max out-of-range"]);
}
