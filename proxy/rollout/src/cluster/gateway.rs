//! A gateway of the cluster (Kubernetes' Gateway API) as the traffic of a route.
//!
//! The route has an HTTPRoute of its own beside the app's, with the same gateways and the route's path, which is more
//! specific. Its two weights are the split, and an annotation has the split as data. At 0% it does not exist, so the
//! app's HTTPRoute answers. The app's objects are only read.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use anyhow::{Context, bail, ensure};
use route::{HostName, Key, Route, Share, load};
use serde_json::{Value, json};

use super::api::Api;
use super::proxies::PATIENCE;
use crate::folder::route_dir;
use crate::split::{Known, Split, current};
use crate::traffic::Traffic;

const ANNOTATION: &str = "carve/split";
/// A weight is a share in hundredths of a percent.
const WHOLE: u32 = 10_000;

/// A route's HTTPRoute.
#[derive(Debug)]
pub(super) struct HttpRoute {
    pub(super) api: Arc<Api>,
    pub(super) namespace: String,
    /// The folder of the route files.
    pub(super) files: PathBuf,
    /// The folder with the copy of the route's split.
    pub(super) dir: PathBuf,
    pub(super) route: String,
}

impl HttpRoute {
    fn file(&self) -> anyhow::Result<Route> {
        Route::read(&self.files.join(format!("{}.toml", self.route)))
    }

    fn path(&self, name: &str) -> String {
        let at = "/apis/gateway.networking.k8s.io/v1/namespaces";
        format!(
            "{at}/{}/httproutes{}{name}",
            self.namespace,
            if name.is_empty() { "" } else { "/" }
        )
    }

    fn name(&self) -> String {
        format!("carve-{}", self.route)
    }

    fn shown(&self) -> String {
        format!("HTTPRoute {}/{}", self.namespace, self.name())
    }

    /// carve's object; `None` if there is none.
    fn object(&self) -> anyhow::Result<Option<Value>> {
        self.get(&self.name())
    }

    fn get(&self, name: &str) -> anyhow::Result<Option<Value>> {
        let path = self.path(name);
        let (status, object) = self.api.call("GET", &path, None)?;
        match status {
            200 => Ok(Some(object)),
            404 if object["details"]["name"] == name => Ok(None),
            404 => bail!("the cluster has no Gateway API: it knows no HTTPRoute in version v1"),
            _ => bail!("{path}: {status} {}", object["message"]),
        }
    }

    /// The app's HTTPRoute. Fails if it does not exist, another hostname is wanted than it has, or it has the route's
    /// path itself, since nothing then says which of the two objects a request belongs to.
    fn app(&self, route: &Route) -> anyhow::Result<Value> {
        let gateway = route.file.gateway.as_ref().with_context(|| {
            format!("{}.toml has no [gateway], so no gateway moves its traffic", route.name)
        })?;
        let app = self.get(&gateway.app)?.with_context(|| {
            format!("gateway.app: there is no HTTPRoute {}/{}", self.namespace, gateway.app)
        })?;
        let names = app["spec"]["hostnames"].as_array();
        for host in route.file.hosts.iter().map(HostName::as_str) {
            ensure!(
                names.is_none_or(|names| names.iter().any(|name| name == host)),
                "hosts: {host} is no hostname of the HTTPRoute {}",
                gateway.app
            );
        }
        let rule = route.gateway_rule().unwrap_or_default();
        let path = &rule["matches"][0]["path"];
        let rules = app["spec"]["rules"].as_array().into_iter().flatten();
        let mut matches = rules.filter_map(|rule| rule["matches"].as_array()).flatten();
        if let Some(found) = matches.find(|it| it["path"] == *path) {
            bail!("path: the HTTPRoute {} has {} itself", gateway.app, found["path"]["value"]);
        }
        Ok(app)
    }

