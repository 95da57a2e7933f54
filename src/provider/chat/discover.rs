//! Models that are there without having been configured: an Ollama, or another server on this machine.

use super::client::{self, Client};
use super::{answer, error::ChatError};
use crate::provider::row::{ChatKind, ChatModel};
use bytes::Bytes;
use futures_util::future::join_all;
use http_body_util::Full;
use hyper::Request;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::time::Duration;
use tokio::time::timeout;

const LARGEST_LIST: usize = 1024 * 1024;
/// Of each server.
const MOST_MODELS: usize = 32;
const OLLAMA_PORT: u16 = 11_434;

/// Where to look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Candidates {
    /// Without a slash at its end.
    pub ollama: String,
    /// A server that speaks chat completions below `/v1`.
    pub local: String,
}

impl Candidates {
    /// The usual places; an Ollama where `OLLAMA_HOST` says, in any of the forms that Ollama itself takes.
    pub fn new(ollama_host: Option<&str>) -> Self {
        Self { ollama: ollama(ollama_host), local: "http://127.0.0.1:8080".to_owned() }
    }

    /// A model of each, without a name of its own.
    pub fn families(&self) -> Vec<ChatModel> {
        let nameless = |family, base| found(family, base, "", String::new());
        vec![nameless("ollama", &self.ollama), nameless("local", &self.local)]
    }
}

/// Asks all of them at once. Whoever has not answered in this time is not there; whatever goes wrong, there is just
/// nothing found.
pub async fn discover(
    client: &Client,
    candidates: &Candidates,
    patience: Duration,
) -> Vec<ChatModel> {
    let look = Look { client, patience };
    let (ollama, local) =
        tokio::join!(look.of_ollama(&candidates.ollama), look.of_server(&candidates.local));
    ollama.into_iter().chain(local).collect()
}

#[derive(Debug, Deserialize)]
struct Tags {
    models: Vec<Tag>,
}

#[derive(Debug, Deserialize)]
struct Tag {
    name: String,
}

/// What is offered at `/v1/models`.
#[derive(Debug, Deserialize)]
struct Models {
    data: Vec<Model>,
}

#[derive(Debug, Deserialize)]
struct Model {
    id: String,
}

#[derive(Debug, Serialize)]
struct Show<'a> {
    model: &'a str,
}

#[derive(Debug, Default, Deserialize)]
struct Shown {
    #[serde(default)]
    capabilities: Vec<String>,
}

/// How it is asked.
#[derive(Debug, Clone, Copy)]
struct Look<'a> {
    client: &'a Client,
    patience: Duration,
}

impl Look<'_> {
    async fn of_ollama(&self, base: &str) -> Vec<ChatModel> {
        let Some(Tags { models }) = self.get(&format!("{base}/api/tags"), None).await else {
            return Vec::new();
        };
        let found = models.into_iter().take(MOST_MODELS).map(|Tag { name }| async move {
            let question = serde_json::to_vec(&Show { model: &name }).ok();
            // An older one does not tell what its models can do.
            let shown: Option<Shown> = self.get(&format!("{base}/api/show"), question).await;
            let can = |what: &str| {
                shown.as_ref().is_some_and(|shown| shown.capabilities.iter().any(|can| can == what))
            };
            let known = shown.as_ref().is_some_and(|shown| !shown.capabilities.is_empty());
            let (images, tools) = (can("vision"), can("tools"));
            // Others are for searching, and do not answer.
            let talks = !known || can("completion");
            let label = format!("{name} (Ollama)");
            talks.then(|| ChatModel { images, tools, ..found("ollama", base, &name, label) })
        });
        join_all(found).await.into_iter().flatten().collect()
    }

    async fn of_server(&self, base: &str) -> Vec<ChatModel> {
        let Some(Models { data }) = self.get(&format!("{base}/v1/models"), None).await else {
            return Vec::new();
        };
        let found = data.iter().take(MOST_MODELS).map(|model| {
            // A file's path is a name too, but not one for people.
            let short = model.id.rsplit('/').next().unwrap_or(&model.id);
            found("local", base, &model.id, format!("{short} (local)"))
        });
        found.collect()
    }

    /// With a question it is asked by POST.
    async fn get<T: DeserializeOwned>(&self, url: &str, question: Option<Vec<u8>>) -> Option<T> {
        let request = match question {
            Some(body) => Request::post(url)
                .header("content-type", "application/json")
                .body(Full::new(Bytes::from(body))),
            None => Request::get(url).body(Full::new(Bytes::new())),
        };
        let answered = async {
            let mut response = self.client.send(request.ok()?, self.patience).await.ok()?;
            if !response.status().is_success() {
                return None;
            }
            let body: Result<_, ChatError> =
                client::whole(response.body_mut(), LARGEST_LIST, self.patience).await;
            answer::parse(std::str::from_utf8(&body.ok()?).ok()?).ok()
        };
        timeout(self.patience, answered).await.ok().flatten()
    }
}

fn found(family: &str, base: &str, model: &str, label: String) -> ChatModel {
    ChatModel {
        name: format!("{family}:{model}"),
        label,
        kind: ChatKind::OpenAi,
        base_url: format!("{base}/v1"),
        model: model.to_owned(),
        key: None,
        context_tokens: None,
        max_output_tokens: None,
        images: false,
        image_output: false,
        tools: false,
        patience: None,
    }
}

fn ollama(host: Option<&str>) -> String {
    let text = host.map_or("", |text| text.trim().trim_matches(['"', '\'']).trim_end_matches('/'));
    let (scheme, rest, port) = match text.split_once("://") {
        Some((scheme, rest)) => {
            (scheme, rest, if scheme.eq_ignore_ascii_case("https") { 443 } else { 80 })
        }
        None => ("http", text, OLLAMA_PORT),
    };
    let (place, path) = rest.split_once('/').map_or((rest, ""), |(place, path)| (place, path));
    let (host, port) = match place.rsplit_once(':') {
        // A colon within brackets is part of the address.
        Some((host, digits)) if !digits.contains(']') => {
            (host, digits.parse().unwrap_or(OLLAMA_PORT))
        }
        Some(_) | None => (place, port),
    };
    // Where a server listens everywhere it is asked here.
    let host = match host {
        "" | "0.0.0.0" => "127.0.0.1",
        "[::]" => "[::1]",
        other => other,
    };
    let slash = if path.is_empty() { "" } else { "/" };
    format!("{scheme}://{host}:{port}{slash}{path}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_ollama_is_where_its_variable_says() {
        for (host, expected) in [
            (None, "http://127.0.0.1:11434"),
            (Some(""), "http://127.0.0.1:11434"),
            (Some("0.0.0.0"), "http://127.0.0.1:11434"),
            (Some("0.0.0.0:80"), "http://127.0.0.1:80"),
            (Some(":1234"), "http://127.0.0.1:1234"),
            (Some("box"), "http://box:11434"),
            (Some("http://box"), "http://box:80"),
            (Some("https://box/"), "https://box:443"),
            (Some("https://box:8443/ollama"), "https://box:8443/ollama"),
            (Some("[::1]:5"), "http://[::1]:5"),
            (Some("[::]"), "http://[::1]:11434"),
        ] {
            assert_eq!(Candidates::new(host).ollama, expected, "{host:?}");
        }
    }
}
