//! The input files of `carve compare`. The whole file is an HTTP Archive (HAR), as browsers save it, or each line is
//! one of these:
//!
//! ```text
//! /report?year=2026
//! 203.0.113.7 - - [27/Nov/2026:10:00:00 +0000] "GET /report?year=2026 HTTP/1.1" 200 512 "-" "curl/8.5"
//! {"method":"POST","path":"/orders","headers":{"content-type":"application/json"},"body":"{\"sku\":4}"}
//! ```

use std::collections::BTreeMap;

use anyhow::{Context, bail, ensure};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::header::{CONTENT_TYPE, HOST};
use http::uri::PathAndQuery;
use http::{HeaderName, HeaderValue, Method, Uri};
use serde::Deserialize;

use crate::mirrored::MirroredRequest;

/// Headers that belong to a connection, so that the client sets its own.
const OF_THE_CONNECTION: [HeaderName; 5] = [
    http::header::CONNECTION,
    http::header::CONTENT_LENGTH,
    http::header::EXPECT,
    http::header::TRANSFER_ENCODING,
    http::header::UPGRADE,
];

/// A request of a file.
#[derive(Debug)]
pub(super) struct RecordedRequest {
    /// The number of its line, or of its entry in a HAR, from 1.
    pub(super) number: usize,
    pub(super) asked: MirroredRequest,
    /// Whether a browser recorded the headers; otherwise they were chosen by hand.
    pub(super) is_recorded: bool,
}

/// The content of a file.
#[derive(Debug, Default)]
pub(super) struct RequestFile {
    pub(super) given: Vec<RecordedRequest>,
    /// The lines of an access log whose request cannot be sent again, each with the reason.
    pub(super) lost: Vec<(usize, &'static str)>,
}

/// Reads a file. The error names the line and the problem.
pub(super) fn parse(content: &[u8]) -> anyhow::Result<RequestFile> {
    if let Ok(Har { log }) = serde_json::from_slice(content) {
        let given = log.entries.into_iter().enumerate().map(|(i, entry)| {
            entry.request.given(i + 1).with_context(|| format!("entry {}", i + 1))
        });
        return Ok(RequestFile {
            given: given.collect::<anyhow::Result<_>>()?,
            ..RequestFile::default()
        });
    }
    let mut parsed = RequestFile::default();
    for (number, line) in (1..).zip(content.split(|&byte| byte == b'\n')) {
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let shown = || {
            let text = String::from_utf8_lossy(line);
            format!("line {number}: {:?}", text.chars().take(60).collect::<String>())
        };
        match line[0] {
            b'/' => {
                let target = PathAndQuery::try_from(line)
                    .with_context(|| format!("{} is not a path and query", shown()))?;
                parsed.given.push(RecordedRequest::get(number, target));
            }
            b'{' => parsed.given.push(written(number, line).with_context(shown)?),
            _ => match logged(number, line) {
                Some(Ok(given)) => parsed.given.push(given),
                Some(Err(why)) => parsed.lost.push((number, why)),
                None => bail!(
                    "{}: must be a path and query such as /report?year=2026, a JSON object, or a line of an \
                     access log",
                    shown()
                ),
            },
        }
    }
    Ok(parsed)
}

impl RecordedRequest {
    fn get(number: usize, target: PathAndQuery) -> Self {
        RecordedRequest { number, asked: MirroredRequest::get(target), is_recorded: false }
    }
}

/// A line of JSON.
fn written(number: usize, line: &[u8]) -> anyhow::Result<RecordedRequest> {
    #[derive(Deserialize)]
    #[serde(deny_unknown_fields)]
    struct JsonRequest {
        method: Option<String>,
        path: String,
        #[serde(default)]
        headers: BTreeMap<String, String>,
        body: Option<String>,
        body_base64: Option<String>,
    }

    let JsonRequest { method, path, headers, body, body_base64 } = serde_json::from_slice(line)?;
    ensure!(path.starts_with('/'), "path: {path:?}: must begin with /");
    let body = match (body, body_base64) {
        (Some(_), Some(_)) => bail!("body and body_base64: only one of them"),
        (body, None) => body.unwrap_or_default().into(),
        (None, Some(coded)) => STANDARD.decode(coded).context("body_base64")?.into(),
    };
    let target = path.parse().with_context(|| format!("path: {path:?}"))?;
    let mut given = RecordedRequest::get(number, target);
    given.asked.body = body;
    given.asked.method = method.map_or(Ok(Method::GET), |it| it.parse()).context("method")?;
    for (name, value) in headers {
        let of = || format!("headers: {name}");
        let parsed: HeaderName = name.parse().with_context(of)?;
        ensure!(!OF_THE_CONNECTION.contains(&parsed), "{}: compare sets it itself", of());
        given.asked.headers.append(parsed, value.parse().with_context(of)?);
    }
    Ok(given)
}

/// Reads a line of an access log, which has the request in quotes. `None` if there are no quotes. The inner error says
/// why the request cannot be sent again: it is not valid, or its body is not in the log.
fn logged(number: usize, line: &[u8]) -> Option<Result<RecordedRequest, &'static str>> {
    let line = String::from_utf8_lossy(line);
    let request = line.split('"').nth(1)?;
    let words: Vec<&str> = request.split(' ').collect();
    let parsed = match words[..] {
        [method, target, version] if version.starts_with("HTTP/") && target.starts_with('/') => {
            method.parse().ok().zip(target.parse().ok())
        }
        _ => None,
    };
    let Some((method, target)): Option<(Method, _)> = parsed else {
        return Some(Err("without a request"));
    };
    if !["GET", "HEAD", "OPTIONS"].contains(&method.as_str()) {
        return Some(Err("whose body is not in the log"));
    }
    let mut given = RecordedRequest::get(number, target);
    given.asked.method = method;
    Some(Ok(given))
}

