use super::huffman::Codes;
use super::prepared::{PREPARED, lengths_of_version, limits};
use super::*;
use crate::{Level, encode};

#[test]
fn the_start_of_the_services_picture_is_as_it_would_be_written() {
    let mut start = SIGNATURE.to_vec();
    write_header(Raster::SERVICE.size_px, &mut start);
    start.extend_from_slice(b"\0\0\0\0IDAT\x78\x01");
    assert_eq!(start, SERVICE_START);
}

/// The tables give what the writer of all other pictures writes with the same codes and limits: literals, matches and
/// both checksums. Runs of equal letters give rows that equal the one before.
#[test]
fn the_services_picture_is_that_of_the_writer_for_all_sizes() {
    let mut state = 1_u64;
    let mut random = |below: usize| {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        (state >> 33) as usize % below
    };
    let mut compared = [0; PREPARED.len()];
    for number in 0..3000 {
        let (len, letters) = (1 + random(if number % 3 == 0 { 512 } else { 100 }), 1 + random(52));
        let text: String = (0..len).map(|_| char::from(b'A' + random(letters) as u8)).collect();
        let symbol = encode(&text, Level::ALL[random(4)]).unwrap();
        let Some(prepared) = PREPARED.get(usize::from(symbol.version) - 1) else { continue };
        let codes = Codes::new(&lengths_of_version(symbol.version));
        let [mut picture, mut expected] = [b"before".to_vec(), b"before".to_vec()];
        prepared.write(&symbol, &mut picture);
        let layout = Raster::SERVICE.layout(symbol.size()).unwrap();
        let mut elements = Elements::new();
        let sum = describe::<SMALL, _>(&symbol, &layout, limits(&layout), &mut elements);
        write_picture(&layout, &elements, &codes, sum, &mut expected);
        assert_eq!(picture, expected, "{text}");
        compared[usize::from(symbol.version) - 1] += 1;
    }
    assert!(compared.iter().all(|count| *count > 20), "{compared:?}");
}
