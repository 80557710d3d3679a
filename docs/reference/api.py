"""The API below /v1/, from the OpenAPI document that qr-service serves."""

import json

from programs import PROGRAMS, code, get, running, table
from schema import limits

FREE = "127.0.0.1:0"
PROBLEM = "application/problem+json"
INTRODUCTION = """# The API below `/v1/`

Every operation of qr-service with its parameters, limits and answers. The service itself shows the same at
`/v1/docs`, and serves it for programs at `/v1/openapi.json`. [qr-service](../../qr-service/server/README.md) has
examples. `GET /qrcode` has [a contract](../../contract/README.md) of its own.

A wrong request gets a problem document (RFC 9457), `application/problem+json`, which lists every fault. A path of
`/v1/payload/` may have an extension too, as `/v1/qr` has."""
OPTIONS = """## Options of a picture

Operations that take *options of a picture* take all of these, in the query or, with POST, in the body."""


def api_page():
    with running([str(PROGRAMS / "qr-service")], QR_ADDR=FREE, QR_ADMIN_ADDR=FREE) as addresses:
        document = json.loads(get(addresses["addr"], "v1/openapi.json"))
    schemas = document["components"]["schemas"]
    options = fields(document["paths"]["/v1/qr"]["get"], schemas)
    parts = [INTRODUCTION, OPTIONS, parameters(options)]
    for path, operations in document["paths"].items():
        methods = ", ".join(method.upper() for method in operations)
        parts += [f"## {methods} {path}", *of_path(operations, schemas, options)]
    return "\n\n".join(parts)


def of_path(operations, schemas, options):
    """Text on the path's purpose, parameters and answers; its methods share parameters."""
    takes = {name: field for operation in operations.values() for name, field in fields(operation, schemas).items()}
    own = {name: field for name, field in takes.items() if name not in options}
    left_out = [f"`{name}`" for name in options if name not in takes]
    yield " ".join(next(iter(operations.values()))["summary"].split()).rstrip(".") + "."
    bodies = [kind for operation in operations.values() for kind in operation.get("requestBody", {}).get("content", {})]
    if bodies:
        yield f"Body with POST: {', '.join(f'`{kind}`' for kind in bodies)}{limit_of_items(operations['post'])}."
    if own:
        yield parameters(own)
    if len(left_out) < len(options):
        without = f", except {' and '.join(left_out)}" if left_out else ""
        yield f"{'Also takes' if own else 'Takes'} options of a picture{without}."
    yield "\n".join(answers(operations))


def fields(operation, schemas):
    """The parameters and the fields of a JSON body, as (required, description, schema) by name."""
    found = {}
    for one in operation.get("parameters", ()):
        found[one["name"]] = one["required"], one.get("description", ""), one["schema"]
    body = operation.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema", {})
    body = body.get("items", body)
    body = schemas[body["$ref"].rpartition("/")[2]] if "$ref" in body else body
    for part in (body, *body.get("allOf", ())):
        for name, schema in part.get("properties", {}).items():
            found.setdefault(name, (name in part.get("required", ()), schema.get("description", ""), schema))
    return found


def parameters(found):
    rows = []
    for name, (required, text, schema) in found.items():
        default = "required" if required else json.dumps(schema["default"]).strip('"') if "default" in schema else ""
        rows.append([f"`{name}`", default if required else code(default), limits(schema), text])
    return table(["name", "default", "values", "meaning"], rows)


def limit_of_items(operation):
    schema = operation["requestBody"]["content"].get("application/json", {}).get("schema", {})
    return f", with {schema['minItems']} to {schema['maxItems']} items" if "maxItems" in schema else ""


def answers(operations):
    """A line for each status; it names the methods unless all have this status."""
    statuses = sorted({status for operation in operations.values() for status in operation["responses"]})
    for status in statuses:
        having = {method.upper(): operation["responses"][status] for method, operation in operations.items()
                  if status in operation["responses"]}
        answer = next(iter(having.values()))
        kinds = [f"`{kind}`" for kind in answer.get("content", {}) if kind != PROBLEM]
        only = f" ({', '.join(having)})" if len(having) < len(operations) else ""
        yield f"- {status}{only}: {answer['description']}{': ' + ', '.join(kinds) if kinds else ''}"
