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
    /// Where Prometheus has the counts of the requests by side: traefik or envoy-gateway, or a table of your own.
    pub counts: Source,
}

/// Where Prometheus has the counts of the requests by side.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Source {
    /// A gateway whose counters are known.
    Known(KnownGateway),
    /// Counters of another one.
    Declared(CounterSelector),
}

/// A gateway whose counters are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum KnownGateway {
    /// With `metrics.prometheus.addServicesLabels`, its default.
    Traefik,
    /// With the statistics of each backend: its HTTPRoute has a filter for each.
    EnvoyGateway,
}

/// Counters of a gateway.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CounterSelector {
    /// A PromQL selector of the counter of a side's requests. $object stands for the name of carve's HTTPRoute, $backend
    /// for the place of the side in it: 0 for the new one, 1 for the old one; $service for the side's Service.
    pub requests: String,
    /// The label with the status, such as 200 or 2.
    pub status: String,
}

/// PromQL selectors of the counters of the two sides' requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counters {
    /// The new side's.
    pub new: String,
    /// The old side's.
    pub old: String,
    /// The label with the status, of which the first digit counts.
    pub status: String,
}

impl KnownGateway {
    fn declared(self) -> CounterSelector {
        let (requests, status) = match self {
            KnownGateway::Traefik => (
                "traefik_service_requests_total{service=~\"httproute-.+-$object-gw-.+-$backend@kubernetesgateway\"}",
                "code",
            ),
            KnownGateway::EnvoyGateway => (
                "envoy_cluster_upstream_rq_xx{envoy_cluster_name=~\"httproute/.+/$object/rule/0/backend/$backend\"}",
                "envoy_response_code_class",
            ),
        };
        CounterSelector { requests: requests.to_owned(), status: status.to_owned() }
    }
}

/// The name of carve's HTTPRoute for a route.
pub fn gateway_object(route: &str) -> String {
    format!("carve-{route}")
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
        let sides = [("new", &self.file.new), ("old", &self.file.old)];
        let backends = sides.map(|(arm, side)| {
            let mut backend = backend(side).ok()?;
            if self.file.gateway.as_ref()?.counts == Source::Known(KnownGateway::EnvoyGateway) {
                // Without a filter for each backend, Envoy counts both in one cluster.
                let arm = json!([{ "name": "X-Route-Arm", "value": arm }]);
                let header = json!({ "type": "RequestHeaderModifier", "requestHeaderModifier": { "set": arm } });
                backend["filters"] = json!([header]);
            }
            Some(backend)
        });
        Some(json!({ "matches": matches, "backendRefs": backends }))
    }

    /// Whether the shadow gets requests of the route.
    pub fn mirrors(&self) -> bool {
        let has_gateway = self.file.gateway.is_some();
        !self.is_session() && (!has_gateway || self.gateway_shadow().is_some())
    }

    /// The gateway's counters; `None` if no gateway moves the route's traffic.
    pub fn counters(&self) -> Option<Counters> {
        let CounterSelector { requests, status } = match &self.file.gateway.as_ref()?.counts {
            Source::Known(known) => known.declared(),
            Source::Declared(declared) => declared.clone(),
        };
        let of = |place, side| {
            let requests = requests.replace("$object", &gateway_object(&self.name));
            let service = backend(side).ok()?["name"].as_str()?.to_owned();
            Some(requests.replace("$backend", place).replace("$service", &service))
        };
        Some(Counters { new: of("0", &self.file.new)?, old: of("1", &self.file.old)?, status })
    }

    /// The shadow's Service as a `backendRef`; `None` if the gateway mirrors nothing.
    pub fn gateway_shadow(&self) -> Option<Value> {
        service(self.file.gateway.as_ref()?.shadow.as_ref()?).ok()
    }
}
