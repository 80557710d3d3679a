use super::*;

/// Clients' caches hold tags, so a tag changes only with [`qr_core::OUTPUT_VERSION`].
#[test]
fn tags_of_an_output_version_stay() {
    assert_eq!(qr_core::OUTPUT_VERSION, 1, "add the tag of the new version here");
    assert_eq!(Tags::new(Engine::Default).of("a"), "\"42caf20920714142\"");
}
