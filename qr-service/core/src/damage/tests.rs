use super::*;
use crate::{Encoder, Level};

#[test]
fn the_largest_centred_squares_are_those_of_other_implementations() {
    let largest = |version: u8, level: Level| {
        let encoder = Encoder::new(level).versions(version..=version);
        let symbol = encoder.encode("A").unwrap();
        let fits = |side: &usize| {
            let start = (symbol.size() - side) / 2;
            let damage = symbol.damage(start..start + side, start..start + side);
            damage.iter().all(|block| block.touched <= block.correctable)
        };
        (1..symbol.size()).step_by(2).take_while(fits).last().unwrap()
    };
    for (version, sides) in [(4, [7, 7, 11, 13]), (10, [15, 19, 25, 27]), (20, [27, 33, 39, 39])] {
        assert_eq!(Level::ALL.map(|level| largest(version, level)), sides, "version {version}");
    }
}

#[test]
fn the_whole_symbol_touches_every_codeword_of_every_block() {
    for version in 1..=40 {
        for level in Level::ALL {
            let encoder = Encoder::new(level).versions(version..=version);
            let symbol = encoder.encode("A").unwrap();
            let damage = symbol.damage(0..177, 0..177);
            let of = blocks(version, level);
            for (block, damage) in damage.iter().enumerate() {
                let is_long = block >= of.count - of.long_count;
                assert_eq!(damage.touched, of.short_len + usize::from(is_long) + of.ec_len);
            }
            assert_eq!(symbol.damage(0..9, 0..9).iter().map(|it| it.touched).sum::<usize>(), 0);
        }
    }
}
