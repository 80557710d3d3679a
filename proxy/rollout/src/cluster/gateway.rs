//! A gateway of the cluster (Kubernetes' Gateway API) as the traffic of a route.
//!
//! The route has an HTTPRoute of its own beside the app's, with the same gateways and the route's path, which is more
//! specific. Its two weights are the split, and an annotation has the split as data. At 0% it does not exist, so the
//! app's HTTPRoute answers. The app's objects are only read.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, bail, ensure};
use route::{HostName, Key, Route, Share, gateway_object, load};
use serde_json::{Value, json};

use super::api::{Api, refused};
use super::proxies::PATIENCE;
use crate::folder::route_dir;
use crate::split::{ServedRoute, Split, current};
use crate::traffic::Traffic;

const ANNOTATION: &str = "carve/split";
const BACKENDS: &str = "/spec/rules/0/backendRefs";
const JSON_PATCH: &str = "application/json-patch+json";
const MANAGED_BY: &str = "app.kubernetes.io/managed-by";
/// How long a way back waits for the gateways before it removes the object all the same.
const LATE: Duration = Duration::from_secs(5);
/// How long the gateways' servers may take to use what their status says.
const SETTLES: Duration = Duration::from_secs(1);
/// The header that no request has, with the object's uid as value.
const PARKED: &str = "X-Carve-Parked";
/// The percentage on the way to 100 and from it: few requests then need the old side's cluster while it comes or goes.
const NEARLY: f64 = 99.99;
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
    pub(super) fn file(&self) -> anyhow::Result<Route> {
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

    fn shown(&self) -> String {
        format!("HTTPRoute {}/{}", self.namespace, self.name())
    }

    pub(super) fn name(&self) -> String {
        gateway_object(&self.route)
    }

    /// carve's object; `None` if there is none. Fails if somebody else's has its name.
    fn object(&self) -> anyhow::Result<Option<Value>> {
        self.ours(self.get(&self.name())?)
    }

    fn ours(&self, object: Option<Value>) -> anyhow::Result<Option<Value>> {
        let is_ours = |it: &Value| it["metadata"]["labels"][MANAGED_BY] == "carve";
        ensure!(
            object.as_ref().is_none_or(is_ours),
            "{} is not carve's: it has no label {MANAGED_BY}=carve",
            self.shown()
        );
        Ok(object)
    }

    /// Changes or removes an object. Fails with the API's reason.
    fn send(&self, method: &str, name: &str, body: Option<(&str, &Value)>) -> anyhow::Result<()> {
        let path = self.path(name);
        let (status, object) = self.api.call(method, &path, body)?;
        let is_gone = method == "DELETE" && status == 404;
        if is_gone || status < 300 { Ok(()) } else { Err(refused(&path, status, &object)) }
    }

    fn get(&self, name: &str) -> anyhow::Result<Option<Value>> {
        let path = self.path(name);
        let (status, object) = self.api.call("GET", &path, None)?;
        match status {
            200 => Ok(Some(object)),
            404 if object["details"]["name"] == name => Ok(None),
            404 => bail!("the cluster has no Gateway API: it knows no HTTPRoute in version v1"),
            _ => Err(refused(&path, status, &object)),
        }
    }

    /// The app's HTTPRoute. Fails if it does not exist, another hostname is wanted than it has, or it has the route's
    /// path itself, since nothing then says which of the two objects a request belongs to.
    pub(super) fn app(&self, route: &Route) -> anyhow::Result<Value> {
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
    fn spec(&self, route: &Route, split: &Split) -> anyhow::Result<Value> {
        let app = self.app(route)?;
        let mut rule = route.gateway_rule().context("it has no [gateway]")?;
        let [new, old] = weights(split.share_percent);
        (rule["backendRefs"][0]["weight"], rule["backendRefs"][1]["weight"]) = (new, old);
        rule["filters"] = mirror(route, split);
        let hosts: Vec<&str> = route.file.hosts.iter().map(HostName::as_str).collect();
        let hosts = if hosts.is_empty() { app["spec"]["hostnames"].clone() } else { json!(hosts) };
        Ok(json!({ "parentRefs": app["spec"]["parentRefs"], "hostnames": hosts, "rules": [rule] }))
    }

    /// Creates the object, which matches no request yet.
    fn create(&self, split: &Split) -> anyhow::Result<()> {
        let (mut spec, text) = (self.spec(&self.file()?, split)?, serde_json::to_string(split)?);
        for it in spec["rules"][0]["matches"].as_array_mut().into_iter().flatten() {
            it["headers"] = json!([{ "name": PARKED, "value": "new" }]);
        }
        let metadata = json!({ "name": self.name(), "labels": { MANAGED_BY: "carve" },
            "annotations": { ANNOTATION: text } });
        let object = json!({ "apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute",
            "metadata": metadata, "spec": spec });
        self.send("POST", "", Some(("application/json", &object)))
    }

    /// Replaces the object's `spec` if its weights are still what carve last set, and waits until it is served.
    fn reach(&self, split: &Split, interrupted: &AtomicBool) -> anyhow::Result<()> {
        let found = self.object()?.with_context(|| format!("{} is gone", self.shown()))?;
        let (spec, text) = (self.spec(&self.file()?, split)?, serde_json::to_string(split)?);
        let annotation = format!("/metadata/annotations/{}", ANNOTATION.replace('/', "~1"));
        let [new, old] = weights(self.said(&found)?.share_percent);
        // The tests refuse the patch if somebody has changed the weights meanwhile.
        let patch = json!([
            { "op": "test", "path": format!("{BACKENDS}/0/weight"), "value": new },
            { "op": "test", "path": format!("{BACKENDS}/1/weight"), "value": old },
            { "op": "replace", "path": "/spec", "value": spec },
            { "op": "replace", "path": annotation, "value": text },
        ]);
        self.send("PATCH", &self.name(), Some((JSON_PATCH, &patch)))?;
        self.wait(interrupted, || {
            ensure!(self.served()? == *split, "it has another split");
            Ok(())
        })
    }

    /// Waits until `is_so` is no error. Fails with its last one if that takes too long, or `interrupted` is set.
    fn wait(
        &self,
        interrupted: &AtomicBool,
        is_so: impl Fn() -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut last = Ok(());
        let late = |total| format!("{} is not in force after {total:?}", self.shown());
        let waited = PATIENCE.wait(interrupted, late, |_| {
            last = is_so();
            last.is_ok()
        });
        waited.or_else(|late| last.context(late))
    }

    /// The split that carve last wrote to the object. Fails if its weights are others.
    fn said(&self, object: &Value) -> anyhow::Result<Split> {
        let shown = self.shown();
        let text = object["metadata"]["annotations"][ANNOTATION].as_str();
        let split = text.and_then(Split::from_json);
        let split = split.with_context(|| format!("{shown} has no {ANNOTATION}"))?;
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

    /// Makes the object match no request, whatever it says, and removes it once the gateways know, so that the app's
    /// HTTPRoute answers. If they do not take the change, or it `is_late`, removes the object all the same. Returns
    /// whether it is gone.
    ///
    /// A weight of 0 or a removal at once would lose requests: Envoy Gateway takes a side's cluster away some milliseconds
    /// before the route to it, and Envoy answers 500 for the time between.
    fn to_old(&self, is_late: bool) -> anyhow::Result<bool> {
        let Some(object) = self.object()? else { return Ok(true) };
        let is_known = is_parked(&object) && is_current(&object).is_ok();
        if !is_late && !is_known && (is_parked(&object) || self.park(&object).is_ok()) {
            return Ok(false);
        }
        if !is_late && is_known {
            thread::sleep(SETTLES);
        }
        self.send("DELETE", &self.name(), None)?;
        Ok(false)
    }

    /// Makes the object match no request. Fails if that cannot be: somebody has given it other rules, or no matches.
    fn park(&self, object: &Value) -> anyhow::Result<()> {
        let rules = object["spec"]["rules"].as_array().map_or(0, Vec::len);
        let matches = object["spec"]["rules"][0]["matches"].as_array().map_or(0, Vec::len);
        ensure!(rules == 1 && matches > 0, "{} has other rules", self.shown());
        let nobody = json!([{ "name": PARKED, "value": object["metadata"]["uid"] }]);
        let path = |it| format!("/spec/rules/0/matches/{it}/headers");
        let add = |it| json!({ "op": "add", "path": path(it), "value": nobody });
        let patch = Value::from_iter((0..matches).map(add));
        self.send("PATCH", &self.name(), Some((JSON_PATCH, &patch)))
    }
}

/// Whether the object matches no request, on the way back.
fn is_parked(object: &Value) -> bool {
    let matches = object["spec"]["rules"][0]["matches"].as_array();
    matches.is_some_and(|all| {
        !all.is_empty() && all.iter().all(|it| it["headers"][0]["name"] == PARKED)
    })
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
        match self.object()? {
            // A side's cluster has to be there before requests are routed to it.
            None => {
                self.create(split)?;
                self.wait(interrupted, || is_current(&self.object()?.context("it is gone")?))?;
                thread::sleep(SETTLES);
            }
            Some(found) => {
                let was = found.pointer(BACKENDS).and_then(|it| it[1]["weight"].as_u64());
                let [_, will] = weights(split.share_percent).map(|it| it.as_u64());
                if was.min(will) == Some(0) && was.max(will) > Some(1) {
                    let nearly = Split { share_percent: NEARLY.try_into()?, ..split.clone() };
                    self.reach(&nearly, interrupted)?;
                    thread::sleep(SETTLES);
                }
            }
        }
        self.reach(split, interrupted)
    }

    /// The split of the object, once its gateways have it. Without an object, the app's HTTPRoute answers: 0%.
    fn served(&self) -> anyhow::Result<Split> {
        let Some(object) = self.object()? else {
            let split = current(&route_dir(&self.dir, &self.route));
            let split = split.or_else(|_| Ok::<_, anyhow::Error>(Split::first(&self.file()?)))?;
            return Ok(Split { share_percent: Share::NONE, ..split });
        };
        is_current(&object).with_context(|| self.shown())?;
        ensure!(!is_parked(&object), "{} is on its way back to 0%", self.shown());
        self.said(&object)
    }

    fn stop(&self) -> anyhow::Result<()> {
        // Only this is for certain; the API may be back in a moment.
        if let Ok(found) = self.get(&self.name()) {
            self.ours(found)?;
        }
        let since = Instant::now();
        PATIENCE.wait_for_stop(|| self.to_old(since.elapsed() > LATE))
    }

    fn routes(&self) -> anyhow::Result<Vec<ServedRoute>> {
        known(&self.files)
    }
}

/// The routes of a folder whose traffic a gateway moves.
pub(super) fn known(files: &Path) -> anyhow::Result<Vec<ServedRoute>> {
    let of_gateway = load(files)?.1.into_iter().filter(|route| route.file.gateway.is_some());
    Ok(of_gateway.map(|route| ServedRoute::of(route.name)).collect())
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

/// Checks that all gateways of an object have accepted its present form, and know its Services.
pub(super) fn is_current(object: &Value) -> anyhow::Result<()> {
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
