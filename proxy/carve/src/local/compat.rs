//! The paths of other QR services in nginx. The variables `QR_COMPAT` and `QR_SHOW_HOST` select them, here and in
//! qr-service, which reads them itself.

use std::env;
use std::fs;

use anyhow::{Context, bail};

use super::files::{self, PROXY};
use super::settings::Settings;

/// The stand-in for the host name in `proxy/compat/show.conf`.
const HOST: &str = "show.invalid";

/// Writes nginx' files for `QR_COMPAT` and `QR_SHOW_HOST`, and removes those of an earlier run. Fails if one of the
/// variables names an unknown service or an invalid host.
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
        let text = files::text(PROXY, &format!("compat/{name}.conf"))?;
        fs::write(nginx.join(to), text.replace(HOST, host)).with_context(|| to.to_owned())
    };
    let given = |name: &str| env::var(name).ok().filter(|value| value != "none");
    for name in given("QR_COMPAT").iter().flat_map(|names| names.split(',')).map(str::trim) {
        match name {
            // goqr's paths are below /v1/, which nginx always passes on.
            "goqr" => {}
            "quickchart" | "google" => write(name, &format!("compat-{name}.conf"), HOST)?,
            _ => bail!("QR_COMPAT: there is no \"{name}\"; use goqr, quickchart or google"),
        }
    }
    if let Some(host) = given("QR_SHOW_HOST") {
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
        if host.is_empty() || !host.chars().all(is_name) {
            bail!("QR_SHOW_HOST: \"{host}\" is not a host name");
        }
        write("show", "server-show.conf", &host)?;
    }
    Ok(())
}
