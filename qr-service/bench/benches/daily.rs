//! Benchmarks for daily work on qr-core: `cargo bench -p qr-bench`, or `-- url` for one input.

use divan::Bencher;
use qr_bench::inputs::INPUTS;
use qr_core::{Level, Raster, encode, write_png};

fn main() {
    divan::main();
}

fn names() -> impl Iterator<Item = &'static str> {
    INPUTS.iter().map(|input| input.name)
}

fn texts(name: &str) -> impl FnMut() -> String {
    let texts: Vec<String> =
        INPUTS.iter().filter(|input| input.name == name).flat_map(|input| input.texts()).collect();
    let mut next = 0;
    move || {
        next += 1;
        texts[next % texts.len()].clone()
    }
}

#[divan::bench(args = names())]
fn text_to_png(bencher: Bencher<'_, '_>, input: &str) {
    let mut png = Vec::new();
    bencher
        .with_inputs(texts(input))
        .bench_local_refs(|text| qr_core::generate(text, Level::L, &Raster::SERVICE, &mut png));
}

#[divan::bench(args = names())]
fn text_to_symbol(bencher: Bencher<'_, '_>, input: &str) {
    bencher.with_inputs(texts(input)).bench_local_refs(|text| encode(text, Level::L));
}

#[divan::bench(args = names())]
fn symbol_to_png(bencher: Bencher<'_, '_>, input: &str) {
    let mut png = Vec::new();
    let mut texts = texts(input);
    bencher
        .with_inputs(|| encode(&texts(), Level::L).expect("texts of the bench fit"))
        .bench_local_refs(|symbol| write_png(symbol, &Raster::SERVICE, &mut png));
}
