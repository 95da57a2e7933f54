//! What the operator wrote down: rows of agents, of chat and live models, and the webhook. The configuration reads them,
//! the providers work by them.

mod agent;
mod chat;
mod live;
mod webhook;

pub use agent::{AgentKind, AgentRow, CommandFormat, JsonMapping};
pub use chat::{ChatKey, ChatKind, ChatModel, Secret};
pub use live::{LiveKind, LiveModel, TurnRules, Turns};
pub use webhook::{Webhook, WebhookCall};
