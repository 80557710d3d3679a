use super::*;

#[test]
fn every_notation_is_read_and_written_back() {
    for (text, shown) in [
        ("000", "#000000"),
        ("#FfF", "#ffffff"),
        ("0000", "#00000000"),
        ("#1a2B3c", "#1a2b3c"),
        ("1a2b3c4d", "#1a2b3c4d"),
        ("1a2b3cff", "#1a2b3c"),
        ("255-0-7", "#ff0007"),
    ] {
        let color: Color = text.parse().unwrap();
        assert_eq!(color.to_string(), shown);
        assert_eq!(shown.parse(), Ok(color));
    }
}

#[test]
fn what_is_no_colour_is_refused() {
    for text in [
        "",
        "#",
        "12",
        "12345",
        "1234567",
        "123456789",
        "ggg",
        "##fff",
        "+ff",
        "é00",
        "0-0",
        "0-0-256",
        "0-0-0-0",
        "-1-0-0",
        "0-+1-0",
        "0--0",
        "red",
    ] {
        assert_eq!(text.parse::<Color>(), Err(Error::Color), "{text}");
    }
}
