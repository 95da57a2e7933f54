//! JSON-RPC 2.0, one message per line, and which of its methods we know. The protocol's own crate brings a runtime
//! with queues that have no bound; only its types are used.

use agent_client_protocol_schema::v1::{RequestId, RequestPermissionRequest, SessionNotification};
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Value, json};

pub(crate) const METHOD_NOT_FOUND: i32 = -32601;
pub(crate) const INVALID_PARAMS: i32 = -32602;

/// What an agent says.
#[derive(Debug)]
pub(super) enum Incoming {
    Update(Box<SessionNotification>),
    /// May a tool run?
    Ask {
        id: RequestId,
        request: Box<RequestPermissionRequest>,
    },
    /// The answer to our request of this number.
    Response {
        id: u64,
        result: Result<Value, RpcError>,
    },
    /// A request that we do not carry out, with the answer to it.
    Refused {
        answer: String,
    },
    /// A notification that we do not know, or a known one that cannot be read.
    Unknown,
    /// No message at all; programs print to the wrong place.
    Noise(String),
}

/// Why a request was not carried out, in the agent's words.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct RpcError {
    #[serde(default)]
    pub(super) code: i64,
    #[serde(default)]
    pub(super) message: String,
    #[serde(default)]
    pub(super) data: Option<Value>,
}

impl RpcError {
    /// The agent wants somebody to log in.
    pub(super) const AUTH_REQUIRED: i64 = -32000;

    /// Message and details in one line.
    pub(super) fn text(&self) -> String {
        let detail = match &self.data {
            Some(Value::String(text)) => Some(text.clone()),
            Some(data @ Value::Object(fields)) => {
                let known =
                    ["message", "details", "reason"].into_iter().find_map(|key| fields.get(key));
                Some(known.and_then(Value::as_str).map_or_else(|| data.to_string(), str::to_owned))
            }
            Some(_) | None => None,
        };
        match detail {
            Some(detail) if detail != self.message => format!("{}: {detail}", self.message),
            Some(_) | None => self.message.clone(),
        }
    }
}

#[derive(Deserialize)]
struct Envelope<'a> {
    #[serde(default)]
    id: Option<RequestId>,
    #[serde(default)]
    method: Option<String>,
    #[serde(default, borrow)]
    params: Option<&'a RawValue>,
    #[serde(default)]
    result: Option<Value>,
    #[serde(default)]
    error: Option<RpcError>,
}

pub(super) fn parse(line: &[u8]) -> Incoming {
    let Ok(message) = serde_json::from_slice::<Envelope<'_>>(line) else {
        return Incoming::Noise(String::from_utf8_lossy(line).into_owned());
    };
    let id = message.id.filter(|id| *id != RequestId::Null);
    match (message.method, id) {
        (Some(method), Some(id)) => request(&method, id, message.params),
        (Some(method), None) if method == "session/update" => {
            let update = message.params.and_then(|params| serde_json::from_str(params.get()).ok());
            update.map_or(Incoming::Unknown, |update| Incoming::Update(Box::new(update)))
        }
        (None, Some(id)) => response(&id, message.result, message.error),
        (Some(_) | None, None) => Incoming::Unknown,
    }
}

fn request(method: &str, id: RequestId, params: Option<&RawValue>) -> Incoming {
    if method != "session/request_permission" {
        return Incoming::Refused {
            answer: refusal(&id, METHOD_NOT_FOUND, "this client has no such method"),
        };
    }
    match params.map(|params| serde_json::from_str(params.get())) {
        Some(Ok(request)) => Incoming::Ask { id, request: Box::new(request) },
        Some(Err(_)) | None => Incoming::Refused {
            answer: refusal(&id, INVALID_PARAMS, "the question cannot be read"),
        },
    }
}

/// Our own numbers are numbers; an agent may give them back as text.
fn response(id: &RequestId, result: Option<Value>, error: Option<RpcError>) -> Incoming {
    let id = match id {
        RequestId::Number(number) => u64::try_from(*number).ok(),
        RequestId::Str(text) => text.parse().ok(),
        RequestId::Null => None,
    };
    let result = error.map_or_else(|| Ok(result.unwrap_or_default()), Err);
    id.map_or(Incoming::Unknown, |id| Incoming::Response { id, result })
}

pub(crate) fn call(id: u64, method: &str, params: &impl Serialize) -> serde_json::Result<String> {
    let params = serde_json::value::to_raw_value(params)?;
    serde_json::to_string(&Call { jsonrpc: "2.0", id: Some(id), method, params: &params })
}

pub(crate) fn notify(method: &str, params: &impl Serialize) -> serde_json::Result<String> {
    let params = serde_json::value::to_raw_value(params)?;
    serde_json::to_string(&Call { jsonrpc: "2.0", id: None, method, params: &params })
}

#[derive(Serialize)]
struct Call<'a> {
    jsonrpc: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    method: &'a str,
    params: &'a RawValue,
}

pub(crate) fn answer(id: &RequestId, result: &impl Serialize) -> serde_json::Result<String> {
    Ok(json!({"jsonrpc": "2.0", "id": id, "result": serde_json::to_value(result)?}).to_string())
}

pub(crate) fn refusal(id: &RequestId, code: i32, message: &str) -> String {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unknown_request_is_refused_under_its_own_id() {
        for id in ["7", "\"a-b\""] {
            let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"craft/drain\"}}");
            let Incoming::Refused { answer } = parse(line.as_bytes()) else { panic!("{line}") };
            let answer: Value = serde_json::from_str(&answer).unwrap();
            assert_eq!(answer["id"].to_string(), id);
            assert_eq!(answer["error"]["code"], METHOD_NOT_FOUND);
        }
    }

    #[test]
    fn what_is_no_message_is_noise_and_what_is_new_is_unknown() {
        assert!(matches!(parse(b"Loading..."), Incoming::Noise(text) if text == "Loading..."));
        assert!(matches!(parse(b"{}"), Incoming::Unknown));
        let line = br#"{"method":"session/update","params":{"sessionId":"s","update":{"sessionUpdate":"new"}}}"#;
        assert!(matches!(parse(line), Incoming::Unknown));
    }

    #[test]
    fn answers_are_known_by_number_or_text() {
        for line in [&br#"{"id":3,"result":null}"#[..], br#"{"id":"3","result":{}}"#] {
            assert!(matches!(parse(line), Incoming::Response { id: 3, result: Ok(_) }));
        }
        let line =
            br#"{"id":3,"error":{"code":-32000,"message":"log in","data":{"details":"first"}}}"#;
        let Incoming::Response { result: Err(error), .. } = parse(line) else { panic!("no error") };
        assert_eq!(
            (error.code, error.text()),
            (RpcError::AUTH_REQUIRED, "log in: first".to_owned())
        );
    }
}
