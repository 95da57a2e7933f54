//! A user interface in the same process as the core: no socket, no JSON, only typed events and commands.
//!
//! `cargo run --example in_process -- "hello"` asks the chat and prints what happens. The scripted model answers, so
//! no key is needed. A text such as `use file:write {"path": "a.txt", "content": "hi"}` is asked about on the terminal.

#![expect(
    clippy::print_stdout,
    clippy::wildcard_enum_match_arm,
    reason = "a program for a terminal that shows some of the events"
)]

use kakehashi::config::Config;
use kakehashi::message::{
    Channel, Command, ConfirmId, Confirmed, ConnectionId, Delivery, Event, Features, Inbound,
    Principal, Route, RunOutcome, SecondYes, ToolState, Typed, View,
};
use kakehashi::metrics::Metrics;
use kakehashi::session::{Attach, Devices, History, Registry, Role, SessionHandle, Step};
use kakehashi::task::Tasks;
use std::error::Error;
use std::io::{self, BufRead, Write};
use std::sync::Arc;

const UI: ConnectionId = ConnectionId(1);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let text = std::env::args().skip(1).collect::<Vec<_>>().join(" ");
    let (project, data) = (std::env::current_dir()?, tempfile::tempdir()?);
    let config = Arc::new(Config::for_test(project, data.path()));
    let registry = Registry::start(&config, &Metrics::new(), Tasks::default())?;
    let session = registry.open(&Principal::local(), None).await?;
    let (_, mut events) = session.attach(attach()).await?;
    let text = Typed::on_socket(if text.is_empty() { "hello".to_owned() } else { text });
    submit(&session, Command::SendText { route: Route::Chat, text }).await?;
    loop {
        let Step::Deliver(Delivery::Logged(entry)) = events.next().await? else { continue };
        match &entry.event {
            Event::RunStarted(_) => println!("thinking"),
            Event::Tool(call) if call.state == ToolState::Started => {
                println!("executing {}", call.name)
            }
            Event::ConfirmAsked(asked) => {
                let confirmed = ask(&asked.tool)?;
                submit(&session, answer(asked.id.clone(), confirmed)).await?;
            }
            Event::Text { text, .. } => {
                println!("{text}");
                break;
            }
            Event::RunEnded(RunOutcome::Failed | RunOutcome::Cancelled) => break,
            _ => {}
        }
    }
    drop(events);
    registry.shutdown().await;
    Ok(())
}

/// A participant that sees the chat.
fn attach() -> Attach {
    Attach {
        view: View::One(Channel::Chat),
        connection: UI,
        address: None,
        role: Role::Participant,
        devices: Devices::None,
        cursor: None,
        history: History::Whole,
        features: Features { confirm: true, agents: true, ..Features::default() },
        language: None,
    }
}

async fn submit(session: &SessionHandle, command: Command) -> Result<(), Box<dyn Error>> {
    Ok(session.submit(UI, Inbound { request: None, command }).await?)
}

fn answer(id: ConfirmId, confirmed: Confirmed) -> Command {
    Command::Confirm { id, confirmed, always: false, call: None, second: SecondYes::ByRepeating }
}

fn ask(call: &str) -> io::Result<Confirmed> {
    print!("{call}? [y/N] ");
    io::stdout().flush()?;
    let mut line = String::new();
    io::stdin().lock().read_line(&mut line)?;
    Ok(if line.trim() == "y" { Confirmed::Approved } else { Confirmed::Refused })
}
