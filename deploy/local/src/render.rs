//! Renders the files that a stack runs from.
//!
//! The files of `proxy/` and `dashboards/prometheus/` are valid with the default ports. Rendering
//! replaces these addresses, so there is one source for every place.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use anyhow::{Context, ensure};

use crate::settings::Settings;

/// Writes the run folder's configuration of nginx, Prometheus and supervisord.
///
/// # Errors
/// The file that cannot be read or written, or that lacks an address to replace.
pub fn render(settings: &Settings) -> anyhow::Result<()> {
    for folder in ["log", "nginx", "prometheus", "data/prometheus", "data/legacy-node"] {
        let folder = settings.run_dir.join(folder);
        fs::create_dir_all(&folder).with_context(|| folder.display().to_string())?;
    }
    let at = &settings.addresses;
    let file = |name: &str| (format!("proxy/{name}"), format!("nginx/{name}"));
    let metrics =
        |name: &str| (format!("dashboards/prometheus/{name}"), format!("prometheus/{name}"));
    let place = |names, changes: &[(&str, String)]| write_changed(settings, names, changes);
    place(file("nginx.conf"), &[])?;
    place(file("listen.conf"), &[("127.0.0.1:8080;", format!("{};", at.proxy))])?;
    place(file("listen-admin.conf"), &[("127.0.0.1:8081", at.proxy_admin.to_string())])?;
    place(
        file("upstreams.conf"),
        &[
            ("127.0.0.1:42069", at.new.to_string()),
            ("127.0.0.1:3000", at.old.to_string()),
            ("127.0.0.1:42080", at.shadow.to_string()),
            ("127.0.0.1:9090", at.prometheus.to_string()),
        ],
    )?;
    link(settings, "dashboards/live", "nginx/live")?;
    link(settings, "dashboards/prometheus/rules", "prometheus/rules")?;
    place(metrics("prometheus.yml"), &[])?;
    place(
        metrics("targets.json"),
        &[
            ("127.0.0.1:42070", at.new_admin.to_string()),
            ("127.0.0.1:3001", at.old_admin.to_string()),
            ("127.0.0.1:42081", at.shadow_admin.to_string()),
            ("127.0.0.1:8081", at.proxy_admin.to_string()),
            ("127.0.0.1:9113", at.nginx_exporter.to_string()),
            ("127.0.0.1:9090", at.prometheus.to_string()),
        ],
    )?;
    // Keeps the split of an earlier run unless told otherwise: it survives `down` and `up`.
    ramp::prepare(&settings.nginx_dir(), &settings.wanted_split())?;
    write(&supervisord_conf(settings), &supervisord_text(settings)?)
}

/// The file of supervisord's configuration.
pub fn supervisord_conf(settings: &Settings) -> PathBuf {
    settings.run_dir.join("supervisord.conf")
}

fn write_changed(
    settings: &Settings,
    (from, to): (String, String),
    changes: &[(&str, String)],
) -> anyhow::Result<()> {
    let from = settings.root.join(from);
    let mut text = read(&from)?;
    // Marks first: an address put in may be the default of a later replacement.
    for (number, (default, _)) in changes.iter().enumerate() {
        ensure!(text.contains(default), "{} has no {default} to replace", from.display());
        text = text.replace(default, &mark(number));
    }
    for (number, (_, address)) in changes.iter().enumerate() {
        text = text.replace(&mark(number), address);
    }
    write(&settings.run_dir.join(to), &text)
}

/// Links a folder of the repository that has no addresses in it.
fn link(settings: &Settings, from: &str, to: &str) -> anyhow::Result<()> {
    let link = settings.run_dir.join(to);
    match fs::remove_file(&link) {
        Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
        _ => symlink(settings.root.join(from), &link),
    }
    .with_context(|| link.display().to_string())
}

fn mark(number: usize) -> String {
    format!("\u{1}{number}\u{2}")
}

fn supervisord_text(settings: &Settings) -> anyhow::Result<String> {
    let at = &settings.addresses;
    let engine =
        settings.engine.as_ref().map_or(String::new(), |name| format!(",QR_ENGINE=\"{name}\""));
    // nginx and legacy-node log every request, so a request can be followed through all logs.
    let access_log = std::env::var("QR_ACCESS_LOG").unwrap_or_else(|_| "all".to_owned());
    // Started by root, nginx' workers would be user nobody, who cannot read the page below /root.
    let nginx_user = if rustix::process::geteuid().is_root() { " -g 'user root;'" } else { "" };
    let words = [
        ("socket", escaped(&socket(settings))),
        ("run", escaped(&settings.run_dir)),
        ("root", escaped(&settings.root)),
        ("qr_service_program", escaped(&settings.qr_service)),
        ("shadow_program", escaped(&settings.shadow)),
        ("engine", engine),
        ("nginx_user", nginx_user.to_owned()),
        ("access_log", access_log),
        ("old_workers", settings.old_workers.to_string()),
        ("proxy_admin", at.proxy_admin.to_string()),
        ("new", at.new.to_string()),
        ("new_admin", at.new_admin.to_string()),
        ("old", at.old.to_string()),
        ("old_admin", at.old_admin.to_string()),
        ("shadow", at.shadow.to_string()),
        ("shadow_admin", at.shadow_admin.to_string()),
        ("prometheus", at.prometheus.to_string()),
        ("nginx_exporter", at.nginx_exporter.to_string()),
    ];
    let mut text = read(&settings.root.join("deploy/local/supervisord.conf"))?;
    for (word, value) in words {
        text = text.replace(&format!("{{{word}}}"), &value);
    }
    Ok(text)
}

/// Escapes percent signs, which supervisord expands.
fn escaped(path: &Path) -> String {
    path.to_string_lossy().replace('%', "%%")
}

/// supervisord's socket: in the run folder. If that name is too long for a socket (107 bytes on
/// Linux, and supervisord binds a longer name first), in /tmp, named by its hash.
fn socket(settings: &Settings) -> PathBuf {
    let here = settings.run_dir.join("supervisor.sock");
    if here.as_os_str().len() <= 80 {
        return here;
    }
    let hash = here.to_string_lossy().bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
    });
    PathBuf::from(format!("/tmp/qr-stack-{hash:016x}.sock"))
}

fn read(file: &Path) -> anyhow::Result<String> {
    fs::read_to_string(file).with_context(|| file.display().to_string())
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    fs::write(file, text).with_context(|| file.display().to_string())
}
