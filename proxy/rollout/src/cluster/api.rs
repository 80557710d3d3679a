//! A client for one ConfigMap of the Kubernetes API, or for JSON of the same form: a copy in a file, or another
//! machine's state.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use serde_json::{Value, json};
use ureq::{Agent, RequestBuilder};

use super::ConfigMap;
use crate::{files, http};

const TIMEOUT: Duration = Duration::from_secs(5);
/// The timeout for another machine. Short, since it is on the same network, and a lost packet must not delay a
/// rollback.
const OF_A_MACHINE: Duration = Duration::from_secs(2);
/// How often to read a copy, and another machine's state.
const LOOK_AT_COPY: Duration = Duration::from_millis(50);
const LOOK_AT_MACHINE: Duration = Duration::from_millis(200);
/// How long a watch lasts. Its end reveals a dead connection.
const WATCH: Duration = Duration::from_secs(10);

/// Why a request failed even if it was tried several times.
pub(super) const KEEPS_CHANGING: &str = "the ConfigMap keeps changing";
/// The path of a machine's state at nginx' admin listener.
pub(super) const STATE: &str = "/state";

/// The API's reason to refuse a request.
pub(super) fn refused(path: &str, status: u16, answer: &Value) -> anyhow::Error {
    anyhow!("{path}: {status} {}", answer["message"].as_str().unwrap_or_default())
}

#[derive(Debug)]
pub(super) struct Api {
    url: String,
    /// The file of the token. Read at each request, since the kubelet replaces the token before it expires.
    token: Option<PathBuf>,
    agent: Agent,
}

impl Api {
    pub(super) fn new(url: &str, credentials: &Path) -> anyhow::Result<Self> {
        let mut config = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_connect(Some(TIMEOUT))
            .timeout_recv_response(Some(TIMEOUT))
            .timeout_global(Some(TIMEOUT))
            // The API is in the same cluster, and no proxy may see the token.
            .proxy(None);
        let mut token = None;
        if url.starts_with("https:") {
            config = trust(config, &credentials.join("ca.crt"))?;
            token = Some(credentials.join("token"));
        }
        Ok(Api { url: url.trim_end_matches('/').to_owned(), token, agent: config.build().into() })
    }

    /// The file of the copy that another process keeps, which has the token; `None` if this is not a copy.
    pub(super) fn copy(&self) -> Option<&Path> {
        self.url.strip_prefix("file:").map(Path::new)
    }

    /// Whether this is another machine's state.
    pub(super) fn is_of_a_machine(&self) -> bool {
        self.url.ends_with(STATE)
    }

    /// How often to read the object; `None` for the Kubernetes API, which reports changes itself.
    pub(super) fn look(&self) -> Option<Duration> {
        match self.copy() {
            Some(_) => Some(LOOK_AT_COPY),
            None => self.is_of_a_machine().then_some(LOOK_AT_MACHINE),
        }
    }

    pub(super) fn get(&self, of: &ConfigMap) -> anyhow::Result<Value> {
        if let Some(file) = self.copy() {
            let object = serde_json::from_str(&files::read(file)?);
            return object.with_context(|| file.display().to_string());
        }
        if self.is_of_a_machine() {
            let object = serde_json::from_str(&http::body("the proxy", &self.url, OF_A_MACHINE)?);
            return object.with_context(|| self.url.clone());
        }
        self.object(&of.path(), self.call("GET", &of.path(), None)?)?.context(KEEPS_CHANGING)
    }

    /// Merges `patch` into the object. Returns `false` if the patch names a version that somebody has changed since.
    pub(super) fn patch(&self, of: &ConfigMap, patch: &Value) -> anyhow::Result<bool> {
        let (path, media) = (of.path(), "application/merge-patch+json");
        let answer = self.call("PATCH", &path, Some((media, patch)))?;
        Ok(self.object(&path, answer)?.is_some())
    }

