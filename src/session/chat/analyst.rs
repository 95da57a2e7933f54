//! The data analyst as a turn of the chat: what it knows of the session comes from the store, its code runs as a tool
//! call, and its steps are told to the session.

use super::made::{HTML, MARKDOWN, media_type, output};
use super::past;
use super::turn::{Place, Turn, TurnOutput};
use crate::assistant::analyst::planner::{By, Said};
use crate::assistant::analyst::schema::{
    DataFrameInfo, ExecutionResult, ExpectedOutput, OutputType,
};
use crate::assistant::analyst::{self, Abilities, Answered, Figure, Mind, Program, Request};
use crate::assistant::{Halt, Host};
use crate::locale::Locale;
use crate::message::{
    Artifact, ArtifactKind, Channel, Column, Dataset, Event, Execution, Notice, Output, OutputKind,
    Report, Section, SectionKind, Seq, Speaker, Work,
};
use crate::provider::chat::{self, ChatConfig, ChatRequest, ChatTurn, ToolCall, Usage};
use crate::store::{SessionKey, Store, StoreError};
use crate::tool::{Computed, interpreter_arguments};
use tokio::time::Instant;

/// How many of the newest events of the chat an analysis can build on.
const LOOKED_BACK: usize = 5_000;
/// The tool that runs the code.
pub(super) const INTERPRETER: &str = "python_interpreter";

/// What the store tells about earlier requests.
#[derive(Debug, Default)]
struct Known {
    said: Vec<Said>,
    tables: Vec<Dataset>,
    results: Vec<ExecutionResult>,
    assumptions: Vec<String>,
    /// Code whose execution has not been seen yet.
    code: Option<String>,
}

impl Turn {
    /// Answers one request of the user.
    pub(super) async fn analyse(&mut self, question: String) -> Result<Answered, Halt> {
        let known = self.known(&question).await.map_err(failed)?;
        let locale = Locale::of_text(&question).unwrap_or(self.purse.env.language.get());
        let mind = match &self.config {
            ChatConfig::Scripted => Mind::Rules,
            ChatConfig::Remote { .. } => {
                Mind::Model(Abilities { tools: chat::capabilities(&self.config).tools })
            }
        };
        let place = |table: &Dataset| (table.workspace.clone(), table.name.clone());
        let places = known.tables.iter().map(place).collect();
        self.purse.env.python.set_tables(&self.place.session, places);
        let table = known.tables.last();
        let remarks = table.and_then(|table| part_read(table, locale));
        let request = Request {
            run: self.run,
            question,
            said: known.said,
            info: table.map(info),
            remarks: remarks.into_iter().collect(),
            earlier: known.results.len(),
            results: known.results,
            assumptions: known.assumptions,
            locale,
        };
        analyst::analyse(self, &mind, request).await
    }

    async fn known(&self, question: &str) -> Result<Known, StoreError> {
        let Place { key, channel, upto, upto_in_chat, .. } = self.place;
        let store = &self.purse.env.store;
        let every = |event: &Event| Some(event.clone());
        let mut known = Known::default();
        // Tables are sent to the session, and told in its chat.
        if channel != Channel::Chat {
            known.tables = tables(store, key, upto_in_chat).await?;
        }
        let events = past::newest(store, key, channel, upto, LOOKED_BACK, every).await?;
        events.into_iter().for_each(|event| known.take(event));
        // The request itself, and texts queued behind it, are not answered yet.
        while known.said.last().is_some_and(|said| said.by == By::User) {
            let said = known.said.pop();
            if said.is_some_and(|said| said.text == question) {
                break;
            }
        }
        Ok(known)
    }

    /// Stores a file in the session's workspace, and shows it.
    async fn keep(
        &mut self,
        kind: ArtifactKind,
        name: &str,
        media_type: &str,
        description: &str,
        bytes: Vec<u8>,
    ) -> Result<String, Halt> {
        let (workspaces, session) = (self.workspaces(), self.place.session.clone());
        let (wanted, size) = (name.to_owned(), bytes.len() as u64);
        let saved = tokio::task::spawn_blocking(move || {
            let workspace = workspaces.of(&session)?;
            workspaces.save(&workspace, &wanted, &bytes)
        });
        let saved = saved.await.map_err(|_| Halt::Disconnected)?;
        let file = saved.map_err(|err| Halt::Failed(err.to_string()))?;
        let name = file.name.clone();
        let (description, media_type) = (description.to_owned(), media_type.to_owned());
        let made = Artifact { run: self.run, kind, file, description, media_type, size };
        analyst::Host::tell(self, Work::Artifact(made)).await?;
        Ok(name)
    }
}

impl analyst::Host for Turn {
    fn ask(&self, request: ChatRequest) -> ChatTurn {
        Host::ask(self, request)
    }

    async fn cancelled(&self) {
        Host::cancelled(self).await;
    }

    async fn count(&mut self, usage: Usage) -> Result<(), Halt> {
        Host::count(self, usage).await
    }

    async fn tell(&mut self, work: Work) -> Result<(), Halt> {
        Turn::tell(self, TurnOutput::Work(Box::new(work))).await
    }

    async fn say(&mut self, text: &str) -> Result<(), Halt> {
        Host::say(self, text).await
    }

