//! Other proxies, each with the least that proxies over kept connections, on one thread.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use anyhow::Context;
use serde_json::{Value, json};

/// A proxy that could stand where nginx does.
#[derive(Clone, Copy, Debug)]
pub enum Other {
    /// HAProxy.
    Haproxy,
    /// Envoy.
    Envoy,
}

impl Other {
    /// The name of its program.
    pub fn program(self) -> &'static str {
        match self {
            Other::Haproxy => "haproxy",
            Other::Envoy => "envoy",
        }
    }

    /// Writes its configuration into the folder; returns the command that runs it until it is told to stop.
    ///
    /// # Errors
    /// If the file cannot be written.
    pub(super) fn command(
        self,
        folder: &Path,
        proxy: SocketAddr,
        new: SocketAddr,
    ) -> anyhow::Result<Command> {
        let (file, text) = match self {
            Other::Haproxy => ("haproxy.cfg", haproxy(proxy, new)),
            Other::Envoy => ("envoy.json", envoy(proxy, new).to_string()),
        };
        let file = folder.join(file);
        fs::write(&file, text).with_context(|| file.display().to_string())?;
        let mut command = Command::new(self.program());
        match self {
            Other::Haproxy => command.args(["-db", "-q", "-f"]).arg(file),
            Other::Envoy => {
                command.args(["--concurrency", "1", "--disable-hot-restart", "-l", "warn", "-c"]);
                command.arg(file)
            }
        };
        Ok(command)
    }
}

fn haproxy(proxy: SocketAddr, new: SocketAddr) -> String {
    format!(
        "global\n    nbthread 1\n    maxconn 4096\ndefaults\n    mode http\n    timeout client 60s\n    \
         timeout server 60s\n    timeout connect 1s\n    http-reuse always\nlisten proxy\n    \
         bind {proxy}\n    server new {new}\n"
    )
}

fn envoy(proxy: SocketAddr, new: SocketAddr) -> Value {
    let address = |at: SocketAddr| json!({"socket_address": {"address": at.ip().to_string(), "port_value": at.port()}});
    let types = "type.googleapis.com/envoy.extensions";
    let router = json!({"name": "envoy.filters.http.router", "typed_config": {
        "@type": format!("{types}.filters.http.router.v3.Router")}});
    let manager = json!({"name": "envoy.filters.network.http_connection_manager", "typed_config": {
        "@type": format!("{types}.filters.network.http_connection_manager.v3.HttpConnectionManager"),
        "stat_prefix": "proxy",
        "http_filters": [router],
        "route_config": {"virtual_hosts": [{"name": "all", "domains": ["*"], "routes": [
            {"match": {"prefix": "/"}, "route": {"cluster": "new"}}]}]}}});
    let endpoint = json!({"endpoint": {"address": address(new)}});
    json!({"static_resources": {
        "listeners": [{"address": address(proxy), "filter_chains": [{"filters": [manager]}]}],
        "clusters": [{"name": "new", "connect_timeout": "1s", "load_assignment": {
            "cluster_name": "new", "endpoints": [{"lb_endpoints": [endpoint]}]}}]}})
}
