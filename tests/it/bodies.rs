//! Bodies of requests: every route of docs/openapi.yaml takes an object and nothing else, and says to people what is wrong.

use crate::asyncapi::object;
use crate::http::{announced, get, post};
use crate::protocol::{document, resolve};
use crate::support::{BODY, Client, Gateway, KIND};
use crate::texts::english_in;
use kakehashi::locale::Locale;
use serde_json::{Map, Value, json};

/// Words of the code and of its libraries.
const NOT_FOR_PEOPLE: [&str; 9] = [
    "struct",
    "invalid type",
    "deserialize",
    "expected",
    "tuple",
    "sequence",
    "Body",
    "Order",
    "Failed to",
];

/// One route that takes a body.
struct Route {
    path: String,
    schema: Value,
    needs_body: bool,
}

fn routes() -> Vec<Route> {
    let document = document("openapi");
    let resolved = |part: &Value| match part.get("$ref") {
        Some(_) => resolve(&document, part).clone(),
        None => part.clone(),
    };
    let mut routes = Vec::new();
    for (path, item) in object(&document["paths"]) {
        let body = &item["post"]["requestBody"];
        if body.is_null() {
            continue;
        }
        let body = resolved(body);
        let path = path
            .replace("{id}", "ws-00000000000000000000000000000000")
            .replace("{agent}", "1")
            .replace("{day}", "20260101")
            .replace("{time}", "000000");
        let schema = &body["content"]["application/json"]["schema"];
        // A table is no JSON.
        if schema.is_null() {
            continue;
        }
        let schema = resolved(schema);
        routes.push(Route { path, schema, needs_body: body["required"] == true });
    }
    assert!(routes.len() >= 8, "only {} routes take a body", routes.len());
    routes
}

impl Route {
    fn properties(&self) -> &Map<String, Value> {
        self.schema["properties"].as_object().unwrap()
    }

    /// A body in which each field has a value of a right type.
    fn sound(&self) -> Map<String, Value> {
        let value = |schema: &Value| {
            let kind = &schema["type"];
            match kind.as_str().or(kind[0].as_str()).unwrap() {
                "object" => json!({}),
                "integer" => json!(1),
                _ => json!("x"),
            }
        };
        self.properties().iter().map(|(name, schema)| (name.clone(), value(schema))).collect()
    }

    /// Each with the field that has to be named, if it is one.
    fn mistakes(&self) -> Vec<(Vec<u8>, Option<String>)> {
        let sound = self.sound();
        let text = Value::from(sound.clone()).to_string();
        let positions: Vec<Value> = sound.values().cloned().collect();
        let mut mistakes: Vec<(Vec<u8>, Option<String>)> = vec![
            (Value::from(positions).to_string().into_bytes(), None),
            (format!("[{text}]").into_bytes(), None),
            (b"[]".to_vec(), None),
            (b"null".to_vec(), None),
            (b"\"x\"".to_vec(), None),
            (b"7".to_vec(), None),
            (b"{".to_vec(), None),
            (format!("{text}{text}").into_bytes(), None),
            (b"{\"a\":\"\xff\xfe\"}".to_vec(), None),
            (format!("{{\"a\":{}{}}}", "[".repeat(9_000), "]".repeat(9_000)).into_bytes(), None),
            ("{\"a\":".repeat(9_000).into_bytes(), None),
        ];
        for (name, value) in &sound {
            for wrong in [json!(true), json!([]), json!([value]), json!(1.5)] {
                let mut body = sound.clone();
                body.insert(name.clone(), wrong);
                mistakes.push((Value::from(body).to_string().into_bytes(), Some(name.clone())));
            }
            let twice = format!("{{\"{name}\":{value},{}", &text[1..]);
            mistakes.push((twice.into_bytes(), Some(name.clone())));
        }
        for name in self.schema["required"].as_array().into_iter().flatten() {
            let mut body = sound.clone();
            body.remove(name.as_str().unwrap());
            mistakes.push((
                Value::from(body).to_string().into_bytes(),
                name.as_str().map(str::to_owned),
            ));
        }
        if self.needs_body {
            mistakes.push((Vec::new(), None));
        }
        mistakes
    }
}

/// What people read in a refusal.
fn told(reply: &Value) -> String {
    let text = reply["detail"][0]["msg"].as_str().or(reply["error"].as_str());
    let text = text.or(reply["payload"]["message"].as_str());
    text.unwrap_or_else(|| panic!("{reply}")).to_owned()
}

