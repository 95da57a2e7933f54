//! The AsyncAPI documents in `docs/` as validators. Sockets of the tests hold against them whatever they hear, and
//! whatever they say that the gateway takes.

use jsonschema::{Draft, Validator};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};

/// The channel of the session API in its document.
pub(crate) const SESSION_API: &str = "session";
/// The channel of the core/UI interface in its document.
pub(crate) const CORE_UI: &str = "lane";
/// The channel of the data analyst in its document.
pub(crate) const ANALYST: &str = "analysis";

/// The channel of the agent UI in its document.
pub(crate) const AGENT_UI: &str = "talk";

/// Which way a packet goes, as the gateway sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    Receive,
    Send,
}

/// Every packet that a document allows, with what its form must be.
#[derive(Debug)]
pub(crate) struct Protocol {
    /// Name of the document.
    name: &'static str,
    forms: BTreeMap<(String, Way), BTreeMap<String, Arc<Form>>>,
}

/// Most messages are the same on several sockets.
#[derive(Debug)]
struct Form {
    message: String,
    kind: String,
    validator: Validator,
}

impl Form {
    fn read(document: &Value, target: &str) -> Self {
        let message = resolve(document, &json!({"$ref": target}));
        Self {
            message: target.to_owned(),
            kind: message["name"].as_str().unwrap().to_owned(),
            validator: validator(document, &message["payload"]),
        }
    }
}

/// The WebSocket of AIコア, read and compiled once for all tests.
pub(crate) fn protocol() -> &'static Protocol {
    static PROTOCOL: LazyLock<Protocol> = LazyLock::new(|| Protocol::read("asyncapi"));
    &PROTOCOL
}

/// The WebSocket of the session API, read and compiled once for all tests.
pub(crate) fn api_protocol() -> &'static Protocol {
    static PROTOCOL: LazyLock<Protocol> = LazyLock::new(|| Protocol::read("asyncapi-api"));
    &PROTOCOL
}

/// The core/UI interface in its first form, read and compiled once for all tests.
pub(crate) fn core_ui_protocol() -> &'static Protocol {
    static PROTOCOL: LazyLock<Protocol> = LazyLock::new(|| Protocol::read("asyncapi-core-ui"));
    &PROTOCOL
}

/// The WebSocket of the data analyst, read and compiled once for all tests.
pub(crate) fn analyst_protocol() -> &'static Protocol {
    static PROTOCOL: LazyLock<Protocol> = LazyLock::new(|| Protocol::read("asyncapi-analyst"));
    &PROTOCOL
}

/// The WebSocket of the agent UI, read and compiled once for all tests.
pub(crate) fn agent_ui_protocol() -> &'static Protocol {
    static PROTOCOL: LazyLock<Protocol> = LazyLock::new(|| Protocol::read("asyncapi-agent-ui"));
    &PROTOCOL
}

/// One of the documents in `docs/`, as JSON.
pub(crate) fn document(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("docs/{name}.yaml"));
    let text = std::fs::read_to_string(path).unwrap();
    serde_saphyr::from_str(&text).unwrap_or_else(|err| panic!("docs/{name}.yaml: {err}"))
}

/// What a `$ref` points at, within the same document.
#[track_caller]
pub(crate) fn resolve<'a>(document: &'a Value, reference: &Value) -> &'a Value {
    let target = reference["$ref"].as_str().unwrap_or_else(|| panic!("no reference: {reference}"));
    let pointer = target.strip_prefix('#').unwrap_or_else(|| panic!("{target} leads elsewhere"));
    document.pointer(pointer).unwrap_or_else(|| panic!("{target} leads nowhere"))
}

/// A schema of the document that can be used by itself; AsyncAPI 3 speaks draft 7.
pub(crate) fn validator(document: &Value, schema: &Value) -> Validator {
    // Beside `$ref` nothing counts in draft 7, but what is there can be referred to.
    let schemas = json!({"schemas": document["components"]["schemas"]});
    let root = json!({"allOf": [schema], "components": schemas});
    jsonschema::options().with_draft(Draft::Draft7).build(&root).expect("a valid schema")
}

impl Protocol {
    fn read(name: &'static str) -> Self {
        let document = &document(name);
        let mut forms: BTreeMap<_, BTreeMap<_, _>> = BTreeMap::new();
        let mut compiled = BTreeMap::new();
        for operation in document["operations"].as_object().unwrap().values() {
            let way = if operation["action"] == "send" { Way::Send } else { Way::Receive };
            let channel = resolve(document, &operation["channel"]);
            for reference in operation["messages"].as_array().unwrap() {
                let target = resolve(document, reference)["$ref"].as_str().unwrap();
                let form = compiled
                    .entry(target)
                    .or_insert_with(|| Arc::new(Form::read(document, target)));
                for socket in sockets(&operation["channel"], channel) {
                    let kinds = forms.entry((socket, way)).or_default();
                    kinds.insert(form.kind.clone(), Arc::clone(form));
                }
            }
        }
        Self { name, forms }
    }

    /// The kinds of packets that go this way on any socket.
    pub(crate) fn kinds(&self, way: Way) -> impl Iterator<Item = &str> {
        let ours = self.forms.iter().filter(move |((_, each), _)| *each == way);
        ours.flat_map(|(_, kinds)| kinds.keys().map(String::as_str))
    }

    /// Whether the document knows such a packet.
    pub(crate) fn allows(&self, socket: &str, way: Way, kind: &str, packet: &Value) -> bool {
        let form = self.forms.get(&(socket.to_owned(), way)).and_then(|kinds| kinds.get(kind));
        form.is_some_and(|form| form.validator.is_valid(packet))
    }

    /// Panics unless the document allows `packet` on this socket.
    #[track_caller]
    pub(crate) fn check(&self, socket: &str, way: Way, kind: &str, packet: &Value) {
        let allowed = self.forms.get(&(socket.to_owned(), way));
        let Some(form) = allowed.and_then(|kinds| kinds.get(kind)) else {
            panic!("docs/{}.yaml has no `{kind}` on {socket} ({way:?}): {packet}", self.name);
        };
        if let Err(error) = form.validator.validate(packet) {
            let place = error.instance_path().to_string();
            panic!("not {}: {place}: {error}: {packet}", form.message);
        }
    }
}

/// The sockets of one channel; a channel that does not list them is one socket of its own name.
fn sockets(reference: &Value, channel: &Value) -> Vec<String> {
    let name = reference["$ref"].as_str().and_then(|target| target.rsplit('/').next());
    match channel["x-sockets"].as_array() {
        Some(sockets) => sockets.iter().map(|name| name.as_str().unwrap().to_owned()).collect(),
        None => name.map(str::to_owned).into_iter().collect(),
    }
}