    async fn execute(&mut self, step: u32, program: &Program) -> Result<ExecutionResult, Halt> {
        self.prepare_python().await?;
        let started = Instant::now();
        let arguments = interpreter_arguments(&program.code);
        let (id, name) = (format!("{}-{step}", self.run.0), INTERPRETER.to_owned());
        let call = ToolCall { id, name, arguments, signature: None };
        let done = Computed::read(self.carry_out(&call).await?);
        let (artifacts, missing) = self.artifacts(program.expected.clone(), &done).await;
        let mut stdout = done.stdout;
        if done.success && !missing.is_empty() {
            let locale = self.purse.env.language.get();
            let names = missing.join(", ");
            stdout.push_str(&locale.say("analysis", "not_saved", &[("names", &names)]));
            stdout.push('\n');
        }
        let told = Execution {
            run: self.run,
            step,
            success: done.success,
            stdout: stdout.clone(),
            error: done.error.clone(),
            outputs: artifacts.iter().filter_map(output).collect(),
            took: started.elapsed(),
        };
        let result = result(&program.code, &told);
        analyst::Host::tell(self, Work::Execution(told)).await?;
        for made in artifacts {
            analyst::Host::tell(self, Work::Artifact(made)).await?;
        }
        Ok(result)
    }

    async fn report(&mut self, report: Report, markdown: &str, locale: Locale) -> Result<(), Halt> {
        let figures = self.figures(&report).await;
        let page = analyst::page(&report, &figures, locale);
        let title = report.title.clone();
        analyst::Host::tell(self, Work::Report(report)).await?;
        let kind = ArtifactKind::Report;
        self.keep(kind, "report.md", MARKDOWN, &title, markdown.as_bytes().to_vec()).await?;
        self.keep(kind, "report.html", HTML, &title, page.into_bytes()).await?;
        Ok(())
    }
}

impl Turn {
    /// The figures of a report, for its page. One that cannot be read is left out.
    async fn figures(&self, report: &Report) -> Vec<Figure> {
        let (workspaces, session) = (self.workspaces(), self.place.session.clone());
        let is_image = |section: &&Section| section.kind == SectionKind::Image;
        let images = report.sections.iter().filter(is_image);
        let names: Vec<_> = images.map(|section| section.content.clone()).collect();
        let read = tokio::task::spawn_blocking(move || {
            let Ok(workspace) = workspaces.of(&session) else { return Vec::new() };
            let figure = |name: String| {
                let bytes = workspaces.read(&workspace, &name).ok()?;
                let media_type = media_type(&name).to_owned();
                Some(Figure { name, media_type, bytes })
            };
            names.into_iter().filter_map(figure).collect()
        });
        read.await.unwrap_or_default()
    }
}

/// The tables of a session, oldest first: those of the newest events of its chat.
pub(in crate::session) async fn tables(
    store: &Store,
    key: SessionKey,
    upto: Seq,
) -> Result<Vec<Dataset>, StoreError> {
    let table = |event: &Event| {
        let Event::Work(Work::Dataset(table)) = event else { return None };
        Some(table.clone())
    };
    let mut tables = Vec::new();
    let told = past::newest(store, key, Channel::Chat, upto, LOOKED_BACK, table).await?;
    told.into_iter().for_each(|table| push_table(&mut tables, table));
    Ok(tables)
}

/// A table that is told again was chosen: it is the newest now.
fn push_table(tables: &mut Vec<Dataset>, table: Dataset) {
    let same = |one: &Dataset| (&one.workspace, &one.name) == (&table.workspace, &table.name);
    tables.retain(|one| !same(one));
    tables.push(table);
}

impl Known {
    fn take(&mut self, event: Event) {
        if matches!(event, Event::Notice(Notice::Reset)) {
            let tables = std::mem::take(&mut self.tables);
            *self = Self { tables, ..Self::default() };
            return;
        }
        if let Some((speaker, text)) = past::spoken(&event) {
            let by = match speaker {
                Speaker::User => By::User,
                Speaker::Model => By::Analyst,
            };
            return self.said.push(Said { by, text: text.to_owned() });
        }
        let Event::Work(work) = event else { return };
        match work {
            Work::Dataset(table) => push_table(&mut self.tables, table),
            Work::Code(note) => self.code = Some(note.code),
            Work::Execution(done) => {
                let code = self.code.take().unwrap_or_default();
                self.results.push(result(&code, &done));
            }
            Work::Decision(decision) => {
                let assumed = decision.assumption.unwrap_or_default();
                self.assumptions.extend(assumed.lines().map(str::to_owned));
            }
            Work::Artifact(_) | Work::Floor(_) | Work::Report(_) => {}
        }
    }
}

fn result(code: &str, done: &Execution) -> ExecutionResult {
    let expected = |output: &Output| ExpectedOutput {
        file_name: output.file_name.clone(),
        description: output.description.clone(),
        output_type: match output.kind {
            OutputKind::Figure => OutputType::Figure,
            OutputKind::Table => OutputType::Table,
        },
    };
    ExecutionResult {
        success: done.success,
        code: code.to_owned(),
        stdout: Some(done.stdout.clone()),
        error: done.error.clone(),
        outputs: done.outputs.iter().map(expected).collect(),
    }
}

fn info(table: &Dataset) -> DataFrameInfo {
    let columns = table.columns.iter().map(|one| (one.name.clone(), one.dtype.clone()));
    let told = |one: &&Column| !one.values.is_empty();
    let values = table.columns.iter().filter(told);
    let values = values.map(|one| (one.name.clone(), one.values.clone())).collect();
    let date = |one: &Column| Some((one.name.clone(), one.date_format.clone()?));
    let dates = table.columns.iter().filter_map(date).collect();
    let info = DataFrameInfo::new(table.rows, columns.collect(), &table.head);
    DataFrameInfo { values, dates, ..info }
}

fn part_read(table: &Dataset, locale: Locale) -> Option<String> {
    let (read, total) = table.sampled?;
    let (read, total) = (read.to_string(), total.to_string());
    Some(locale.say("analysis", "loaded_part", &[("read", &read), ("total", &total)]))
}

fn failed(err: StoreError) -> Halt {
    Halt::Failed(err.to_string())
}