    /// Calls `take` with the current object and after each change, until `take` returns false or the API ends the watch
    /// after [`WATCH`]. It sends no resource version: the watch then begins with the current object, so no version can
    /// be too old, and no list request is needed.
    pub(super) fn watch(
        &self,
        of: &ConfigMap,
        mut take: impl FnMut(Value) -> bool,
    ) -> anyhow::Result<()> {
        let ConfigMap { namespace, name } = of;
        let url = format!("{}/api/v1/namespaces/{namespace}/configmaps", self.url);
        let request = self.with_bearer(self.agent.get(url))?;
        let request = request.query_pairs([
            ("watch", "true"),
            ("fieldSelector", &format!("metadata.name={name}")),
            ("timeoutSeconds", &WATCH.as_secs().to_string()),
        ]);
        let request = request.config().timeout_global(Some(WATCH + TIMEOUT)).build();
        let mut answer = request.call().with_context(|| format!("no answer from {}", self.url))?;
        if answer.status() != 200 {
            let text = answer.body_mut().read_to_string().unwrap_or_default();
            bail!("{}: {} {text}", of.path(), answer.status());
        }
        for line in BufReader::new(answer.body_mut().as_reader()).lines() {
            let mut event: Value = serde_json::from_str(&line?)?;
            let object = event["object"].take();
            let is_wanted = match event["type"].as_str() {
                Some("ADDED" | "MODIFIED") => take(object),
                Some("DELETED") => bail!("{}: the ConfigMap is gone", of.path()),
                _ => bail!("{}: {}", of.path(), object["message"]),
            };
            if !is_wanted {
                break;
            }
        }
        Ok(())
    }

    /// Sends a request with a body of this media type and returns the status and the JSON of the answer. Fails if there
    /// is no answer.
    pub(super) fn call(
        &self,
        method: &str,
        path: &str,
        body: Option<(&str, &Value)>,
    ) -> anyhow::Result<(u16, Value)> {
        let mut request = ureq::http::Request::builder().method(method);
        request = request.uri(format!("{}{path}", self.url));
        if let Some(bearer) = self.bearer()? {
            request = request.header("Authorization", bearer);
        }
        if let Some((media, _)) = body {
            request = request.header("Content-Type", media);
        }
        let body = body.map_or(String::new(), |(_, body)| body.to_string());
        let answer = self.agent.run(request.body(body)?);
        let mut answer = answer.with_context(|| format!("no answer from {}", self.url))?;
        let text = answer.body_mut().read_to_string().context("the Kubernetes API")?;
        let object = serde_json::from_str(&text).unwrap_or_else(|_| json!({ "message": text }));
        Ok((answer.status().as_u16(), object))
    }

    fn bearer(&self) -> anyhow::Result<Option<String>> {
        let read = |file: &PathBuf| Ok(format!("Bearer {}", files::read(file)?.trim()));
        self.token.as_ref().map(read).transpose()
    }

    fn with_bearer<B>(&self, request: RequestBuilder<B>) -> anyhow::Result<RequestBuilder<B>> {
        Ok(match self.bearer()? {
            Some(bearer) => request.header("Authorization", bearer),
            None => request,
        })
    }

    /// The object in an answer; `None` if the answer is a conflict.
    fn object(&self, path: &str, (status, object): (u16, Value)) -> anyhow::Result<Option<Value>> {
        match status {
            200 => Ok(Some(object)),
            409 => Ok(None),
            _ => Err(refused(path, status, &object)),
        }
    }
}

type Configuration = ureq::config::ConfigBuilder<ureq::typestate::AgentScope>;

/// Trusts certificates signed by the authority in this file.
#[cfg(feature = "tls")]
fn trust(config: Configuration, authority: &Path) -> anyhow::Result<Configuration> {
    use ureq::tls::{Certificate, RootCerts, TlsConfig};

    let pem = files::read(authority)?;
    let certificate =
        Certificate::from_pem(pem.as_bytes()).with_context(|| authority.display().to_string())?;
    let roots = RootCerts::new_with_certs(&[certificate]);
    Ok(config.tls_config(TlsConfig::builder().root_certs(roots).build()))
}

#[cfg(not(feature = "tls"))]
fn trust(_: Configuration, _: &Path) -> anyhow::Result<Configuration> {
    anyhow::bail!(
        "the Kubernetes API needs TLS, but this program was built without it (feature tls)"
    )
}
