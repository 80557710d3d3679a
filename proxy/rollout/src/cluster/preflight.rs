//! What a route needs of its gateways, before any traffic moves.

use anyhow::Context;
use serde_json::{Value, json};

use super::api::refused;
use super::gateway::{HttpRoute, is_current};

const GATEWAY_API: &str = "/apis/gateway.networking.k8s.io/v1";
/// The feature of a gateway that mirrors a share of the requests.
const PERCENTAGE_MIRROR: &str = "HTTPRouteRequestPercentageMirror";

impl HttpRoute {
    /// Lists what carve may not do and what the gateways cannot. Fails if no traffic can be moved: the app's HTTPRoute
    /// is missing, does not match the route file, or no gateway serves it; or the API does not answer.
    pub(super) fn lacks(&self) -> anyhow::Result<Vec<String>> {
        let file = self.file()?;
        let app = self.app(&file)?;
        let name = &app["metadata"]["name"];
        is_current(&app).with_context(|| format!("no gateway serves the HTTPRoute {name}"))?;
        let mut lacks = Vec::new();
        for verb in ["create", "patch", "delete"] {
            if !self.may(verb)? {
                lacks.push(format!("carve may not {verb} httproutes in {}", self.namespace));
            }
        }
        if file.gateway_shadow().is_some() {
            for parent in app["spec"]["parentRefs"].as_array().into_iter().flatten() {
                lacks.extend(self.no_mirror(parent)?);
            }
        }
        Ok(lacks)
    }

    /// Whether carve may do this to its own HTTPRoute (a SelfSubjectAccessReview).
    fn may(&self, verb: &str) -> anyhow::Result<bool> {
        let mut asked = json!({ "group": "gateway.networking.k8s.io", "resource": "httproutes",
            "namespace": self.namespace, "verb": verb });
        if verb != "create" {
            asked["name"] = self.name().into();
        }
        let review = json!({ "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
            "spec": { "resourceAttributes": asked } });
        let path = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
        let (status, answer) = self.api.call("POST", path, Some(("application/json", &review)))?;
        if status >= 300 {
            return Err(refused(path, status, &answer));
        }
        Ok(answer["status"]["allowed"] == true)
    }

    /// Why a gateway sends the shadow no share of the requests; `None` if its class says that it can.
    fn no_mirror(&self, parent: &Value) -> anyhow::Result<Option<String>> {
        let name = parent["name"].as_str().unwrap_or_default();
        let namespace = parent["namespace"].as_str().unwrap_or(&self.namespace);
        let get = |path: String| {
            let (status, object) = self.api.call("GET", &path, None)?;
            Ok::<_, anyhow::Error>((status < 300).then_some(object))
        };
        let gateway = get(format!("{GATEWAY_API}/namespaces/{namespace}/gateways/{name}"))?;
        let class = gateway.as_ref().and_then(|it| it["spec"]["gatewayClassName"].as_str());
        let class = match class {
            Some(class) => get(format!("{GATEWAY_API}/gatewayclasses/{class}"))?,
            None => None,
        };
        let features = class.as_ref().map(|it| it["status"]["supportedFeatures"].as_array());
        Ok(match features {
            None => Some("carve may not read it and its class"),
            Some(None) => Some("its class lists no features"),
            Some(Some(all)) if all.iter().any(|it| it["name"] == PERCENTAGE_MIRROR) => None,
            Some(Some(_)) => Some("its class does not list that it mirrors a percentage"),
        }
        .map(|why| format!("the gateway {name} may send the shadow nothing: {why}")))
    }
}
