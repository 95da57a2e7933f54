//! `docs/asyncapi.yaml` as validators. Sockets of the tests hold against it whatever they hear, and whatever they
//! say that the gateway takes.

use crate::support::{CHANNEL, KIND};
use jsonschema::{Draft, Validator};
use kakehashi::dialect::aicore::{AicoreDialect, read_connect};
use kakehashi::dialect::{Dialect, Received};
use kakehashi::locale::Locale;
use kakehashi::message::{Channel, SessionId};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::{Arc, LazyLock};

/// Longer frames are uploads; one of a few bytes has the same form and costs less.
const LONGEST: usize = 1024 * 1024;

/// Which way a packet goes, as the gateway sees it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Way {
    Receive,
    Send,
}

/// Every packet that the document allows, with what its form must be.
#[derive(Debug)]
pub(crate) struct Protocol {
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

/// Read and compiled once for all tests.
pub(crate) fn protocol() -> &'static Protocol {
    static PROTOCOL: LazyLock<Protocol> = LazyLock::new(|| Protocol::read(&document("asyncapi")));
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
    fn read(document: &Value) -> Self {
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
                for socket in channel["x-sockets"].as_array().unwrap() {
                    let kinds =
                        forms.entry((socket.as_str().unwrap().to_owned(), way)).or_default();
                    kinds.insert(form.kind.clone(), Arc::clone(form));
                }
            }
        }
        Self { forms }
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
            panic!("docs/asyncapi.yaml has no `{kind}` on {socket} ({way:?}): {packet}");
        };
        if let Err(error) = form.validator.validate(packet) {
            let place = error.instance_path().to_string();
            panic!("not {}: {place}: {error}: {packet}", form.message);
        }
    }
}

/// One socket's view: it knows after the first packet which channel it is.
#[derive(Debug, Default)]
pub(crate) struct Witness {
    own: Option<Channel>,
}

impl Witness {
    /// What the gateway does not take may be anything.
    pub(crate) fn said(&mut self, frame: &str) {
        if frame.len() > LONGEST {
            return;
        }
        if let Some(own) = self.own {
            let dialect = AicoreDialect::new(SessionId::from_random(0), own, Locale::Ja);
            if dialect.decode(Received::Text(frame)).is_ok() {
                let packet: Value = serde_json::from_str(frame).unwrap();
                let kind = packet[KIND].as_str().unwrap();
                protocol().check(socket_name(own), Way::Receive, kind, &packet);
            }
        } else if let Ok(connect) = read_connect(frame) {
            let packet = serde_json::from_str(frame).unwrap();
            protocol().check(socket_name(connect.channel), Way::Receive, "connect", &packet);
            self.own = Some(connect.channel);
        }
    }

    pub(crate) fn heard(&self, packet: &Value) {
        let named = packet[CHANNEL].as_str();
        let own = self.own.map(socket_name);
        if let (Some(own), Some(named)) = (own, named) {
            assert_eq!(own, named, "a packet of another channel: {packet}");
        }
        // Without a channel it is a packet of the connection, and `input` has all of those.
        let socket = own.or(named).unwrap_or("input");
        let kind = packet[KIND].as_str().unwrap_or_else(|| panic!("no kind: {packet}"));
        protocol().check(socket, Way::Send, kind, packet);
    }
}

fn socket_name(channel: Channel) -> &'static str {
    match channel {
        Channel::Audio => "audio",
        Channel::Input => "input",
        Channel::File => "file",
        Channel::Chat => "0",
        Channel::Agent(slot) => ["1", "2", "3", "4"][usize::from(slot.number()) - 1],
    }
}
