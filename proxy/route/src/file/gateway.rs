//! A route whose traffic a gateway moves (Kubernetes' Gateway API), in place of carve's nginx.

use anyhow::{Context, ensure};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::key::Key;
use crate::path::{Methods, Path};
use crate::side::{Side, SideUrl};
use crate::units::BaseUrl;
use crate::{Route, RouteFile};

/// The gateway that moves the traffic, if it is not carve's nginx.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Gateway {
    /// The app's HTTPRoute, in carve's namespace. Its gateways are the route's, as are its hostnames unless `hosts`
    /// names some. carve reads it and never changes it.
    pub app: String,
    /// The shadow's Service as http://NAME:PORT, for a gateway that mirrors a percentage of the requests.
    pub shadow: Option<BaseUrl>,
}

/// Checks what only a gateway restricts. An error names the key and says what is expected.
pub(super) fn check(file: &RouteFile) -> anyhow::Result<()> {
    let Some(gateway) = &file.gateway else { return Ok(()) };
    let is_name = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"-.".contains(&b);
    ensure!(
        !gateway.app.is_empty() && gateway.app.bytes().all(is_name),
        "gateway.app: {:?}: must be the name of an HTTPRoute",
        gateway.app
    );
    ensure!(
        !matches!(file.path, Path::Segments(_)),
        "path: {}: a gateway has no * in place of a segment",
        file.path
    );
    ensure!(file.key == Key::Request, "key: a gateway splits by request, not by {}", file.key);
    ensure!(file.homes.is_empty(), "gateway: a route of sessions needs nginx");
    backend(&file.old).context("old.url")?;
    backend(&file.new).context("new.url")?;
    gateway.shadow.as_ref().map_or(Ok(Value::Null), service).context("gateway.shadow").map(drop)
}

/// A side's Service as a `backendRef`, without its weight.
fn backend(side: &Side) -> anyhow::Result<Value> {
    match &side.url {
        Some(SideUrl::Tcp(url)) => service(url),
        _ => anyhow::bail!("a gateway needs http://SERVICE:PORT"),
    }
}

fn service(url: &BaseUrl) -> anyhow::Result<Value> {
    let (name, port) = url.authority().rsplit_once(':').context("it has no port")?;
    ensure!(
        !name.contains(['.', '[']),
        "{url}: must be http://SERVICE:PORT, a Service in carve's namespace"
    );
    Ok(json!({ "name": name, "port": port.parse::<u16>()? }))
}

impl Route {
    /// The `rules` of the route's HTTPRoute: one, whose backends are the new side and the old one, without weights and
    /// filters. `None` if no gateway moves its traffic.
    pub fn gateway_rule(&self) -> Option<Value> {
        self.file.gateway.as_ref()?;
        let path = match &self.file.path {
            Path::Exact(path) => json!({ "type": "Exact", "value": path }),
            path => json!({ "type": "PathPrefix", "value": path.as_str().trim_end_matches('/') }),
        };
        let matches = match &self.file.methods {
            Methods::Only(methods) => {
                methods.iter().map(|it| json!({ "path": path, "method": it })).collect()
            }
            Methods::Any => vec![json!({ "path": path })],
        };
        let backends = [&self.file.new, &self.file.old].map(|side| backend(side).ok());
        Some(json!({ "matches": matches, "backendRefs": backends }))
    }

    /// The shadow's Service as a `backendRef`; `None` if the gateway mirrors nothing.
    pub fn gateway_shadow(&self) -> Option<Value> {
        service(self.file.gateway.as_ref()?.shadow.as_ref()?).ok()
    }
}
