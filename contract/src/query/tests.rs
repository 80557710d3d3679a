use super::*;
use proptest::prelude::*;

fn parse(query: &str) -> Result<String, QueryError> {
    let mut buffer = [0; MAX_TEXT_BYTES];
    parse_text(query.as_bytes(), &mut buffer).map(str::to_owned)
}

#[test]
fn plus_is_a_space_and_escapes_are_decoded_once() {
    assert_eq!(parse("text=a+b%2Bc%2541").unwrap(), "a b+c%41");
}

#[test]
fn raw_sub_delimiters_belong_to_the_text() {
    assert_eq!(
        parse("text=https://example.com/?t=all;x,y!").unwrap(),
        "https://example.com/?t=all;x,y!"
    );
}

#[test]
fn an_empty_text_is_missing_and_a_second_text_is_refused() {
    for query in
        ["", "text", "text=", "text=&text=", "x=1", "text[x]=1", "Text=a", "text%=a", "=a", "&&"]
    {
        assert_eq!(parse(query), Err(QueryError::Missing), "{query}");
    }
    for query in
        ["text=a&text=b", "text=a&text=", "text=&text=a", "text=%&text=", "te%78t=a&text=a"]
    {
        assert_eq!(parse(query), Err(QueryError::Repeated), "{query}");
    }
    assert_eq!(parse("x=%&%74ext=a&y").unwrap(), "a");
}

#[test]
fn text_that_is_not_utf8_is_refused() {
    for text in ["%", "%4", "%G1", "a%", "%FF", "%ED%A0%80", "%C0%AF", "%E2%82", "%+1", "%-1"] {
        assert_eq!(parse(&format!("text={text}")), Err(QueryError::NotUtf8), "{text}");
    }
}

#[test]
fn text_of_512_bytes_is_accepted_and_text_of_513_is_refused() {
    assert_eq!(parse(&format!("text={}", "%C3%A9".repeat(256))).unwrap(), "é".repeat(256));
    assert_eq!(parse(&format!("text={}", "a".repeat(513))), Err(QueryError::TooLong));
    assert_eq!(parse(&format!("text={}%", "a".repeat(600))), Err(QueryError::NotUtf8));
    assert_eq!(parse(&format!("text={}%FF", "a".repeat(600))), Err(QueryError::NotUtf8));
}

proptest! {
    #[test]
    fn any_text_comes_back_from_its_encoding(text in "\\PC{1,100}|[\\x00-\\x7f]{1,200}") {
        let encoded = percent_encoding::utf8_percent_encode(&text, percent_encoding::NON_ALPHANUMERIC);
        let expected = if text.len() <= MAX_TEXT_BYTES { Ok(text.clone()) } else { Err(QueryError::TooLong) };
        prop_assert_eq!(parse(&format!("a=1&text={encoded}&b")), expected);
    }

    #[test]
    fn no_bytes_make_it_panic(query in proptest::collection::vec(any::<u8>(), 0..2000)) {
        let mut buffer = [0; MAX_TEXT_BYTES];
        if let Ok(text) = parse_text(&query, &mut buffer) {
            prop_assert!(!text.is_empty());
        }
    }
}
