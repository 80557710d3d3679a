//! `/v1/openapi.json`: the OpenAPI document, made from the code.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use axum::extract::Request;
use axum::response::Response;
use qr_options::{Definition, Parameters};
use serde_json::{Value, json};
use utoipa::OpenApi;

use super::{batch, decode, grade, labels, page, qr};
use crate::v1::items::{Columns, MAX_ITEMS};
use crate::v1::options::{Format, Options};
use crate::v1::payload::{KINDS, Kind};
use crate::v1::sheet::Sheet;

/// Media types of binary bodies, besides pictures.
const BINARY: [&str; 3] = ["application/epl", "application/pdf", "application/zip"];

/// The longest head of a request that the server accepts. The query is part of the head.
const MAX_HEAD_BYTES: u64 = 16 * 1024;

#[derive(OpenApi)]
#[openapi(
    info(title = "qr-service", description = "QR codes with every option, checked by a decoder"),
    paths(qr::negotiated, qr::by_extension, batch::post, labels::post, decode::post, grade::post)
)]
struct Document;

static DOCUMENT: LazyLock<String> = LazyLock::new(|| document().to_string());

/// The document. Query parameters and JSON bodies are described from one schema, that of [`Options`].
fn document() -> Value {
    // utoipa's documents always serialise.
    let mut document = serde_json::to_value(Document::openapi()).unwrap_or_default();
    let responses = document["paths"]["/v1/qr"]["get"]["responses"].clone();
    let mut objects =
        vec![("Options".to_owned(), Options::schema(), sorted(&[Options::DEFINITIONS]))];
    for kind in &KINDS {
        let name = format!("Payload_{}", kind.name);
        let (path, schema, definitions) = describe_payload(kind, &name, &responses);
        document["paths"][format!("/v1/payload/{}", kind.name)] = path;
        objects.push((name, schema, definitions));
    }
    for (name, mut schema, definitions) in objects {
        schema["additionalProperties"] = false.into();
        let schemas = &mut document["components"]["schemas"];
        schemas[form_of(&name)] = of_form(&schema, &definitions);
        schemas[name] = schema;
    }
    let of_file = &mut document["paths"]["/v1/qr.{extension}"]["get"]["responses"];
    let not_found = of_file["404"].take();
    *of_file = responses;
    // This path ignores `Accept`.
    of_file.as_object_mut().map(|it| it.remove("406"));
    of_file["404"] = not_found;
    // The extension is the only parameter of the path.
    document["paths"]["/v1/qr.{extension}"]["get"]["parameters"][0]["schema"]["enum"] =
        json!(Format::NAMES);
    let Some(paths) = document["paths"].as_object_mut() else { return document };
    for (_, path) in paths.iter_mut().filter(|(name, _)| name.starts_with("/v1/qr")) {
        let query = query_of(&[Options::DEFINITIONS]);
        let mut post = path["get"].clone();
        post["operationId"] =
            json!(format!("{}_post", post["operationId"].as_str().unwrap_or_default()));
        take_body(&mut post, "Options");
        path["post"] = post;
        match path["get"]["parameters"].as_array_mut() {
            Some(parameters) => parameters.extend(query),
            None => path["get"]["parameters"] = Value::Array(query),
        }
    }
    let of_batch = query_of(&[Columns::DEFINITIONS, Options::DEFINITIONS]);
    let of_labels = query_of(&[Sheet::DEFINITIONS, Columns::DEFINITIONS, Options::DEFINITIONS]);
    for (path, query) in [("/v1/batch", of_batch), ("/v1/labels", of_labels)] {
        paths[path]["post"]["parameters"] = Value::Array(query);
        let items =
            &mut paths[path]["post"]["requestBody"]["content"]["application/json"]["schema"];
        items["minItems"] = 1.into();
        items["maxItems"] = MAX_ITEMS.into();
    }
    let problem = paths["/v1/batch"]["post"]["responses"]["400"]["content"].clone();
    let operations = paths.values_mut().filter_map(Value::as_object_mut).flatten();
    for (_, operation) in operations {
        let mut answer = |status: &str, description: &str| {
            operation["responses"][status] =
                json!({"description": description, "content": problem});
        };
        // The proxy in front sends these two answers.
        answer("429", "Too many requests from one address; Retry-After says when to try again");
        answer("414", "The URL has more than 8 kB; send the parameters as the body of a POST");
        // hyper sends this answer, so it has no problem document.
        let description = "The head has more than 16 kB; send the query as the body of a POST";
        operation["responses"]["431"] = json!({"description": description});
    }
    mark_binary(&mut document["paths"]);
    document
}

