use super::*;

#[test]
fn texts_have_the_lengths_that_the_table_says() {
    for (input, bytes) in INPUTS.iter().zip([3, 53, 200, 512]) {
        assert!(input.texts().iter().all(|text| text.len() == bytes), "{}", input.name);
    }
}
