//! Writes `state.json`, which the admin listener serves at `/state` and the proxies of other machines follow. It has
//! the splits, stops and runs of this machine under the keys of a cluster's ConfigMap.

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use serde_json::{Map, Value, json};

use crate::cluster::key;
use crate::folder::{prepared, route_dir};
use crate::split::current;
use crate::state::{Heartbeat, State};
use crate::store::{Files, Store};
use crate::{files, pulse};

/// Writes `state.json` if its content has changed.
pub(crate) fn write(nginx_dir: &Path) -> anyhow::Result<()> {
    let mut data = Map::new();
    for route in prepared(nginx_dir) {
        let dir = route_dir(nginx_dir, &route);
        let Ok(split) = current(&dir) else { continue }; // another process writes it right now
        data.insert(key(&route, "conf"), split.share_file().into());
        let store = Files { nginx_dir: nginx_dir.to_owned(), route: route.clone() };
        if let Some(stop) = store.stop()? {
            data.insert(key(&route, "stop"), stop.text().into());
        }
        if let Some(state) = State::load(&dir)? {
            let beat = pulse::last(&dir).unwrap_or(SystemTime::UNIX_EPOCH);
            let beat = beat.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let beat = u64::try_from(beat.as_millis()).unwrap_or_default();
            // Others do not need the run's counts.
            let told = Heartbeat { beat, holder: None, state: State { trial: None, ..state } };
            data.insert(key(&route, "run"), serde_json::to_string(&told)?.into());
        }
    }
    let (file, text) = (nginx_dir.join("state.json"), json!({ "data": Value::Object(data) }));
    let text = text.to_string();
    if fs::read_to_string(&file).is_ok_and(|before| before == text) {
        return Ok(());
    }
    files::replace(&file, &text)
}