#[derive(Deserialize)]
struct Har {
    log: HarLog,
}

#[derive(Deserialize)]
struct HarLog {
    entries: Vec<HarEntry>,
}

#[derive(Deserialize)]
struct HarEntry {
    request: HarRequest,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarRequest {
    method: String,
    url: String,
    #[serde(default)]
    headers: Vec<HarHeader>,
    post_data: Option<HarBody>,
}

#[derive(Deserialize)]
struct HarHeader {
    name: String,
    value: String,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct HarBody {
    #[serde(default)]
    mime_type: String,
    #[serde(default)]
    text: String,
}

impl HarRequest {
    fn given(self, number: usize) -> anyhow::Result<RecordedRequest> {
        let HarRequest { method, url, headers, post_data } = self;
        let without_fragment = url.split('#').next().unwrap_or_default();
        let uri: Uri = without_fragment.parse().context("url")?;
        let target = uri.path_and_query().cloned().unwrap_or(PathAndQuery::from_static("/"));
        let mut asked = MirroredRequest {
            method: method.parse().context("method")?,
            ..MirroredRequest::get(target)
        };
        for HarHeader { name, value } in headers {
            // HTTP/2's pseudo-headers begin with a colon and are not valid names; they only repeat method and url.
            let name = name.parse::<HeaderName>().ok().filter(|it| !OF_THE_CONNECTION.contains(it));
            if let Some((name, value)) = name.zip(value.parse::<HeaderValue>().ok()) {
                asked.headers.append(name, value);
            }
        }
        if let Some(host) = uri.authority() {
            asked.headers.insert(HOST, host.as_str().parse().context("url")?);
        }
        if let Some(HarBody { mime_type, text }) = post_data {
            asked.body = text.into();
            if !asked.headers.contains_key(CONTENT_TYPE) && !mime_type.is_empty() {
                asked.headers.insert(CONTENT_TYPE, mime_type.parse().context("postData.mimeType")?);
            }
        }
        Ok(RecordedRequest { number, asked, is_recorded: true })
    }
}

#[cfg(test)]
mod tests;