    /// The `spec` for a split.
    fn spec(&self, app: &Value, route: &Route, split: &Split) -> anyhow::Result<Value> {
        let mut rule = route.gateway_rule().context("it has no [gateway]")?;
        let [new, old] = weights(split.share_percent);
        (rule["backendRefs"][0]["weight"], rule["backendRefs"][1]["weight"]) = (new, old);
        rule["filters"] = mirror(route, split);
        let hosts: Vec<&str> = route.file.hosts.iter().map(HostName::as_str).collect();
        let hosts = if hosts.is_empty() { app["spec"]["hostnames"].clone() } else { json!(hosts) };
        Ok(json!({ "parentRefs": app["spec"]["parentRefs"], "hostnames": hosts, "rules": [rule] }))
    }

    /// Creates the object, or patches it if its weights are still what carve last set.
    fn put(&self, found: Option<&Value>, split: &Split) -> anyhow::Result<()> {
        let route = self.file()?;
        let text = serde_json::to_string(split)?;
        let (method, path, media, body) = match found {
            None => {
                let spec = self.spec(&self.app(&route)?, &route, split)?;
                let labels = json!({ "app.kubernetes.io/managed-by": "carve" });
                let metadata = json!({ "name": self.name(), "labels": labels, "annotations": { ANNOTATION: text } });
                let object = json!({ "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
                    "metadata": metadata, "spec": spec });
                ("POST", self.path(""), "application/json", object)
            }
            Some(found) => {
                let before = self.said(found)?;
                let patch = patch(
                    &weights(before.share_percent),
                    &weights(split.share_percent),
                    &text,
                    &mirror(&route, split),
                );
                ("PATCH", self.path(&self.name()), "application/json-patch+json", patch)
            }
        };
        let (status, object) = self.api.call(method, &path, Some((media, &body)))?;
        ensure!((200..300).contains(&status), "{path}: {status} {}", object["message"]);
        Ok(())
    }

    /// The split that carve last wrote to the object. Fails if the object is not carve's, or its weights are others.
    fn said(&self, object: &Value) -> anyhow::Result<Split> {
        let shown = self.shown();
        let text = object["metadata"]["annotations"][ANNOTATION].as_str();
        let split = text.and_then(Split::from_json);
        let split =
            split.with_context(|| format!("{shown} is not carve's: it has no {ANNOTATION}"))?;
        let backends = &object["spec"]["rules"][0]["backendRefs"];
        let there = [&backends[0]["weight"], &backends[1]["weight"]];
        ensure!(
            there == weights(split.share_percent).each_ref(),
            "somebody has edited {shown}: its weights are {} and {}, not those of {}%",
            there[0],
            there[1],
            split.share_percent
        );
        Ok(split)
    }

    /// Removes the object, so that the app's HTTPRoute answers.
    fn delete(&self) -> anyhow::Result<()> {
        let path = self.path(&self.name());
        let (status, object) = self.api.call("DELETE", &path, None)?;
        ensure!([200, 202, 404].contains(&status), "{path}: {status} {}", object["message"]);
        Ok(())
    }

    /// Sets the weights to 0% whatever they are, waits until the gateways have them, and removes the object.
    fn to_old(&self) -> anyhow::Result<bool> {
        let Some(object) = self.object()? else { return Ok(true) };
        let none = weights(Share::NONE);
        let backends = &object["spec"]["rules"][0]["backendRefs"];
        if [&backends[0]["weight"], &backends[1]["weight"]] != none.each_ref() {
            let patch = json!([
                { "op": "add", "path": "/spec/rules/0/backendRefs/0/weight", "value": none[0] },
                { "op": "add", "path": "/spec/rules/0/backendRefs/1/weight", "value": none[1] },
            ]);
            let (path, media) = (self.path(&self.name()), "application/json-patch+json");
            let (status, object) = self.api.call("PATCH", &path, Some((media, &patch)))?;
            ensure!(status == 200, "{path}: {status} {}", object["message"]);
            return Ok(false);
        }
        if is_current(&object).is_ok() {
            self.delete()?;
        }
        Ok(false)
    }
}

impl Traffic for HttpRoute {
    fn find(&self) -> anyhow::Result<()> {
        self.app(&self.file()?).map(drop)
    }