#[tokio::test]
async fn every_route_takes_objects_only_and_says_what_is_wrong() {
    for language in [Locale::En, Locale::Ja] {
        let gateway = Gateway::start_with(|config| config.language = language).await;
        for route in routes() {
            for (body, field) in route.mistakes() {
                let shown: String = String::from_utf8_lossy(&body).chars().take(200).collect();
                let ask = post(&route.path, &Value::Null).local().bytes(&body);
                let reply = ask.send(gateway.addr).await;
                assert!(
                    [400, 422].contains(&reply.status),
                    "{}: {shown}: {}",
                    route.path,
                    reply.body
                );
                let text = told(&reply.json());
                for word in NOT_FOR_PEOPLE {
                    assert!(!text.contains(word), "{}: {shown}: {text}", route.path);
                }
                if language == Locale::Ja {
                    assert!(!text.is_ascii(), "{}: {shown}: {text}", route.path);
                    assert_eq!(english_in(&text), None, "{}: {shown}: {text}", route.path);
                }
                if let Some(field) = field {
                    assert!(text.contains(&field), "{}: {shown}: no {field} in {text}", route.path);
                }
            }
        }
        gateway.stop().await;
    }
}

/// Addresses and requests that no handler of ours gets to see.
#[tokio::test]
async fn what_the_server_itself_refuses_is_told_in_the_clients_language() {
    let gateway = Gateway::start().await;
    for path in [
        "/api/ws",
        "/core-ui/ws",
        "/core-ui/poll?after=x",
        "/core-ui/events?features=colours",
        "/core/ws/AI%E3%82%B3%E3%82%A2",
        "/core/ws/%ff",
        "/?token=a&token=b",
        "/assets/%ff",
        "/api/sessions/%ff/export",
        "/api/sessions/%ff/agents/compare",
        "/api/sessions/%ff/agents/backups",
        "/api/sessions/%ff/agents/1/diff",
        "/api/sessions/x/agents/compare?check=perhaps",
        "/api/backups?project=%ff&project=a",
        "/nowhere",
    ] {
        let reply = get(path).local().send(gateway.addr).await;
        assert!((400..500).contains(&reply.status), "{path}: {}", reply.body);
        assert!(!reply.body.is_ascii(), "{path}: {}", reply.body);
        assert_eq!(english_in(&reply.body), None, "{path}: {}", reply.body);
    }
    gateway.stop().await;
}

#[tokio::test]
async fn a_body_of_our_own_api_has_to_be_announced_as_json() {
    let gateway = Gateway::start_with(|config| config.language = Locale::En).await;
    for route in routes().iter().filter(|route| route.path.starts_with("/api/")) {
        let ask = announced(&route.path, "text/plain").local().body("{\"path\":null}");
        let reply = ask.send(gateway.addr).await;
        assert_eq!(reply.status, 415, "{}: {}", route.path, reply.body);
        assert!(told(&reply.json()).contains("application/json"));
    }
    gateway.stop().await;
}

#[tokio::test]
async fn a_list_never_stands_for_an_object_in_a_packet() {
    let gateway = Gateway::start().await;
    let mut input = Client::open(gateway.addr, "input", None).await;
    for (kind, body) in [
        ("operations", json!([{"マイク": true}])),
        ("confirm_answer", json!(["1", true, true])),
        ("accept", json!(["branch", "message"])),
        ("restore", json!([1, null, null])),
        ("compare", json!([false])),
        ("diff", json!(["a.txt"])),
        ("files_watch", json!(["all", true])),
        ("files_backup", json!([null, null, 1, true])),
    ] {
        input.send(&json!({KIND: kind, "出力先チャンネル": "1", BODY: body})).await;
        let refused = input.until("error").await;
        assert_eq!(refused["コード"], "bad_field", "{kind}: {refused}");
    }
    let id = input.session().to_owned();
    let mut audio = Client::open(gateway.addr, "audio", Some(&id)).await;
    for (kind, body) in [("playback_ack", json!([1, 2, 3, 4])), ("push_to_talk", json!(["start"]))]
    {
        audio.send(&json!({KIND: kind, BODY: body})).await;
        let refused = audio.until("error").await;
        assert_eq!(refused["コード"], "bad_field", "{kind}: {refused}");
    }
    gateway.stop().await;
}
