//! Tests that the service behaves as `/v1/openapi.json` says.

use serde_json::{Value, json};

use crate::support::{get, post_json, request, start};

#[test]
fn the_description_has_every_parameter_with_the_limits_that_hold() {
    let service = start(&[]);
    let document = get(service.addr, "/v1/openapi.json").json();
    assert_eq!(document["openapi"].as_str().unwrap()[..3], *"3.1");
    let parameters = document["paths"]["/v1/qr"]["get"]["parameters"].as_array().unwrap();
    assert!(parameters.len() > 20, "{parameters:?}");
    for parameter in parameters {
        let name = parameter["name"].as_str().unwrap();
        assert!(parameter["description"].as_str().is_some_and(|it| it.len() > 10), "{name}");
        let schema = &parameter["schema"];
        let refused = |value: &str| {
            let answer = get(service.addr, &format!("/v1/qr?{name}={value}"));
            answer.status == 400
                && answer.faults().iter().any(|fault| fault.starts_with(&format!("{name} ")))
        };
        assert!(refused("%FF"), "{name}");
        if let Some(most) = schema["maximum"].as_f64() {
            assert!(refused(&format!("{}", most + 1.0)), "{name} above {most}");
        }
        // A logo of that length does not fit into a URL.
        if let Some(most) = schema["maxLength"].as_u64().filter(|most| *most < 10_000) {
            assert!(refused(&"a".repeat(most as usize + 1)), "{name} longer than {most}");
        }
        if schema["oneOf"].is_array() || schema["enum"].is_array() {
            assert!(refused("nothing"), "{name}");
        }
        // Generators of clients choose types by the format.
        let format = match schema["type"].as_str() {
            Some("integer") => "int32".into(),
            Some("number") => "double".into(),
            _ => schema["format"].clone(),
        };
        assert_eq!(schema["format"], format, "{name}");
    }
    let options = &document["components"]["schemas"]["Options"]["properties"];
    let of_enum = |name: &str| &options[name]["oneOf"][1]["description"];
    assert_eq!(of_enum("kind"), "A kind of symbol.");
    assert_eq!(of_enum("level"), "An error correction level.");
    assert_eq!(options["size"]["type"], json!(["integer", "null"]));
    assert_eq!(options["size"]["format"], "int32");
}

#[test]
fn what_batches_and_sheets_refuse_is_described_once() {
    let service = start(&[]);
    let document = get(service.addr, "/v1/openapi.json").json();
    let refused = |path: &str| {
        let mut answers = document["paths"][path]["post"]["responses"].clone();
        let answered = answers.as_object_mut().unwrap().remove("200").unwrap();
        assert!(answered["content"].is_object(), "{path}");
        answers
    };
    assert_eq!(refused("/v1/batch"), refused("/v1/labels"));
    for status in ["400", "408", "413", "415", "422", "503"] {
        let problem = &refused("/v1/batch")[status]["content"]["application/problem+json"];
        assert_eq!(problem["schema"]["$ref"], "#/components/schemas/Problem", "{status}");
    }
}

#[test]
fn the_description_allows_what_is_answered_and_forbids_what_it_can_say_is_wrong() {
    let service = start(&[]);
    let document = get(service.addr, "/v1/openapi.json").json();
    let bodies: Value = serde_json::from_str(include_str!("bodies.json")).unwrap();
    for (name, bodies) in bodies.as_object().unwrap() {
        let schema = json!({"$ref": format!("#/components/schemas/{name}"), "components": document["components"]});
        let schema = jsonschema::validator_for(&schema).unwrap();
        let path = match name.strip_prefix("Payload_") {
            Some(kind) => format!("/v1/payload/{kind}"),
            None => "/v1/qr".to_owned(),
        };
        let of = |which: &str| bodies[which].as_array().unwrap().iter();
        let right = of("right").map(|body| (body, 200));
        for (body, status) in right.chain(of("wrong").map(|body| (body, 400))) {
            let answer = post_json(service.addr, &path, body);
            assert_eq!(answer.status, status, "{path} {body} {}", answer.text());
            assert_eq!(schema.is_valid(body), status == 200, "{name} {body}");
        }
    }
}

#[test]
fn bodies_that_are_no_text_are_binary_and_the_proxys_refusals_are_described() {
    let service = start(&[]);
    let document = get(service.addr, "/v1/openapi.json").json();
    let mut binary = 0;
    for (path, operations) in document["paths"].as_object().unwrap() {
        for (method, operation) in operations.as_object().unwrap() {
            for status in ["414", "429"] {
                let problem =
                    &operation["responses"][status]["content"]["application/problem+json"];
                assert!(problem.is_object(), "{method} {path} {status}");
            }
            let bodies =
                [&operation["requestBody"]["content"], &operation["responses"]["200"]["content"]];
            for (media, body) in bodies.into_iter().filter_map(|it| it.as_object()).flatten() {
                let is_text = ["text/", "+xml", "json", "postscript", "form", "zpl"];
                if !is_text.iter().any(|part| media.contains(part)) {
                    let expected = json!({"type": "string", "format": "binary"});
                    assert_eq!(body["schema"], expected, "{method} {path} {media}");
                    binary += 1;
                }
            }
        }
    }
    assert!(binary > 20, "{binary}");
}

#[test]
fn a_form_is_described_without_null_and_its_logo_as_a_file() {
    let service = start(&[]);
    let document = get(service.addr, "/v1/openapi.json").json();
    let content = &document["paths"]["/v1/qr"]["post"]["requestBody"]["content"];
    let of = |media: &str| content[media]["schema"]["$ref"].as_str().unwrap();
    assert_eq!(of("application/json"), "#/components/schemas/Options");
    assert_eq!(of("multipart/form-data"), "#/components/schemas/Options_form");
    let fields = &document["components"]["schemas"]["Options_form"]["properties"];
    assert_eq!(["mask", "kind"].map(|it| &fields[it]["type"]), ["integer", "string"]);
    assert_eq!(fields["kind"]["enum"], json!(["qr", "micro", "rmqr"]));
    assert_eq!(fields["logo"]["format"], "binary");
    let form = b"--b\r\nContent-Disposition: form-data; name=\"text\"\r\n\r\na\r\n--b\r\n\
        Content-Disposition: form-data; name=\"mask\"\r\n\r\nnull\r\n--b--\r\n";
    let media = "content-type: multipart/form-data; boundary=b\r\n";
    let answer = request(service.addr, "POST", "/v1/qr", media, form);
    assert_eq!(answer.faults(), ["mask malformed"]);
}
