//! `docs/openapi.yaml` is sound in itself, lists the routes of the code, and is what a real gateway answers.

use crate::asyncapi::{check_references, object};
use crate::docs::{files_below, read};
use crate::protocol::{document, resolve};
use crate::support::{Gateway, PATIENCE};
use serde_json::Value;
use std::collections::BTreeSet;
use std::net::SocketAddr;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

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
            let in_path = listed.filter(|row| row["in"] == "path").count();
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
        let path = |call: &str| call.split('"').nth(1).unwrap().replace("{*", "{");
        routes.extend(calls.map(path));
    }
    assert!(routes.remove("/core/ws/{name}"), "the WebSocket is in docs/asyncapi.yaml");
    assert_eq!(listed, routes);
    assert!(read("docs/openapi.yaml").contains("docs/asyncapi.yaml"));
}

#[tokio::test]
async fn every_address_answers_as_it_is_written() {
    let gateway = Gateway::start().await;
    let tag = header(&get(gateway.addr, "/", "").await, "etag").unwrap();
    let known = format!("If-None-Match: {tag}\r\n");
    for (path, more, status) in [
        ("/", "", "200"),
        ("/", known.as_str(), "304"),
        ("/assets/app.js", "", "200"),
        ("/assets/style.css", "", "200"),
        ("/assets/icon.svg", "", "200"),
        ("/assets/index.html", known.as_str(), "304"),
        ("/assets/nothing.js", "", "404"),
        ("/live", "", "200"),
        ("/ready", "", "200"),
        ("/metrics", "", "200"),
    ] {
        check_answer(&get(gateway.addr, path, more).await, path, status);
        let foreign = get(gateway.addr, path, "Origin: http://evil.example\r\n").await;
        check_answer(&foreign, path, "403");
    }
    gateway.stop().await;
}

/// Status, type and headers of a response are those of the document.
#[track_caller]
fn check_answer(response: &str, path: &str, status: &str) {
    let document = document("openapi");
    let listed = if path.starts_with("/assets/") { "/assets/{path}" } else { path };
    let promised = &document["paths"][listed]["get"]["responses"][status];
    assert!(promised.is_object(), "{path}: {status} is not listed");
    assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{path}: {response}");
    let promised = resolved(&document, promised);
    for (name, row) in promised["headers"].as_object().into_iter().flatten() {
        let value = header(response, name).unwrap_or_else(|| panic!("{path}: no {name}"));
        let schema = &resolved(&document, row)["schema"];
        assert!(jsonschema::is_valid(schema, &value.as_str().into()), "{path}: {name}: {value}");
    }
    let (kind, body) = (header(response, "content-type"), body(response));
    if let Some(content) = promised["content"].as_object() {
        let kind = kind.unwrap_or_else(|| panic!("{path}: no content type"));
        let schema = &content.get(&kind).unwrap_or_else(|| panic!("{path}: {kind}"))["schema"];
        assert!(jsonschema::is_valid(schema, &body.into()), "{path}: {body}");
    } else {
        assert_eq!(body, "", "{path}");
    }
}

fn resolved<'a>(document: &'a Value, part: &'a Value) -> &'a Value {
    if part.get("$ref").is_some() { resolve(document, part) } else { part }
}

async fn get(addr: SocketAddr, path: &str, more: &str) -> String {
    let ask = async {
        let mut stream = TcpStream::connect(addr).await.unwrap();
        let request =
            format!("GET {path} HTTP/1.1\r\nHost: {addr}\r\n{more}Connection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).await.unwrap();
        response
    };
    timeout(PATIENCE, ask).await.unwrap()
}

fn header(response: &str, name: &str) -> Option<String> {
    let (head, _) = response.split_once("\r\n\r\n").unwrap();
    let fields = head.lines().filter_map(|line| line.split_once(": "));
    fields
        .into_iter()
        .find(|(field, _)| field.eq_ignore_ascii_case(name))
        .map(|row| row.1.to_owned())
}

fn body(response: &str) -> &str {
    response.split_once("\r\n\r\n").unwrap().1
}
