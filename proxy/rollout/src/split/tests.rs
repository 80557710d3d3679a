use super::*;

#[test]
fn a_rendered_split_parses_to_itself() {
    let route = Route::parse("a-b", "path = \"/a\"").expect("a route");
    for share in ["0", "0.01", "25", "99.99", "100"] {
        for key in ["parameter:text", "client", "request", "query", "cookie:user", "header:X-A"] {
            let wanted = SplitChange {
                share: Some(share.parse().expect("a share")),
                key: Some(key.parse().expect("a key")),
                mirror: Some(share.parse().expect("a share")),
                held: Some(share == "25"),
            };
            let split = Split::first(&route).with(&wanted);
            assert_eq!(Split::parse(&split.render("a-b")), Some(split), "{share} {key}");
        }
    }
    assert_eq!(Split::parse("split_clients \"$arg_text\" $a_split { * new; }"), None);
}

#[test]
fn a_route_is_ramped_while_both_sides_have_a_share_or_a_run_holds_it() {
    let split = Split::first(&Route::parse("a", "path = \"/a\"").expect("a route"));
    let of = |split: &Split, share| split.with(&SplitChange::share(share));
    let half = of(&split, Share::percent(50).expect("a share"));
    assert!(half.is_ramped() && !of(&half, Share::ALL).is_ramped());
    assert!(!of(&half, Share::NONE).is_ramped());
    let held = half.with(&SplitChange { held: Some(true), ..SplitChange::share(Share::ALL) });
    assert!(held.is_ramped() && held.render("a").contains("map \"\" $a_ramped { default 1; }"));
    let mirrored = held.with(&SplitChange { mirror: Some(Share::NONE), ..SplitChange::default() });
    assert!(mirrored.is_ramped() && !of(&held, Share::ALL).is_ramped());
}
