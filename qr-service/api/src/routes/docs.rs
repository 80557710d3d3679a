//! `/v1/docs`: the description, shown by the [`viewer`]. `/v1/docs/plain` is the same made here from the OpenAPI
//! document, without a script; `/v1/docs` is that too in a program without the viewer.

use std::fmt::Write;
use std::sync::LazyLock;

use axum::extract::Request;
use axum::response::Response;
use serde_json::Value;

use super::{openapi, page, viewer};
use crate::fault::PROBLEMS;

static PLAIN: LazyLock<String> = LazyLock::new(|| plain_page(&openapi::document()));
static VIEWED: LazyLock<String> = LazyLock::new(viewed_page);

const HEAD: &str = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
<meta name=\"color-scheme\" content=\"light dark\"><title>QR codes: /v1/</title>\
<link rel=\"icon\" href=\"/v1/assets/icon.svg\" type=\"image/svg+xml\">\
";

/// Of both pages; the last style sheet, as it gives the viewer's some of the page's colours.
const STYLE: &str = "<link rel=\"stylesheet\" href=\"/v1/assets/page.css\"></head>";

/// What both pages begin with.
const TOP: &str = "<header>\
<img src=\"/v1/assets/icon.svg\" alt=\"\" width=\"36\" height=\"36\"><h1>QR codes: <code>/v1/</code></h1>\
<nav aria-label=\"Pages\"><a href=\"/v1/\">Playground</a> <a href=\"/v1/openapi.json\">OpenAPI</a></nav>\
</header><main><section class=\"card\"><p>Ask by <code>GET</code> with a query, or by <code>POST</code> with \
the same names in JSON. What is not plain black on white at whole pixels is decoded before it is sent; a \
picture that nobody could read is refused with 422.</p>\
<pre>curl -o code.png 'http://HOST/v1/qr.png?text=https://example.com/'\n\
curl -o wifi.svg http://HOST/v1/payload/wifi.svg -H 'content-type: application/json' \\\n  \
-d '{\"ssid\": \"guests\", \"password\": \"come in, please\"}'\n\
curl http://HOST/v1/decode -H 'content-type: image/png' --data-binary @code.png</pre>\
<p>Examples: <a href=\"/v1/qr.svg?text=hello&amp;dark=036\">an SVG in blue</a>, \
<a href=\"/v1/qr.png?text=hello&amp;kind=rmqr\">an rMQR symbol</a>, \
<a href=\"/v1/payload/geo.png?latitude=52.5&amp;longitude=13.4\">a place</a>.</p></section>";

/// Writing to a string cannot fail.
fn put(page: &mut String, text: std::fmt::Arguments<'_>) {
    let _ = page.write_fmt(text);
}

fn viewed_page() -> String {
    let mut page = HEAD.to_owned();
    page.push_str(
        "<link rel=\"stylesheet\" href=\"/v1/assets/swagger-ui/style.css\">\
        <script src=\"/v1/assets/swagger-ui/bundle.js\" defer></script>\
        <script src=\"/v1/assets/docs.js\" defer></script>",
    );
    page.push_str(STYLE);
    page.push_str("<body class=\"viewed\">");
    page.push_str(TOP);
    page.push_str(
        "<noscript><p class=\"card\"><a href=\"/v1/docs/plain\">The same without a script</a></p></noscript>\
        <div id=\"viewer\"></div>\
        <p><small>Shown by Swagger UI (<a href=\"/v1/assets/swagger-ui/notices.txt\">licences</a>). \
        <a href=\"/v1/docs/plain\">The same without a script</a></small></p>",
    );
    put_problems(&mut page);
    page
}

fn plain_page(document: &Value) -> String {
    let mut page = HEAD.to_owned();
    page.push_str(STYLE);
    page.push_str("<body class=\"docs\">");
    page.push_str(TOP);
    if !viewer::IS_HERE {
        page.push_str(
            "<p class=\"card\">This program was built without the viewer, swagger-ui-dist.</p>",
        );
    }
    let mut paths: Vec<_> = document["paths"].as_object().into_iter().flatten().collect();
    paths.sort_by_key(|(path, _)| !path.starts_with("/v1/qr"));
    page.push_str("<nav class=\"card\" aria-label=\"Paths\"><ul class=\"toc\">");
    for (path, methods) in &paths {
        let path = escape(path);
        put(
            &mut page,
            format_args!("<li><a href=\"#{}\"><code>{path}</code></a>", anchor(methods)),
        );
    }
    page.push_str("<li><a href=\"#problems\">Problems</a></ul></nav>");
    for (path, methods) in paths {
        put_path(&mut page, document, path, methods);
    }
    put_problems(&mut page);
    page
}

/// The kinds of problems, to which the `type` of a problem document leads, and the page's end.
fn put_problems(page: &mut String) {
    page.push_str(
        "<section class=\"card\" id=\"problems\"><h2>Problems</h2><p>Errors are problem documents (RFC 9457). \
        <code>faults</code> lists all that is wrong with a request: the parameter, a code, and what would \
        work.</p><dl>",
    );
    for (anchor, meaning) in PROBLEMS {
        let meaning = marked(meaning);
        put(page, format_args!("<dt id=\"{anchor}\"><code>{anchor}</code><dd>{meaning}"));
    }
    page.push_str("</dl></section></main></body></html>\n");
}

