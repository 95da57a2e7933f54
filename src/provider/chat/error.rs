//! Why a chat model does not answer, in words that say what to do. No text contains a key.

use std::time::Duration;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ChatError {
    #[error(
        "there is no key for this model: set {variable} and start the gateway again, or choose another model"
    )]
    NoKey { variable: String },
    #[error("{}", bad_key(variable.as_deref()))]
    BadKey {
        /// `None`: the model has no key.
        variable: Option<String>,
    },
    #[error(
        "the quota of this model is used up{}: {reason}; wait, or choose another model",
        again_in(*retry_after)
    )]
    Quota { retry_after: Option<Duration>, reason: String },
    #[error(
        "there is no model `{model}` at its server: check `model` in the configuration ({reason})"
    )]
    UnknownModel { model: String, reason: String },
    #[error(
        "this conversation is too long for the model: begin a new one or choose a model that reads more ({reason})"
    )]
    TooLong { reason: String },
    #[error("the model does not answer this ({reason}): say it differently")]
    Refused { reason: String },
    #[error(
        "the model's server cannot be reached: {reason}; check the network and `base_url` in the configuration"
    )]
    Network { reason: String },
    #[error("the model's server said nothing for {} seconds: try again later", waited.as_secs())]
    Timeout { waited: Duration },
    #[error(
        "the model's server sent what is not understood: {reason}; check `kind` and `base_url` in the configuration"
    )]
    Malformed { reason: String },
    #[error("the model's server refused with status {status}: {reason}; {}", what_helps(*status))]
    Server { status: u16, reason: String },
    #[error(
        "you have used your {limit} tokens of today; go on tomorrow, or ask the operator for more"
    )]
    Budget { limit: u64 },
    #[error("the gateway cannot read the conversation now ({0}); try again")]
    Unavailable(String),
    /// What the scripted model was told to fail with.
    #[error("{0}")]
    Scripted(String),
}

fn bad_key(variable: Option<&str>) -> String {
    match variable {
        Some(name) => format!(
            "the model's server does not accept the key in {name}: check it, and start the gateway again with the right one"
        ),
        None => "the model's server wants a key: name its variable as `key` in the configuration"
            .to_owned(),
    }
}

fn again_in(time: Option<Duration>) -> String {
    time.map(|time| format!(", try again in {} seconds", time.as_secs().max(1))).unwrap_or_default()
}

fn what_helps(status: u16) -> &'static str {
    if status < 500 { "check the model in the configuration" } else { "try again later" }
}