    fn apply(
        &self,
        split: &Split,
        interrupted: &AtomicBool,
        reached: &mut bool,
    ) -> anyhow::Result<()> {
        ensure!(split.key == Key::Request, "a gateway splits by request, not by {}", split.key);
        *reached = true;
        if split.share_percent == Share::NONE {
            return self.stop();
        }
        self.put(self.object()?.as_ref(), split)?;
        let mut last = Ok(());
        let is_served = |_| {
            last = self.served().and_then(|served| {
                ensure!(served == *split, "it has another split");
                Ok(())
            });
            last.is_ok()
        };
        let late = |total| format!("{} is not in force after {total:?}", self.shown());
        let waited = PATIENCE.wait(interrupted, late, is_served);
        waited.or_else(|late| last.context(late))
    }

    /// The split of the object, once its gateways have it. Without an object, the app's HTTPRoute answers: 0%.
    fn served(&self) -> anyhow::Result<Split> {
        let Some(object) = self.object()? else {
            let split = current(&route_dir(&self.dir, &self.route));
            let split = split.or_else(|_| Ok::<_, anyhow::Error>(Split::first(&self.file()?)))?;
            return Ok(Split { share_percent: Share::NONE, ..split });
        };
        is_current(&object).with_context(|| self.shown())?;
        self.said(&object)
    }

    fn stop(&self) -> anyhow::Result<()> {
        PATIENCE.wait_for_stop(|| self.to_old())
    }

    fn routes(&self) -> anyhow::Result<Vec<Known>> {
        known(&self.files)
    }
}

/// The routes of a folder whose traffic a gateway moves.
pub(super) fn known(files: &Path) -> anyhow::Result<Vec<Known>> {
    let of_gateway = load(files)?.1.into_iter().filter(|route| route.file.gateway.is_some());
    Ok(of_gateway.map(|route| Known::of(route.name)).collect())
}

fn weights(share: Share) -> [Value; 2] {
    let new = (f64::from(share) * 100.0).round() as u32;
    [json!(new), json!(WHOLE - new)]
}

/// The filter that sends the shadow its share of the requests; none if there is no shadow.
fn mirror(route: &Route, split: &Split) -> Value {
    let [mirrored, _] = weights(split.mirror_percent);
    match route.gateway_shadow().filter(|_| split.mirror_percent > Share::NONE) {
        Some(backend) => {
            let fraction = json!({ "numerator": mirrored, "denominator": WHOLE });
            let mirror = json!({ "backendRef": backend, "fraction": fraction });
            json!([{ "type": "RequestMirror", "requestMirror": mirror }])
        }
        None => json!([]),
    }
}

/// A JSON Patch from some weights to others, refused if somebody has changed them meanwhile.
fn patch(before: &[Value; 2], after: &[Value; 2], text: &str, filters: &Value) -> Value {
    let mut patch = Vec::new();
    for side in 0..2 {
        let path = format!("/spec/rules/0/backendRefs/{side}/weight");
        patch.push(json!({ "op": "test", "path": path, "value": before[side] }));
        patch.push(json!({ "op": "replace", "path": path, "value": after[side] }));
    }
    patch.push(json!({ "op": "add", "path": "/spec/rules/0/filters", "value": filters }));
    let annotation = format!("/metadata/annotations/{}", ANNOTATION.replace('/', "~1"));
    patch.push(json!({ "op": "replace", "path": annotation, "value": text }));
    Value::Array(patch)
}

/// Checks that all gateways of an object have accepted its present form, and know its Services.
fn is_current(object: &Value) -> anyhow::Result<()> {
    let generation = &object["metadata"]["generation"];
    let wanted = object["spec"]["parentRefs"].as_array().map_or(0, Vec::len);
    let parents = object["status"]["parents"].as_array().cloned().unwrap_or_default();
    ensure!(parents.len() >= wanted, "{} of {wanted} gateways have seen it", parents.len());
    for parent in &parents {
        let gateway = &parent["parentRef"]["name"];
        for kind in ["Accepted", "ResolvedRefs"] {
            let conditions = parent["conditions"].as_array().into_iter().flatten();
            let found = conditions.clone().find(|it| it["type"] == kind);
            let found = found.with_context(|| format!("the gateway {gateway} says no {kind}"))?;
            ensure!(
                found["observedGeneration"] == *generation,
                "the gateway {gateway} has not seen the last change"
            );
            ensure!(found["status"] == "True", "the gateway {gateway}: {}", found["message"]);
        }
    }
    Ok(())
}
