//! HTTPRoutes behind the simulated Kubernetes API, and a controller that accepts each change.

use std::collections::BTreeMap;

use serde_json::{Value, json};

/// The HTTPRoutes of the namespace `qr` by name, and the behaviour of their gateway.
#[derive(Default)]
pub(crate) struct HttpRoutes {
    pub(crate) all: BTreeMap<String, Value>,
    /// Whether no controller looks at changes.
    pub(crate) is_unseen: bool,
    /// The verb that is forbidden.
    pub(crate) forbidden: Option<&'static str>,
    /// The patches that were accepted.
    pub(crate) patches: usize,
    /// The weights that each change of an object with two backends left, and whether it then matched no request.
    pub(crate) changes: Vec<(u64, u64, bool)>,
}

impl HttpRoutes {
    pub(crate) fn answer(&mut self, verb: &str, name: &str, body: &Value) -> (u16, Value) {
        let missing = json!({ "message": "not found", "details": { "name": name } });
        if self.forbidden == Some(verb) {
            return (403, json!({ "message": format!("cannot {verb} resource \"httproutes\"") }));
        }
        match verb {
            "get" => self.all.get(name).map_or((404, missing), |it| (200, it.clone())),
            "post" => (201, self.put(body.clone())),
            "patch" => {
                let Some(mut object) = self.all.get(name).cloned() else { return (404, missing) };
                for change in body.as_array().unwrap() {
                    if let Err(problem) = apply(&mut object, change) {
                        return (422, json!({ "message": problem }));
                    }
                }
                self.patches += 1;
                (200, self.put(object))
            }
            "delete" => self.all.remove(name).map_or((404, missing), |it| (200, it)),
            other => panic!("{other}"),
        }
    }

    /// Stores an object, whose generation rises if its `spec` is another one.
    pub(crate) fn put(&mut self, mut object: Value) -> Value {
        let name = object["metadata"]["name"].as_str().unwrap().to_owned();
        let before = self.all.get(&name);
        let generation = before.and_then(|it| it["metadata"]["generation"].as_u64()).unwrap_or(0);
        let is_new = before.is_none_or(|it| it["spec"] != object["spec"]);
        let generation = generation + u64::from(is_new);
        object["metadata"]["generation"] = json!(generation);
        if !self.is_unseen {
            let said = |kind| json!({ "type": kind, "status": "True", "message": "", "observedGeneration": generation });
            let parent = json!({ "parentRef": { "name": "eg" },
                "conditions": [said("Accepted"), said("ResolvedRefs")] });
            object["status"] = json!({ "parents": [parent] });
        }
        self.all.insert(name.clone(), object.clone());
        if let Some((new, old)) = self.weights(&name) {
            let header = &object["spec"]["rules"][0]["matches"][0]["headers"][0]["name"];
            self.changes.push((new, old, header == "X-Carve-Parked"));
        }
        object
    }

    /// The answer to a SelfSubjectAccessReview.
    pub(crate) fn review(&self, review: &Value) -> (u16, Value) {
        let verb = review["spec"]["resourceAttributes"]["verb"].as_str();
        let verb = if verb == Some("create") { Some("post") } else { verb };
        (201, json!({ "status": { "allowed": verb != self.forbidden } }))
    }

    /// The two weights of an object; `None` if it does not exist.
    pub(crate) fn weights(&self, name: &str) -> Option<(u64, u64)> {
        let backends = &self.all.get(name)?["spec"]["rules"][0]["backendRefs"];
        Some((backends[0]["weight"].as_u64()?, backends[1]["weight"].as_u64()?))
    }
}

/// One operation of a JSON Patch (RFC 6902), as far as carve uses them.
fn apply(object: &mut Value, change: &Value) -> Result<(), String> {
    let path = change["path"].as_str().unwrap();
    let (parent, key) = path.rsplit_once('/').unwrap();
    let parent = object.pointer_mut(parent).ok_or(format!("{path} is missing"))?;
    let key = key.replace("~1", "/");
    let place = match parent.is_array() {
        true => parent.get_mut(key.parse::<usize>().unwrap()).ok_or("out of range")?,
        false => &mut parent[key],
    };
    match change["op"].as_str().unwrap() {
        "test" if *place == change["value"] => {}
        "test" => return Err(format!("testing value {path} failed")),
        "replace" | "add" => *place = change["value"].clone(),
        other => panic!("{other}"),
    }
    Ok(())
}
