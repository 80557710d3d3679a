//! What a cache in nginx saves, by how many requests repeat a text: processor time of nginx and qr-service.

use std::fs;
use std::path::Path;

use anyhow::{Context, ensure};
use fastrand::Rng;
use stack::settings::repository;
use stack::{Options, Part};

use crate::load;
use crate::sampling::cpu_seconds;
use crate::server::{Cores, start_stack};
use crate::texts;

/// Texts that are repeated.
const POPULAR: usize = 1000;
/// Requests that wrk sends before it begins again: more than any run has, else all would repeat.
const REQUESTS: usize = 400_000;

/// Seconds of processor time per request, of nginx, the reader of its log and qr-service. `repeated` is the
/// percentage of requests whose text is one of 1000; all other texts are new ones.
///
/// # Errors
/// If the stack does not start, wrk fails or a request fails.
pub fn of_both(
    is_cached: bool,
    repeated: u8,
    (server_cores, load_cores): (&Cores, &Cores),
    connections: usize,
    seconds: u64,
) -> anyhow::Result<f64> {
    let folder = tempfile::tempdir()?;
    write_route(folder.path(), is_cached)?;
    let options = Options { routes: Some(folder.path().to_owned()), ..Options::default() };
    let stack = start_stack(&options, server_cores)?;
    let url = stack.url();
    let targets = folder.path().join("targets");
    texts::write_targets(&targets, &url, &texts::targets(texts::QRCODE, &requested(repeated)))?;
    let roots = [Part::Nginx, Part::QrService].map(|part| stack.pid_of(part));
    let roots = roots.into_iter().map(|pid| Ok(pid?.as_raw_nonzero().get()));
    let roots = roots.collect::<anyhow::Result<Vec<_>>>()?;
    let popular = folder.path().join("popular");
    texts::write_targets(&popular, &url, &texts::targets(texts::QRCODE, &requested(100)[..8192]))?;
    load::closed(&popular, &url, load_cores, connections, 1)?; // warm-up: all of them are kept
    let before = cpu_seconds(&roots);
    let load = load::closed(&targets, &url, load_cores, connections, seconds)?;
    let spent = cpu_seconds(&roots) - before;
    ensure!(load.errors == 0, "{} requests failed", load.errors);
    ensure!((load.requests as usize) < REQUESTS, "too many requests; take fewer --seconds");
    Ok(spent / load.requests)
}

/// The route of the repository, with or without a cache.
fn write_route(folder: &Path, is_cached: bool) -> anyhow::Result<()> {
    let file = repository().join("proxy/routes/qrcode.toml");
    let text = fs::read_to_string(&file).with_context(|| file.display().to_string())?;
    let cache = if is_cached { "cache = \"1024m\"\n" } else { "" };
    fs::write(folder.join("qrcode.toml"), format!("{cache}{text}"))?;
    Ok(())
}

fn requested(repeated: u8) -> Vec<String> {
    let mut rng = Rng::with_seed(repeated.into());
    let link = |of: &str, number: usize| format!("https://example.com/articles/{of}{number:019}");
    (0..REQUESTS)
        .map(|number| match rng.u8(..100) < repeated {
            true => link("again", rng.usize(..POPULAR)),
            false => link("new--", number),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::requested;

    #[test]
    fn so_many_texts_are_repeated() {
        for percent in [0, 50, 95] {
            let mut counts = BTreeMap::new();
            let texts = requested(percent);
            assert!(texts.iter().all(|text| text.len() == 53), "{}", texts[0]);
            texts.iter().for_each(|text| *counts.entry(text).or_insert(0) += 1);
            let repeated: usize = counts.values().filter(|&&count| count > 1).sum();
            let share = repeated as f64 / texts.len() as f64;
            assert!((share - f64::from(percent) / 100.0).abs() < 0.01, "{share}");
        }
    }
}
