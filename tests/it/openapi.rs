//! `docs/openapi.yaml` is sound in itself, lists the routes of the code, and is what a real gateway answers.

use crate::asyncapi::{check_references, object};
use crate::docs::{files_below, read};
use crate::http::{self, Reply};
use crate::protocol::{document, resolve};
use crate::support::Gateway;
use kakehashi::dialect::aicore::http::Endpoint;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::LazyLock;

#[test]
fn the_document_is_sound() {
    let document = document("openapi");
    assert_eq!(document["openapi"], "3.1.0");
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    assert!(document["info"]["title"].is_string());
    check_references(&document, &document);
    let mut names = BTreeSet::new();
    for (path, item) in object(&document["paths"]) {
        for (method, operation) in object(item) {
            let name = operation["operationId"].as_str().expect(path);
            assert!(names.insert(name.to_owned()), "{name} is there twice");
            let listed = operation["parameters"].as_array().into_iter().flatten();
            let in_path = listed.filter(|row| resolved(&document, row)["in"] == "path").count();
            assert_eq!(in_path, path.matches('{').count(), "{method} {path}");
            for (status, response) in object(&operation["responses"]) {
                assert!(status.parse::<u16>().is_ok(), "{path}: {status}");
                let response = resolved(&document, response);
                assert!(response["description"].is_string(), "{path}: {status}");
            }
        }
    }
}

#[test]
fn every_route_of_the_code_is_listed_and_no_other() {
    let document = document("openapi");
    let listed: BTreeSet<String> = object(&document["paths"]).map(|row| row.0.clone()).collect();
    let mut routes = BTreeSet::new();
    for path in files_below("src/server") {
        let code = std::fs::read_to_string(path).unwrap();
        let code = code.split("#[cfg(test)]").next().unwrap_or_default();
        let calls = code.split(".route(").skip(1);
        let path = |call: &str| {
            let first = call.split(',').next().unwrap().trim();
            let path = first.strip_prefix('"').map(|path| path.trim_end_matches('"').to_owned());
            path.unwrap_or_else(|| constant(first)).replace("{*", "{")
        };
        routes.extend(calls.map(path));
    }
    assert!(routes.remove("/core/ws/{name}"), "the WebSocket is in docs/asyncapi.yaml");
    assert!(routes.remove("/api/ws"), "the WebSocket is in docs/asyncapi-api.yaml");
    assert!(routes.remove("/analyst/ws"), "the WebSocket is in docs/asyncapi-analyst.yaml");
    assert!(routes.remove("/ws"), "the WebSocket is in docs/asyncapi-agent-ui.yaml");
    assert!(routes.contains("/core-ui/ws"), "its refusals are over HTTP");
    assert!(routes.remove("/core/{path}"), "one route for all of the dialect's");
    routes.extend(Endpoint::ALL.map(|endpoint| format!("/core/{}", endpoint.path())));
    assert_eq!(listed, routes);
    assert!(read("docs/openapi.yaml").contains("docs/asyncapi.yaml"));
}

/// The text of a constant in the code of the server.
fn constant(name: &str) -> String {
    let name = name.rsplit("::").next().unwrap();
    let line = format!("const {name}: &str = \"");
    let code =
        files_below("src/server").into_iter().map(|path| std::fs::read_to_string(path).unwrap());
    let found: Vec<String> = code
        .filter_map(|code| Some(code.split_once(&line)?.1.split('"').next()?.to_owned()))
        .collect();
    assert_eq!(found.len(), 1, "{name}");
    found.into_iter().next().unwrap()
}

#[tokio::test]
async fn every_address_answers_as_it_is_written() {
    let gateway = Gateway::start().await;
    let tag = http::get("/").local().send(gateway.addr).await.header("etag").unwrap();
    for (path, known, status) in [
        ("/", false, 200),
        ("/", true, 304),
        ("/login", false, 200),
        ("/api/me", false, 200),
        ("/assets/app.js", false, 200),
        ("/assets/style.css", false, 200),
        ("/assets/icon.svg", false, 200),
        ("/assets/index.html", true, 304),
        ("/assets/nothing.js", false, 404),
        ("/live", false, 200),
        ("/ready", false, 200),
        ("/metrics", false, 200),
        ("/core/サーバー状態", false, 200),
    ] {
        let ask = http::get(path).local();
        let asked = if known { ask.clone().header("If-None-Match", &tag) } else { ask.clone() };
        assert_eq!(asked.send(gateway.addr).await.status, status, "{path}");
        let foreign = ask.header("Origin", "http://evil.example").send(gateway.addr).await;
        assert_eq!(foreign.status, 403, "{path}");
    }
    gateway.stop().await;
}

/// Status, type, headers and body of a reply are those of the document. Addresses that it does not list are not its
/// business.
#[track_caller]
pub(crate) fn check(method: &str, path: &str, reply: &Reply) {
    static DOCUMENT: LazyLock<Value> = LazyLock::new(|| document("openapi"));
    let document = &*DOCUMENT;
    let Some((listed, item)) = object(&document["paths"]).find(|(listed, _)| is_at(listed, path))
    else {
        return;
    };
    let operation = &item[method.to_ascii_lowercase()];
    if operation.is_null() {
        assert_eq!(reply.status, 405, "{method} {listed}");
        return;
    }
    let promised = &operation["responses"][reply.status.to_string()];
    assert!(promised.is_object(), "{path}: {} is not listed: {}", reply.status, reply.body);
    let promised = resolved(document, promised);
    for (name, row) in promised["headers"].as_object().into_iter().flatten() {
        let value = reply.header(name).unwrap_or_else(|| panic!("{path}: no {name}"));
        let schema = &resolved(document, row)["schema"];
        assert!(jsonschema::is_valid(schema, &value.as_str().into()), "{path}: {name}: {value}");
    }
    let Some(content) = promised["content"].as_object() else {
        assert_eq!(reply.body, "", "{path}");
        return;
    };
    let kind = reply.header("content-type").unwrap_or_else(|| panic!("{path}: no content type"));
    let schema = &content.get(&kind).unwrap_or_else(|| panic!("{path}: {kind}"))["schema"];
    let body = if kind == "application/json" { reply.json() } else { reply.body.as_str().into() };
    // References in the schema start at its root.
    let whole = json!({"components": document["components"], "allOf": [schema]});
    if let Err(err) = jsonschema::validate(&whole, &body) {
        panic!("{path}: {err}: {body}");
    }
}

/// A part in braces stands for anything; at the end also for several parts.
fn is_at(listed: &str, path: &str) -> bool {
    if listed == path {
        return true;
    }
    let (listed, path): (Vec<_>, Vec<_>) = (listed.split('/').collect(), path.split('/').collect());
    let open = |part: &str| part.starts_with('{');
    let fits = listed.iter().zip(&path).all(|(part, given)| open(part) || part == given);
    let longer = path.len() > listed.len() && listed[1] == "assets";
    listed.iter().any(|part| open(part)) && fits && (path.len() == listed.len() || longer)
}

fn resolved<'a>(document: &'a Value, part: &'a Value) -> &'a Value {
    if part.get("$ref").is_some() { resolve(document, part) } else { part }
}
