//! Tests `/v1/labels`; poppler renders and reads the sheets.

use std::io::Write;
use std::net::SocketAddr;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::support::{Answer, Picture, get, post_in_time, post_many, read, read_all, start};

const DPI: f64 = 150.0;

fn post(addr: SocketAddr, query: &str, items: &[Value]) -> Answer {
    let body = Value::from(items).to_string();
    post_in_time(addr, &format!("/v1/labels{query}"), "application/json", body.as_bytes())
}

/// Runs a program of poppler on a PDF; returns its output. Poppler repairs bad files with a warning, so none may occur.
pub(crate) fn poppler(program: &str, args: &[&str], pdf: &[u8]) -> Vec<u8> {
    let mut child = Command::new(program)
        .args(args)
        .args(["-", "-"].iter().take(if program == "pdftotext" { 2 } else { 1 }))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap_or_else(|error| panic!("{program} (make setup installs poppler-utils): {error}"));
    let mut stdin = child.stdin.take().unwrap();
    let pdf = pdf.to_vec();
    let writer = std::thread::spawn(move || stdin.write_all(&pdf).unwrap());
    let output = child.wait_with_output().unwrap();
    writer.join().unwrap();
    assert_eq!(String::from_utf8_lossy(&output.stderr), "", "{program}");
    assert!(output.status.success(), "{program}");
    output.stdout
}

/// Renders the pages.
fn pages(pdf: &[u8]) -> Vec<Picture> {
    pages_at(DPI, pdf)
}

fn pages_at(dpi: f64, pdf: &[u8]) -> Vec<Picture> {
    let rendered = poppler("pdftoppm", &["-gray", "-r", &dpi.to_string()], pdf);
    let (mut rest, mut pages) = (&rendered[..], Vec::new());
    while !rest.is_empty() {
        let mut lines = rest.splitn(4, |byte| *byte == b'\n');
        assert_eq!(lines.next(), Some(&b"P5"[..]));
        let size = std::str::from_utf8(lines.next().unwrap()).unwrap();
        let (width, height) = size.split_once(' ').unwrap();
        let (width, height): (u32, u32) = (width.parse().unwrap(), height.parse().unwrap());
        assert_eq!(lines.next(), Some(&b"255"[..]));
        let (grey, after) = lines.next().unwrap().split_at((width * height) as usize);
        pages.push(Picture { width, height, grey: grey.to_vec() });
        rest = after;
    }
    pages
}

/// Cuts out a part of a page, given in millimetres from the upper left corner.
fn cut(page: &Picture, [left, top, width, height]: [f64; 4]) -> Picture {
    let px = |mm: f64| (mm * DPI / 25.4) as usize;
    let rows = page.grey.chunks(page.width as usize).skip(px(top)).take(px(height));
    let grey: Vec<u8> = rows.flat_map(|row| &row[px(left)..][..px(width)]).copied().collect();
    Picture { width: px(width) as u32, height: (grey.len() / px(width)) as u32, grey }
}

/// The columns, rows, margins and gaps of a page.
struct Grid {
    page_mm: [f64; 2],
    count: [usize; 2],
    margin_mm: [f64; 2],
    gap_mm: [f64; 2],
}

impl Grid {
    /// The grid without parameters: A4.
    const DEFAULT: Grid =
        Grid { page_mm: [210.0, 297.0], count: [3, 8], margin_mm: [10.0; 2], gap_mm: [3.0; 2] };

    /// Returns the place of a label by its number on the page.
    fn cell(&self, index: usize) -> [f64; 4] {
        let Grid { page_mm, count, margin_mm, gap_mm } = *self;
        let place = [index % count[0], index / count[0]];
        let side = |axis: usize| {
            let gaps = gap_mm[axis] * (count[axis] - 1) as f64;
            (page_mm[axis] - 2.0 * margin_mm[axis] - gaps) / count[axis] as f64
        };
        let start =
            |axis: usize| margin_mm[axis] + place[axis] as f64 * (side(axis) + gap_mm[axis]);
        [start(0), start(1), side(0), side(1)]
    }
}

