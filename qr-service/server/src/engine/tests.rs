use super::*;

#[cfg(not(feature = "reference"))]
#[test]
fn a_build_without_the_reference_says_so() {
    assert_eq!("default".parse(), Ok(Engine::Default));
    let error = "reference".parse::<Engine>().unwrap_err();
    assert_eq!(error, "this build lacks it; build with --features reference");
}

#[cfg(feature = "reference")]
#[test]
fn the_reference_draws_another_picture() {
    let draw = |name: &str| {
        let mut png = Vec::new();
        name.parse::<Engine>().unwrap().generate("a", &mut png).unwrap();
        png
    };
    assert_ne!(draw("default"), draw("reference"));
}
