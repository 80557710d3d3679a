//! `/v1/openapi.json`: the OpenAPI document, made from the code.

use std::sync::LazyLock;

use axum::extract::Request;
use axum::response::Response;
use serde_json::{Value, json};
use utoipa::openapi::RefOr;
use utoipa::openapi::schema::Schema;
use utoipa::{OpenApi, PartialSchema};

use super::{batch, decode, labels, page, qr};
use crate::v1::items::{Columns, MAX_ITEMS};
use crate::v1::options::{Format, Options};
use crate::v1::payload::{KINDS, Kind};
use crate::v1::sheet::Sheet;

/// Media types of binary bodies, besides pictures.
const BINARY: [&str; 2] = ["application/pdf", "application/zip"];

/// The longest head of a request that the server accepts. The query is part of the head.
const MAX_HEAD_BYTES: u64 = 16 * 1024;

#[derive(OpenApi)]
#[openapi(
    info(title = "qr-service", description = "QR codes with every option, checked by a decoder"),
    paths(qr::negotiated, qr::by_extension, batch::post, labels::post, decode::post)
)]
struct Document;

static DOCUMENT: LazyLock<String> = LazyLock::new(|| document().to_string());

/// The document. Query parameters and JSON bodies are described from one schema, that of [`Options`].
fn document() -> Value {
    // utoipa's documents always serialise.
    let mut document = serde_json::to_value(Document::openapi()).unwrap_or_default();
    let of_options = Options::schema();
    let options = of_options["properties"].clone();
    let responses = document["paths"]["/v1/qr"]["get"]["responses"].clone();
    let mut schemas = serde_json::Map::from_iter([("Options".to_owned(), of_options)]);
    for kind in &KINDS {
        let (path, schema) = describe_payload(kind, &options, &responses);
        document["paths"][format!("/v1/payload/{}", kind.name)] = path;
        schemas.insert(format!("Payload_{}", kind.name), schema);
    }
    let of_many = |schema: RefOr<Schema>| {
        let columns = serde_json::to_value(Columns::schema()).unwrap_or_default();
        let mut all = serde_json::to_value(schema).unwrap_or_default()["properties"].take();
        for (name, schema) in
            [&columns["properties"], &options].into_iter().filter_map(Value::as_object).flatten()
        {
            all[name] = schema.clone();
        }
        query_of(&all, &Value::Null)
    };
    let (of_batch, of_sheet) = (of_many(Columns::schema()), of_many(Sheet::schema()));
    for schema in schemas.values_mut() {
        schema["additionalProperties"] = false.into();
    }
    let forms = schemas.iter().map(|(name, schema)| (form_of(name), of_form(schema)));
    schemas.extend(forms.collect::<Vec<_>>());
    if let Some(components) = document["components"]["schemas"].as_object_mut() {
        components.extend(schemas);
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
        let query = query_of(&options, &Value::Null);
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
    paths["/v1/batch"]["post"]["parameters"] = Value::Array(of_batch);
    paths["/v1/labels"]["post"]["parameters"] = Value::Array(of_sheet);
    for path in ["/v1/batch", "/v1/labels"] {
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

/// The parameters of a query for the properties of a schema.
fn query_of(properties: &Value, required: &Value) -> Vec<Value> {
    let is_required =
        |name: &str| required.as_array().into_iter().flatten().any(|required| required == name);
    let parameter = |(name, schema): (&String, &Value)| {
        json!({"name": name, "in": "query", "required": is_required(name),
            "description": schema["description"], "schema": of_query(schema)})
    };
    properties.as_object().into_iter().flatten().map(parameter).collect()
}

/// The name of the schema of a form whose fields are the properties of an object.
fn form_of(name: &str) -> String {
    format!("{name}_form")
}

/// The schema of a form from that of an object: no value is null, and the logo is a file.
fn of_form(schema: &Value) -> Value {
    let mut form = schema.clone();
    for (name, field) in form["properties"].as_object_mut().into_iter().flatten() {
        *field = without_null(field);
        if name == "logo" {
            *field =
                json!({"type": "string", "format": "binary", "description": field["description"]});
        }
    }
    form
}

/// The schema of a query parameter: not null, and without a maximum length that no query can have.
fn of_query(schema: &Value) -> Value {
    let mut schema = without_null(schema);
    if schema["maxLength"].as_u64().is_some_and(|most| most > MAX_HEAD_BYTES)
        && let Some(schema) = schema.as_object_mut()
    {
        schema.remove("maxLength");
    }
    schema
}

/// The schema without the alternative null.
fn without_null(schema: &Value) -> Value {
    let mut schema = schema.clone();
    let options = schema["oneOf"].as_array().into_iter().flatten();
    let option = options.into_iter().find(|option| option["type"] != "null").cloned();
    if let (Some(option), Some(schema)) = (option, schema.as_object_mut()) {
        schema.remove("oneOf");
        schema.insert("type".to_owned(), option["type"].clone());
        schema.insert("enum".to_owned(), option["enum"].clone());
    }
    let types = schema["type"].as_array().into_iter().flatten();
    if let Some(of) = types.into_iter().find(|of| *of != "null").cloned() {
        schema["type"] = of;
    }
    schema
}

/// The path of a kind of payload, and the schema of its body: its fields and all options except `text` and `data`.
fn describe_payload(kind: &Kind, options: &Value, responses: &Value) -> (Value, Value) {
    let mut schema = (kind.describe)();
    let mut properties = schema["properties"].clone();
    for (name, option) in options.as_object().into_iter().flatten() {
        if !matches!(&**name, "text" | "data") {
            properties[name] = option.clone();
        }
    }
    schema["properties"] = properties.clone();
    let operation = |name: &str| {
        json!({"operationId": name, "tags": ["payload"], "summary": kind.title,
            "responses": responses})
    };
    let mut post = operation(&format!("{}_post", kind.name));
    take_body(&mut post, &format!("Payload_{}", kind.name));
    let mut path = json!({"post": post});
    if !kind.is_secret {
        let mut get = operation(kind.name);
        get["parameters"] = Value::Array(query_of(&properties, &schema["required"]));
        path["get"] = get;
    }
    (path, schema)
}

/// Answers with the document.
pub(super) async fn get(request: Request) -> Response {
    page::serve(&request, "application/json", DOCUMENT.as_str())
}
