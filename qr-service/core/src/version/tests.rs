use super::*;

#[test]
fn capacities_are_those_of_table_7() {
    assert_eq!(data_codewords(1, Level::L), 19);
    assert_eq!(data_codewords(3, Level::L), 55);
    assert_eq!(data_codewords(15, Level::L), 523);
    assert_eq!(data_codewords(40, Level::L), 2956);
    assert_eq!(data_codewords(40, Level::H), 1276);
}

#[test]
fn alignment_centres_are_those_of_annex_e() {
    let centres =
        |v| (0..alignments_per_side(v)).map(|i| alignment_centre(v, i)).collect::<Vec<_>>();
    assert!(centres(1).is_empty());
    assert_eq!(centres(2), [6, 18]);
    assert_eq!(centres(7), [6, 22, 38]);
    assert_eq!(centres(15), [6, 26, 48, 70]);
    assert_eq!(centres(16), [6, 26, 50, 74]);
    assert_eq!(centres(32), [6, 34, 60, 86, 112, 138]);
    assert_eq!(centres(36), [6, 24, 50, 76, 102, 128, 154]);
    assert_eq!(centres(40), [6, 30, 58, 86, 114, 142, 170]);
}

#[test]
fn format_and_version_information_are_those_of_annexes_c_and_d() {
    assert_eq!(format_bits(Level::M, 5), 0b100_0000_1100_1110);
    assert_eq!(version_bits(7), 0b00_0111_1100_1001_0100);
}