#[test]
fn every_label_is_in_its_place_with_its_caption() {
    let service = start(&[]);
    let caption = |i: usize| format!("N\u{ba} {i} – Größe (€) \\");
    let items: Vec<Value> = (0..29)
        .map(|i| json!({"text": format!("label {i}"), "caption": caption(i), "level": "Q"}))
        .collect();
    let answer = post(service.addr, "?boost=true", &items);
    assert_eq!(answer.status, 200, "{}", answer.text());
    assert_eq!(answer.header("content-type"), Some("application/pdf"));
    assert_eq!(answer.header("cache-control"), Some("no-store"));
    let pages = pages(&answer.body);
    assert_eq!(pages.len(), 2);
    for i in 0..29 {
        let drawn = cut(&pages[i / 24], Grid::DEFAULT.cell(i % 24));
        let code = read(&drawn, "qr").unwrap_or_else(|| panic!("label {i}"));
        assert_eq!(code.text(), format!("label {i}"));
        // 21 modules and two quiet zones of 4 in the middle, above a line of 8 points.
        let [_, _, width, height] = Grid::DEFAULT.cell(0);
        let module = (height - 1.4 * 8.0 * 25.4 / 72.0) / 29.0;
        let expected = [width / 2.0 - 10.5 * module, 4.0 * module];
        let corner = code.position().top_left;
        for (px, mm) in [corner.x, corner.y].into_iter().zip(expected) {
            let off = (f64::from(px) - mm * DPI / 25.4).abs();
            assert!(off < 4.0, "{i}: {corner:?} {expected:?} mm");
        }
    }
    let next = cut(&pages[1], Grid::DEFAULT.cell(5));
    assert!(next.grey.iter().all(|grey| *grey == 255), "the next place is empty");
    for i in [0, 1, 23, 24, 28] {
        let [left, top, width, height] = Grid::DEFAULT.cell(i % 24).map(|mm| mm * 72.0 / 25.4);
        let area = [("-x", left), ("-y", top), ("-W", width), ("-H", height)];
        let page = (i / 24 + 1).to_string();
        let mut args = vec!["-f", &page, "-l", &page];
        let area = area.map(|(flag, points)| (flag, (points.round() as u32).to_string()));
        area.iter().for_each(|(flag, points)| args.extend([*flag, points]));
        let text = String::from_utf8(poppler("pdftotext", &args, &answer.body)).unwrap();
        assert_eq!(text.trim(), caption(i));
    }
}

#[test]
fn a_page_of_any_size_is_filled_by_symbols_of_every_kind() {
    let service = start(&[]);
    for (query, page_mm, count, margin_mm, gap_mm) in [
        ("page=letter&rows=2&columns=2", [215.9, 279.4], [2, 2], [10.0; 2], [3.0; 2]),
        (
            "page=62.5x29&rows=1&columns=1&page_margin_x_mm=0&page_margin_y_mm=1",
            [62.5, 29.0],
            [1, 1],
            [0.0, 1.0],
            [3.0; 2],
        ),
        (
            "page=297x210&rows=3&columns=5&gap_x_mm=0&gap_y_mm=10.5",
            [297.0, 210.0],
            [5, 3],
            [10.0; 2],
            [0.0, 10.5],
        ),
    ] {
        let grid = Grid { page_mm, count, margin_mm, gap_mm };
        let kinds = ["qr", "micro", "rmqr"];
        let items = kinds.map(|kind| json!({"text": "12345", "kind": kind, "caption": null}));
        let answer = post(service.addr, &format!("?{query}"), &items);
        assert_eq!(answer.status, 200, "{}", answer.text());
        let (pages, per_page) = (pages(&answer.body), count[0] * count[1]);
        assert_eq!(pages.len(), items.len().div_ceil(per_page), "{query}");
        let near = |px: u32, mm: f64| (f64::from(px) - mm * DPI / 25.4).abs() < 1.0;
        assert!(near(pages[0].width, page_mm[0]) && near(pages[0].height, page_mm[1]), "{query}");
        for (i, kind) in kinds.into_iter().enumerate() {
            let drawn = cut(&pages[i / per_page], grid.cell(i % per_page));
            let code = read(&drawn, kind).unwrap_or_else(|| panic!("{query} {kind}"));
            assert_eq!(code.text(), "12345", "{query} {kind}");
        }
    }
}

