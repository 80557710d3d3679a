use super::*;

#[test]
fn a_key_displays_as_the_text_it_was_parsed_from() {
    for (text, variable) in [
        ("request", "request_id"),
        ("client", "remote_addr"),
        ("query", "args"),
        ("parameter:text", "arg_text"),
        ("header:X-User-Id", "http_x_user_id"),
        ("cookie:A_1", "cookie_A_1"),
    ] {
        let key = text.parse::<Key>().expect(text);
        assert_eq!((key.to_string(), key.variable()), (text.to_owned(), variable.to_owned()));
    }
    for text in ["", "text", "$args", "cookie:", "cookie:a-b", "cookie:a\"b", "header:a b"] {
        let error = text.parse::<Key>().expect_err(text).to_string();
        assert!(error.contains(&format!("{text:?}")), "{error}");
    }
}
