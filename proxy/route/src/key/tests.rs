use super::*;

#[test]
fn a_key_displays_as_the_text_it_was_parsed_from() {
    for (text, variable, may_be_missing) in [
        ("request", "request_id", false),
        ("client", "remote_addr", false),
        ("query", "args", false),
        ("parameter:text", "arg_text", true),
        ("header:X-User-Id", "http_x_user_id", true),
        ("cookie:A_1", "cookie_A_1", true),
    ] {
        let key = text.parse::<Key>().expect(text);
        assert_eq!((key.to_string(), key.variable()), (text.to_owned(), variable.to_owned()));
        assert_eq!(key.may_be_missing(), may_be_missing, "{text}");
    }
    for text in
        ["", "text", "$args", "cookie:", "cookie:a-b", "parameter:a-b", "cookie:a\"b", "header:a b"]
    {
        let error = text.parse::<Key>().expect_err(text).to_string();
        assert!(error.contains(&format!("{text:?}")), "{error}");
    }
}