/// A product: preset, page, columns and rows, the first label's place, and the distance to the next ones. Lengths are
/// in millimetres.
type Sold = (&'static str, [f64; 2], [usize; 2], [f64; 4], [f64; 2]);

#[test]
fn labels_are_where_those_that_are_sold_are() {
    let service = start(&[]);
    let (a4, letter) = ([210.0, 297.0], [215.9, 279.4]);
    // Taken from the makers' templates.
    let sold: [Sold; 6] = [
        ("5160", letter, [3, 10], [4.76, 12.7, 66.68, 25.4], [69.85, 25.4]),
        ("avery-5167", letter, [4, 20], [7.14, 12.7, 44.45, 12.7], [52.39, 12.7]),
        ("L7160", a4, [3, 7], [7.21, 15.15, 63.5, 38.1], [66.04, 38.1]),
        ("Avery l7163", a4, [2, 7], [4.65, 15.15, 99.1, 38.1], [101.64, 38.1]),
        ("L4731", a4, [7, 27], [8.48, 13.5, 25.4, 10.0], [27.94, 10.0]),
        ("L7651", a4, [5, 13], [4.67, 10.7, 38.1, 21.2], [40.64, 21.2]),
    ];
    for (preset, page_mm, [columns, rows], [left, top, width, height], [dx, dy]) in sold {
        let count = columns * rows;
        let items: Vec<Value> = (0..3).map(|i| json!({"text": format!("{i}")})).collect();
        // The last two places of the first page, and the first of the second.
        let query = format!("?preset={}&first_label={}", preset.replace(' ', "%20"), count - 1);
        let answer = post(service.addr, &query, &items);
        assert_eq!(answer.status, 200, "{preset} {}", answer.text());
        let pages = pages(&answer.body);
        assert_eq!(pages.len(), 2, "{preset}");
        let near = |px: u32, mm: f64| (f64::from(px) - mm * DPI / 25.4).abs() < 1.5;
        assert!(near(pages[0].width, page_mm[0]) && near(pages[0].height, page_mm[1]), "{preset}");
        for (i, (page, place)) in [(0, count - 2), (0, count - 1), (1, 0)].into_iter().enumerate() {
            let (x, y) = ((place % columns) as f64, (place / columns) as f64);
            let cell = [left + x * dx, top + y * dy, width.min(page_mm[0] - left - x * dx), height];
            let drawn = cut(&pages[page], cell);
            let code = read(&drawn, "qr").unwrap_or_else(|| panic!("{preset} {i}"));
            assert_eq!(code.text(), i.to_string(), "{preset}");
        }
    }
}

#[test]
fn a_sheet_is_printed_as_it_is_and_moved_as_asked() {
    let service = start(&[]);
    let items = [json!({"text": "1"}), json!({"text": "2"})];
    let corner = |query: &str| {
        let answer = post(service.addr, query, &items);
        assert_eq!(answer.status, 200, "{}", answer.text());
        let pdf = String::from_utf8_lossy(&answer.body);
        assert!(pdf.contains("/PrintScaling/None"), "{query}");
        let page = pages_at(300.0, &answer.body).remove(0);
        let mut codes = read_all(&page, "qr");
        codes.sort_by_key(|code| code.text());
        let corner = codes[1].position().top_left;
        [corner.x, corner.y].map(|px| f64::from(px) / 300.0 * 25.4)
    };
    let [x, y] = corner("?preset=L7160");
    for (query, expected) in [
        ("&shift_x_mm=2.5&shift_y_mm=-1.5", [x + 2.5, y - 1.5]),
        ("&scale_x=1.02&scale_y=0.98", [x * 1.02, y * 0.98]),
        ("&scale_x=0.99&shift_x_mm=-1", [x * 0.99 - 1.0, y]),
    ] {
        let moved = corner(&format!("?preset=L7160{query}"));
        let off = (moved[0] - expected[0]).abs().max((moved[1] - expected[1]).abs());
        assert!(off < 0.2, "{query}: {moved:?}, not {expected:?}");
    }
    let faults = post(service.addr, "?shift_x_mm=21&scale_y=0.5", &items).faults();
    assert_eq!(faults, ["scale_y out-of-range", "shift_x_mm out-of-range"]);
}

#[test]
fn a_test_sheet_has_frames_and_rulers_and_labels_can_have_crop_marks() {
    let service = start(&[]);
    let is_dark = |page: &Picture, [x, y]: [f64; 2]| {
        let px = |mm: f64| (mm * 300.0 / 25.4) as i64;
        let near = (-2..=2).flat_map(|dx| (-2..=2).map(move |dy| (px(x) + dx, px(y) + dy)));
        let grey = |(x, y): (i64, i64)| page.grey[(y * i64::from(page.width) + x) as usize];
        near.map(grey).any(|grey| grey < 160)
    };
    // Without a body; the upper left label is at 7.21 and 15.15 mm.
    let answer = post_many(service.addr, "/v1/labels?preset=L7160&calibrate=true", "text/csv", b"");
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/pdf")));
    let sheet = pages_at(300.0, &answer.body).remove(0);
    for (at, dark) in [
        ([7.21, 30.0], true),
        ([30.0, 15.15], true),
        ([7.21 + 63.5, 30.0], true),
        ([30.0, 30.0], false),
        // Ticks, of which those at 10 mm are longer.
        ([83.0, 147.0], true),
        ([80.0, 145.2], true),
        ([83.0, 145.2], false),
        ([106.0, 33.0], true),
        ([108.5, 40.0], true),
    ] {
        assert_eq!(is_dark(&sheet, at), dark, "{at:?}");
    }
    let items = [json!({"text": "1"}), json!({"text": "2"})];
    for (query, dark) in [("?preset=L7160", false), ("?preset=L7160&crop_marks=true", true)] {
        let page = pages_at(300.0, &post(service.addr, query, &items).body).remove(0);
        for at in [[6.0, 15.15], [7.21, 14.0], [7.21 + 64.5, 15.15 + 38.1]] {
            assert_eq!(is_dark(&page, at), dark, "{query} {at:?}");
        }
        assert_eq!(read_all(&page, "qr").len(), 2);
    }
    let wrong = post_many(service.addr, "/v1/labels?calibrate=true&rows=0", "text/csv", b"");
    assert_eq!((wrong.status, wrong.faults()), (400, vec!["rows out-of-range".to_owned()]));
}

#[test]
fn a_caption_beside_its_symbol_has_lines() {
    let service = start(&[]);
    let caption = "Inventory of the third floor, room 3.14, shelf B";
    let items = [json!({"text": "label", "caption": caption})];
    let answer = post(service.addr, "?preset=5160&caption_at=beside", &items);
    assert_eq!(answer.status, 200, "{}", answer.text());
    let page = &pages(&answer.body)[0];
    // The symbol takes the whole height of the label.
    let symbol = cut(page, [4.8, 12.7, 25.4, 25.4]);
    assert_eq!(read(&symbol, "qr").unwrap().text(), "label");
    let text = String::from_utf8(poppler("pdftotext", &["-layout"], &answer.body)).unwrap();
    let lines: Vec<&str> = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    assert!(lines.len() > 1, "{text}");
    assert_eq!(lines.join(" "), caption);
    let beyond = cut(page, [4.8 + 66.7, 12.7, 3.0, 25.4]);
    assert!(beyond.grey.iter().all(|grey| *grey == 255), "the gap is empty");
    for (caption, code) in [("word ".repeat(40), "too-long"), ("W".repeat(40), "too-long")] {
        let items = [json!({"text": "label", "caption": caption.trim()})];
        let answer = post(service.addr, "?preset=5160&caption_at=beside", &items);
        assert_eq!(answer.faults(), [format!("items[0].caption {code}")]);
    }
}

#[test]
fn the_caption_of_a_small_label_leaves_most_of_it_to_the_symbol() {
    let service = start(&[]);
    let query = "?page=30x10&rows=1&columns=1&page_margin_x_mm=0&page_margin_y_mm=0";
    let answer = post(service.addr, query, &[json!({"text": "label", "caption": "7"})]);
    let page = &pages(&answer.body)[0];
    let corners = read(page, "qr").unwrap().position();
    let side = f64::from(corners.bottom_right.x - corners.top_left.x) / DPI * 25.4;
    // Of 10 mm, 8 are left; 21 of the 29 modules are not quiet zone.
    assert!((side - 8.0 * 21.0 / 29.0).abs() < 0.4, "{side}");
}

#[test]
fn three_pages_are_sent_whole_or_not_at_all() {
    let service = start(&[]);
    let table = |last: &str| {
        let rows: String = (0..59).map(|i| format!("{i},no. {i}\n")).collect();
        format!("text,caption\n{rows}{last},last\n")
    };
    let post = |table: String| {
        let target = "/v1/labels?rows=5&columns=5&caption_pt=5";
        post_in_time(service.addr, target, "text/csv", table.as_bytes())
    };
    let sheet = post(table("59"));
    assert_eq!(sheet.status, 200, "{}", sheet.text());
    let text = String::from_utf8(poppler("pdftotext", &["-raw"], &sheet.body)).unwrap();
    assert!(text.contains("no. 58") && text.trim_end().ends_with("last"), "{text}");
    assert_eq!(text.matches("no. ").count(), 59);
    assert_eq!(text.matches('\x0c').count(), 3, "pages");
    let answer = post(table(&"a".repeat(3000)));
    assert_eq!((answer.status, answer.faults()), (422, vec!["items[59].text too-long".to_owned()]));
}

#[test]
fn the_description_has_the_sheet_with_the_limits_that_hold() {
    let service = start(&[]);
    assert_eq!(get(service.addr, "/v1/labels").header("allow"), Some("POST"));
    assert_eq!(post_many(service.addr, "/v1/labels", "text/plain", b"a").status, 415);
    let document = get(service.addr, "/v1/openapi.json").json();
    let post_of = &document["paths"]["/v1/labels"]["post"];
    let body = &post_of["requestBody"]["content"]["application/json"]["schema"]["items"];
    assert_eq!(body["$ref"], "#/components/schemas/Options");
    let label = &document["components"]["schemas"]["Options"]["properties"];
    assert!(label["caption"].is_object() && label["text"].is_object(), "{label}");
    let parameters = post_of["parameters"].as_array().unwrap();
    let names = "page rows columns page_margin_x_mm page_margin_y_mm gap_x_mm gap_y_mm caption_pt \
        preset first_label";
    for name in names.split(' ') {
        let described = parameters.iter().find(|it| it["name"] == name);
        let schema = &described.unwrap_or_else(|| panic!("{name}"))["schema"];
        let above = match schema["maximum"].as_f64() {
            Some(most) => (most + 1.0).to_string(),
            None => "a".repeat(schema["maxLength"].as_u64().unwrap() as usize + 1),
        };
        let answer = post(service.addr, &format!("?{name}={above}"), &[json!({"text": "a"})]);
        assert_eq!(answer.faults(), [format!("{name} out-of-range")]);
    }
}
