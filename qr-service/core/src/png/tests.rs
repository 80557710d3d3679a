use super::huffman::{DISTANCES, LITERALS, MISSING};
use super::*;
use crate::{Level, encode};

/// Pictures of versions 1 to 15.
fn symbols() -> impl Iterator<Item = Symbol> {
    (1..=512).step_by(17).map(|len| encode(&"aB".repeat(len)[..len], Level::L).unwrap())
}

#[test]
fn the_header_of_the_services_picture_is_as_it_would_be_written() {
    let mut header = Vec::new();
    write_header(Raster::SERVICE.size_px, &mut header);
    assert_eq!(header, SERVICE_HEADER);
}

#[test]
fn streams_with_prepared_codes_are_far_shorter_than_a_missing_code_makes_them() {
    for symbol in symbols() {
        let layout = Raster::SERVICE.layout(symbol.size()).unwrap();
        let codes = &CODES[usize::from(symbol.version) - 1];
        let mut png = Vec::new();
        let len = write_picture::<SERVICE>(&symbol, &layout, codes, limits(&layout), &mut png);
        assert!(len < MISSING_BYTES / 2, "{len} bytes");
    }
}

#[test]
fn a_picture_that_needs_a_missing_code_has_codes_of_its_own() {
    let mut fallbacks = 0;
    for symbol in symbols() {
        let layout = Raster::SERVICE.layout(symbol.size()).unwrap();
        let [mut prepared, mut own] = [b"before".to_vec(), b"before".to_vec()];
        write_png(&symbol, &Raster::SERVICE, &mut prepared).unwrap();
        write_with_own_codes::<SMALL>(&symbol, &layout, &mut own);
        let codes = &CODES[usize::from(symbol.version) - 1];
        for missing in 0..LITERALS + DISTANCES {
            let (mut literals, mut distances) = (codes.literals, codes.distances);
            match literals.get_mut(missing) {
                Some(code) => *code = MISSING,
                None => distances[missing - LITERALS] = MISSING,
            }
            let codes = Codes { literals, distances, header: codes.header.clone(), ..*codes };
            let mut png = b"before".to_vec();
            write_with_prepared_codes(&symbol, &layout, &codes, &mut png);
            assert!(png == prepared || png == own, "without symbol {missing}");
            fallbacks += usize::from(png != prepared);
        }
        // Without the code for the end of a block.
        let mut literals = codes.literals;
        literals[256] = MISSING;
        let codes = Codes { literals, header: codes.header.clone(), ..*codes };
        let mut png = b"before".to_vec();
        write_with_prepared_codes(&symbol, &layout, &codes, &mut png);
        assert_eq!(png, own);
    }
    assert!(fallbacks > 100, "{fallbacks}");
}
