//! Tests QuickChart's captions.

use std::collections::BTreeSet;

use base64::Engine as _;
use serde_json::json;

use crate::pictures::seen;
use crate::quickchart::{ON, batch, qr};
use crate::support::{Answer, files_of, post_json, start};

/// Looks for pixels at or below row `from` whose colour differs from the picture's first pixel. Returns their rows,
/// their colours, and the free pixels to the left and to the right of them.
fn words_below(answer: &Answer, from: u32) -> (Vec<u32>, BTreeSet<[u8; 4]>, [u32; 2]) {
    let image = image::load_from_memory(&answer.body).unwrap().into_rgba8();
    let light = *image.get_pixel(0, 0);
    let inked = || image.enumerate_pixels().filter(|(_, y, it)| *y >= from && **it != light);
    let rows: BTreeSet<u32> = inked().map(|(_, y, _)| y).collect();
    let columns = || inked().map(|(x, _, _)| x);
    let sides = [columns().min().unwrap(), image.width() - 1 - columns().max().unwrap()];
    (rows.into_iter().collect(), inked().map(|(_, _, it)| it.0).collect(), sides)
}

#[test]
fn a_caption_is_drawn_below_the_code() {
    let service = start(&ON);
    let plain = qr(service.addr, "text=hello&size=200");
    for (query, same) in [
        ("caption=", "text=hello&size=200"),
        ("caption=%20", "text=hello&size=200"),
        ("caption=Hi&captionFontSize=x", "text=hello&size=200&caption=Hi"),
        (
            "caption=Hi&captionFontFamily=serif&captionFontColor=%23000",
            "text=hello&size=200&caption=Hi",
        ),
    ] {
        let answer = qr(service.addr, &format!("text=hello&size=200&{query}"));
        assert_eq!(answer.body, qr(service.addr, same).body, "{query}");
    }
    let answer =
        qr(service.addr, "text=hello&size=200&caption=Gr%C3%B6%C3%9Fe%20%E2%82%AC%20%D0%96");
    assert_eq!(answer.header("content-type"), Some("image/png"));
    // Half the font size is free above and below a line.
    assert_eq!(seen(&answer), (200, 223, "hello".to_owned()));
    let (picture, with_caption) = [&plain, &answer]
        .map(|answer| image::load_from_memory(&answer.body).unwrap().into_rgba8())
        .into();
    assert!(picture.enumerate_pixels().all(|(x, y, pixel)| with_caption.get_pixel(x, y) == pixel));
    let (rows, colors, [left, right]) = words_below(&answer, 200);
    assert!((205..215).contains(&rows[0]) && rows.len() >= 8, "{rows:?}");
    // In so small a font, strokes are too thin to cover a whole pixel.
    assert!(colors.iter().any(|color| color[0] < 80), "{colors:?}");
    assert!(left.abs_diff(right) < 3, "{left}, {right}");

    // Words that do not fit into a line begin the next, as words after a line break do.
    let lines = |caption: &str| {
        let query = format!("text=hello&size=200&captionFontSize=20&caption={caption}");
        let answer = qr(service.addr, &query);
        (seen(&answer).1 - 220) as f64 / 25.0
    };
    let counts =
        ["one", "one%0Atwo", "one%0A%0Atwo", "These%20words%20fill%20more%20than%20one%20line"];
    assert_eq!(counts.map(lines), [1.0, 2.0, 3.0, 2.0]);

    // Without a margin, four modules of 14 pixels are free between the code and the words.
    let (rows, ..) = words_below(&qr(service.addr, "text=hello&size=300&margin=0&caption=Hi"), 300);
    assert!(rows[0] >= 300 + 4 * 14, "{rows:?}");

    let colored =
        "caption=Below&captionFontSize=24&captionFontColor=rebeccapurple&light=ffe&dark=036";
    let (_, colors, _) = words_below(&qr(service.addr, &format!("text=hello&{colored}")), 150);
    assert!(colors.contains(&[0x66, 0x33, 0x99, 255]), "{colors:?}");
    let transparent = qr(service.addr, "text=hello&caption=Below&light=0000");
    assert_eq!(seen(&transparent).2, "hello");
    let (_, colors, _) = words_below(&transparent, 150);
    assert!(colors.iter().all(|color| color[..3] == [0, 0, 0]), "{colors:?}");
}

#[test]
fn a_code_with_a_caption_can_be_read_in_every_style() {
    let service = start(&ON);
    for style in [
        "margin=0&captionFontSize=40",
        "margin=1&captionFontColor=fff&light=ffe",
        "dotStyle=dot&finderStyle=circle&finderColor=900",
        "format=jpg",
        "format=jpeg&dotStyle=rounded&margin=2",
        "size=600&captionFontSize=80",
        "size=500&format=jpg&captionFontSize=100",
        "ecLevel=H&size=60&captionFontSize=7",
    ] {
        // Only the first `size` counts.
        let query = format!("text=hello&caption=Below%20it&{style}&size=300");
        let answer = qr(service.addr, &query);
        let (width, height, text) = seen(&answer);
        assert!(text == "hello" && height > width, "{style}: {width} x {height}, {text}");
    }
    let answer = qr(service.addr, "text=hello&caption=Below&format=base64");
    let png = base64::engine::general_purpose::STANDARD.decode(&answer.body).unwrap();
    assert_eq!(png, qr(service.addr, "text=hello&caption=Below").body);
    let posted = post_json(service.addr, "/qr", &json!({"text": "hello", "caption": "Below"}));
    assert_eq!(posted.body, png);
    let codes = json!([{"text": "hello", "caption": "Below", "filename": "a"}]);
    assert_eq!(files_of(&batch(service.addr, &codes).body), [("a.png".to_owned(), png)]);
    let validated =
        post_json(service.addr, "/api/validate-qr", &json!({"text": "a", "caption": "漢"}));
    assert_eq!(validated.status, 400);
}
