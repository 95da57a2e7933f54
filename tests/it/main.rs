//! One integration binary; one module per boundary.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    reason = "a test that cannot go on should panic"
)]
#![expect(clippy::non_ascii_literal, reason = "frames of the packet dialect")]

mod acp;
mod activity;
mod agreement;
mod agreement_analyst;
mod agreement_api;
mod agreement_core_ui;
mod analyst;
mod analyst_docs;
mod analyst_questions;
mod analyst_slots;
mod api;
mod api_docs;
mod api_settings;
mod asyncapi;
mod asyncapi_analyst;
mod asyncapi_api;
mod asyncapi_core_ui;
mod backups;
mod bodies;
mod breakers;
mod builtin;
mod chat_anthropic;
mod chat_faults;
mod chat_gemini;
mod chat_openai;
mod chat_tools;
mod choice;
mod client;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod codex;
mod comparison;
mod content;
mod core_api;
mod core_ui;
mod core_ui_departures;
mod core_ui_docs;
mod core_ui_isolation;
mod core_ui_rebind;
mod core_ui_states;
mod cors;
mod crash;
mod cross_dialect;
mod discovery;
mod disks;
mod docs;
mod doctor;
mod edge;
mod environment;
mod fairness;
mod faults;
mod files;
mod findings;
#[cfg(target_os = "linux")]
mod forks;
mod fuzz;
mod gate;
mod golden;
mod golden_analyst;
mod golden_api;
mod golden_core_ui;
#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod goose;
mod handshake;
mod http;
mod idle;
mod isolation;
mod keys;
mod last_check;
mod live_gemini;
mod live_openai;
mod live_tools;
mod lives;
mod login;
mod looks;
mod model_server;
mod openapi;
mod panes;
mod pictures;
mod plain_answers;
mod private;
mod process;
mod process_limit;
mod projects;
mod protocol;
mod proxy;
mod python;
mod python_attacks;
mod python_limits;
mod python_tables;
mod rawsocket;
mod resume;
mod routing;
mod runs;
mod samples;
mod sandbox;
mod sandbox_work;
mod scope;
mod scripted;
mod self_approval;
mod sessions;
mod shutdown;
mod slow;
mod support;
mod talk;
mod talking;
#[cfg(feature = "mic")]
mod talking_devices;
mod talking_exactly;
mod texts;
mod tidy;
mod tls;
mod turns;
mod underway;
mod undo;
mod ungated;
mod users;
mod voice;
mod vue;
mod warm;
mod webhook;
