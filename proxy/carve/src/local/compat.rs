//! The paths of other QR services in nginx: those that qr-service answers by the same two variables, which it
//! reads from the environment itself.

use std::env;
use std::fs;

use anyhow::{Context, bail};

use super::files;
use super::settings::Settings;

/// The stand-in for the host name in `proxy/compat/show.conf`.
const HOST: &str = "show.invalid";

/// Writes what nginx includes for `QR_COMPAT` and `QR_SHOW_HOST`, and removes what it included before. Fails if there
/// is no such name.
pub(crate) fn render(settings: &Settings) -> anyhow::Result<()> {
    let nginx = settings.nginx_dir();
    for name in ["compat-quickchart.conf", "compat-google.conf", "server-show.conf"] {
        match fs::remove_file(nginx.join(name)) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
                return Err(error).context(name);
            }
            _ => {}
        }
    }
    if settings.sides.is_some() {
        return Ok(());
    }
    let write = |name: &str, to: &str, host: &str| -> anyhow::Result<()> {
        let text = files::proxy(&format!("compat/{name}.conf"))?;
        fs::write(nginx.join(to), text.replace(HOST, host)).with_context(|| to.to_owned())
    };
    let given = |name: &str| env::var(name).ok().filter(|value| value != "none");
    for name in given("QR_COMPAT").iter().flat_map(|names| names.split(',')).map(str::trim) {
        match name {
            // Its paths are below /v1/, which nginx passes on anyway.
            "goqr" => {}
            "quickchart" | "google" => write(name, &format!("compat-{name}.conf"), HOST)?,
            _ => bail!("QR_COMPAT: there is no \"{name}\"; use goqr, quickchart or google"),
        }
    }
    if let Some(host) = given("QR_SHOW_HOST") {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
        if host.is_empty() || !host.chars().all(is_name) {
            bail!("QR_SHOW_HOST: \"{host}\" is no host name");
        }
        write("show", "server-show.conf", &host)?;
    }
    Ok(())
}