/// Where a path is described.
fn anchor(methods: &Value) -> String {
    let id = methods.as_object().and_then(|it| it.values().next()?["operationId"].as_str());
    id.unwrap_or_default().trim_end_matches("_post").to_owned()
}

fn put_path(page: &mut String, document: &Value, path: &str, methods: &Value) {
    let operations = || methods.as_object().into_iter().flatten();
    let (id, path) = (anchor(methods), escape(path));
    put(page, format_args!("<section class=\"card\" id=\"{id}\"><h2>"));
    for (method, _) in operations() {
        put(page, format_args!("<span class=\"method\">{}</span> ", method.to_uppercase()));
    }
    put(page, format_args!("<code>{path}</code></h2>"));
    let Some((_, first)) = operations().next() else { return };
    put(page, format_args!("<p>{}</p>", marked(first["summary"].as_str().unwrap_or_default())));
    put_parameters(page, document, first);
    page.push_str("<h3>Answers</h3><table><tr><th>status<th>");
    for (status, answer) in first["responses"].as_object().into_iter().flatten() {
        let description = marked(answer["description"].as_str().unwrap_or_default());
        let media = answer["content"].as_object().into_iter().flatten();
        let media: Vec<String> =
            media.map(|(name, _)| format!("<code>{}</code>", escape(name))).collect();
        let media = media.join(", ");
        put(page, format_args!("<tr><td><code>{status}</code><td>{description} {media}"));
    }
    page.push_str("</table></section>");
}

/// The parameters of an operation's query, or the properties of its body.
fn put_parameters(page: &mut String, document: &Value, operation: &Value) {
    let reference = &operation["requestBody"]["content"]["application/json"]["schema"]["$ref"];
    let name = reference.as_str().and_then(|it| it.rsplit('/').next()).unwrap_or_default();
    let body = &document["components"]["schemas"][name];
    let is_required = |name: &str| {
        body["required"].as_array().into_iter().flatten().any(|required| required == name)
    };
    let of_body = body["properties"].as_object().into_iter().flatten();
    let of_body = of_body.map(|(name, schema)| (name.as_str(), schema, schema, is_required(name)));
    let of_query = operation["parameters"].as_array().into_iter().flatten();
    let of_query = of_query.map(|it| {
        (it["name"].as_str().unwrap_or_default(), it, &it["schema"], it["required"] == true)
    });
    let mut rows: Vec<(&str, &Value, &Value, bool)> = of_query.chain(of_body).collect();
    if rows.is_empty() {
        return;
    }
    // What is required comes first.
    rows.sort_by_key(|(name, _, _, required)| !(*required || *name == "text"));
    page.push_str("<table><tr><th>parameter<th>values<th>default<th>");
    for (name, described, schema, required) in rows {
        let description = described["description"].as_str().or(schema["description"].as_str());
        let required = if required { " <span class=\"required\">required</span>" } else { "" };
        let default = match &schema["default"] {
            Value::Null => String::new(),
            Value::String(text) => format!("<code>{}</code>", escape(text)),
            other => format!("<code>{other}</code>"),
        };
        let (name, values) = (escape(name), values(schema));
        let description = marked(description.unwrap_or_default());
        put(
            page,
            format_args!(
                "<tr><td><code>{name}</code>{required}<td>{values}<td>{default}<td>{description}"
            ),
        );
    }
    page.push_str("</table>");
}

/// The values that a schema allows, in short.
fn values(schema: &Value) -> String {
    let options = schema["oneOf"].as_array().into_iter().flatten();
    let allowed = options.map(|it| &it["enum"]).find(|it| it.is_array()).unwrap_or(&schema["enum"]);
    if let Some(allowed) = allowed.as_array() {
        let names = allowed.iter().filter_map(Value::as_str);
        let names: Vec<_> = names.map(|name| format!("<code>{}</code>", escape(name))).collect();
        return names.join(", ");
    }
    let bounds = |low: &str, high: &str, unit: &str| match (&schema[low], &schema[high]) {
        (Value::Null, Value::Null) => None,
        (low, Value::Null) => Some(format!("from {low}{unit}")),
        (Value::Null, high) => Some(format!("up to {high}{unit}")),
        (low, high) => Some(format!("{low} to {high}{unit}")),
    };
    let bounds =
        bounds("minimum", "maximum", "").or(bounds("minLength", "maxLength", " characters"));
    let of = schema["type"].as_array().and_then(|types| types.iter().find(|it| *it != "null"));
    bounds.unwrap_or_else(|| escape(of.unwrap_or(&schema["type"]).as_str().unwrap_or_default()))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// A description with what stands between backticks as code.
fn marked(text: &str) -> String {
    let mut out = String::new();
    for (index, part) in text.split('`').enumerate() {
        let part = escape(part);
        // Odd parts are between two backticks, if the last of them is closed.
        if index % 2 == 1 && text.matches('`').count() > index {
            put(&mut out, format_args!("<code>{part}</code>"));
        } else {
            out.push_str(&part);
        }
    }
    out
}

const HTML: &str = "text/html; charset=utf-8";

/// Answers `/v1/docs`.
pub(super) async fn get(request: Request) -> Response {
    let page = if viewer::IS_HERE { &VIEWED } else { &PLAIN };
    page::serve(&request, HTML, page.as_str())
}

/// Answers `/v1/docs/plain`.
pub(super) async fn plain(request: Request) -> Response {
    page::serve(&request, HTML, PLAIN.as_str())
}