/// Describes binary bodies as binary strings, because utoipa describes bytes as arrays of numbers.
fn mark_binary(value: &mut Value) {
    let is_binary = |media: &str| {
        media.starts_with("image/") && media != "image/svg+xml" || BINARY.contains(&media)
    };
    match value {
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                match is_binary(name) {
                    true => *member = json!({"schema": {"type": "string", "format": "binary"}}),
                    false => mark_binary(member),
                }
            }
        }
        Value::Array(members) => members.iter_mut().for_each(mark_binary),
        _ => {}
    }
}

/// Adds a body, in JSON or as a form, to an operation, and the error answers for such a body.
fn take_body(post: &mut Value, schema: &str) {
    let body = |schema: &str| json!({"schema": {"$ref": format!("#/components/schemas/{schema}")}});
    let content =
        json!({"application/json": body(schema), "multipart/form-data": body(&form_of(schema))});
    post["requestBody"] = json!({"required": true, "content": content});
    let problem = post["responses"]["400"]["content"].clone();
    for (status, description) in [
        ("408", "The body took too long"),
        ("413", "The body is too long"),
        ("415", "The body is neither JSON nor a form"),
    ] {
        post["responses"][status] = json!({"description": description, "content": problem});
    }
    if let Some(responses) = post["responses"].as_object_mut() {
        // Answers to POST are not cached, so there is no 304.
        responses.remove("304");
    }
}

/// These definitions by name; of several with the same name, the last.
fn sorted(definitions: &[&'static [Definition]]) -> Vec<&'static Definition> {
    let all = definitions.iter().copied().flatten().map(|it| (it.name, it));
    BTreeMap::from_iter(all).into_values().collect()
}

/// The parameters of a query. None has a maximum length that no query can have.
fn query_of(definitions: &[&'static [Definition]]) -> Vec<Value> {
    let parameter = |it: &Definition| {
        let mut schema = it.schema(false);
        if schema["maxLength"].as_u64().is_some_and(|most| most > MAX_HEAD_BYTES) {
            schema.as_object_mut().map(|schema| schema.remove("maxLength"));
        }
        json!({"name": it.name, "in": "query", "required": it.is_required,
            "description": schema["description"], "schema": schema})
    };
    sorted(definitions).into_iter().map(parameter).collect()
}

/// The name of the schema of a form whose fields are the properties of an object.
fn form_of(name: &str) -> String {
    format!("{name}_form")
}

/// The schema of a form from that of an object: no value is null, and the logo is a file.
fn of_form(schema: &Value, definitions: &[&Definition]) -> Value {
    let mut form = schema.clone();
    for definition in definitions {
        let field = definition.schema(false);
        form["properties"][definition.name] = match definition.name {
            "logo" => {
                json!({"type": "string", "format": "binary", "description": field["description"]})
            }
            _ => field,
        };
    }
    form
}

/// The path of a kind of payload, the schema of its body, and its parameters: its fields and all options except `text`
/// and `data`.
fn describe_payload(
    kind: &Kind,
    name: &str,
    responses: &Value,
) -> (Value, Value, Vec<&'static Definition>) {
    let (content, options) = Options::DEFINITIONS.split_at(2);
    debug_assert!(content.iter().all(|it| matches!(it.name, "text" | "data")));
    let definitions = [kind.definitions, options];
    let mut schema = (kind.describe)();
    for option in options {
        schema["properties"][option.name] = option.schema(true);
    }
    let operation = |name: &str| {
        json!({"operationId": name, "tags": ["payload"], "summary": kind.title,
            "responses": responses})
    };
    let mut post = operation(&format!("{}_post", kind.name));
    take_body(&mut post, name);
    let mut path = json!({"post": post});
    if !kind.is_secret {
        let mut get = operation(kind.name);
        get["parameters"] = Value::Array(query_of(&definitions));
        path["get"] = get;
    }
    (path, schema, sorted(&definitions))
}

/// Answers with the document.
pub(super) async fn get(request: Request) -> Response {
    page::serve(&request, "application/json", DOCUMENT.as_str())
}
