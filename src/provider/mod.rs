//! Adapters to the outside world of models and agents. A provider is a function from its config to a link
//! of bounded queues; it knows neither channels nor dialects.

pub mod agent;
pub mod chat;
mod hmac;
pub mod live;
pub mod row;
pub mod webhook;
