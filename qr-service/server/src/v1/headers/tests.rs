use super::*;

fn accept(value: &'static str) -> Option<Format> {
    accepted(&HeaderMap::from_iter([(ACCEPT, HeaderValue::from_static(value))]))
}

#[test]
fn accept_chooses_the_format_that_it_likes_best() {
    assert_eq!(accepted(&HeaderMap::new()), Some(Format::Png));
    for (value, format) in [
        ("*/*", Some(Format::Png)),
        ("image/*", Some(Format::Png)),
        ("image/svg+xml", Some(Format::Svg)),
        ("image/avif,image/webp,image/*,*/*;q=0.8", Some(Format::Png)),
        ("image/png;q=0.5, application/json", Some(Format::Json)),
        ("*/*;q=0.1, application/pdf;q=0.2", Some(Format::Pdf)),
        ("image/png;q=0, image/*", Some(Format::Svg)),
        ("text/*", Some(Format::Txt)),
        ("image/webp", None),
        ("image/png;q=0", None),
    ] {
        assert_eq!(accept(value), format, "{value}");
    }
}

#[test]
fn a_file_name_beyond_ascii_is_given_twice() {
    assert_eq!(disposition("a b.png").unwrap(), "attachment; filename=\"a b.png\"");
    assert_eq!(
        disposition("ü.png").unwrap(),
        "attachment; filename=\"_.png\"; filename*=UTF-8''%C3%BC.png"
    );
}
