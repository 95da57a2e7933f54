//! An assistant that computes, as a turn of the chat: it works in the loop of every assistant, and each of its programs
//! is told as code, what came of it, and the files that it made. The data analyst runs its code by the same means.

use super::analyst::{INTERPRETER, tables};
use super::made::{kind_of, media_type, output};
use super::turn::{Question, Turn, TurnOutput};
use crate::assistant::analyst::schema::ExpectedOutput;
use crate::assistant::{End, Halt, Host};
use crate::config::CustomTool;
use crate::files::Workspaces;
use crate::message::{Artifact, CodeNote, Execution, FloorNote, Work};
use crate::provider::chat::{ToolCall, ToolSpec};
use crate::python::Step;
use crate::tool::{self, Computed, ComputedFile, Outcome, interpreter_arguments};
use std::sync::Arc;
use tokio::sync::mpsc;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Steps of a setup that wait to be told. Full: the step is not told.
const STEP_CAPACITY: usize = 64;

impl Turn {
    /// Answers one request of the user.
    pub(super) async fn compute(&mut self, mut question: Question) -> Result<End, Halt> {
        question.tools = self.assistant.tools();
        question.tools.extend(self.purse.env.config.custom_tools.iter().map(spec));
        let (key, upto) = (self.place.key, self.place.upto_in_chat);
        let known = tables(&self.purse.env.store, key, upto).await;
        let known = known.map_err(|err| Halt::Failed(err.to_string()))?;
        let places = known.into_iter().map(|table| (table.workspace, table.name)).collect();
        self.purse.env.python.set_tables(&self.place.session, places);
        self.converse(question).await
    }

    /// Carries a call out, and tells what came of it.
    pub(super) async fn told_call(&mut self, call: &ToolCall) -> Result<Outcome, Halt> {
        let config = Arc::clone(&self.purse.env.config);
        if let Some(custom) = config.custom_tools.iter().find(|one| one.name == call.name) {
            return match custom.code(&call.arguments) {
                Ok(code) => self.run_code(&interpreted(call, &code), code).await,
                Err(why) => Ok(Err(why)),
            };
        }
        let tool = tool::find(&call.name).map(|tool| tool.name);
        match tool.and_then(|name| tool::code(name, &call.arguments)) {
            Some(code) => self.run_code(call, code).await,
            None => {
                let outcome = self.carry_out(call).await?;
                let order = tool.and_then(|name| tool::floor_order(name, &call.arguments));
                if let (Ok(_), Some(order)) = (&outcome, order) {
                    self.tell_work(Work::Floor(FloorNote { run: self.run, order })).await?;
                }
                Ok(outcome)
            }
        }
    }

    async fn run_code(&mut self, call: &ToolCall, code: String) -> Result<Outcome, Halt> {
        self.prepare_python().await?;
        self.programs += 1;
        let (run, step, started) = (self.run, self.programs, Instant::now());
        self.tell_work(Work::Code(CodeNote { run, step, code })).await?;
        let done = Computed::read(self.carry_out(call).await?);
        let (artifacts, _) = self.artifacts(Vec::new(), &done).await;
        self.tell_work(Work::Execution(Execution {
            run,
            step,
            success: done.success,
            stdout: done.stdout.clone(),
            error: done.error.clone(),
            outputs: artifacts.iter().filter_map(output).collect(),
            took: started.elapsed(),
        }))
        .await?;
        for made in artifacts {
            self.tell_work(Work::Artifact(made)).await?;
        }
        Ok(readable(&done))
    }

    pub(super) async fn tell_work(&self, work: Work) -> Result<(), Halt> {
        self.tell(TurnOutput::Work(Box::new(work))).await
    }

    pub(super) fn workspaces(&self) -> Workspaces {
        self.purse.env.files.workspaces(&self.place.principal)
    }

    /// Describes the files that a program has saved, and names those that were promised and are not there.
    pub(super) async fn artifacts(
        &self,
        expected: Vec<ExpectedOutput>,
        done: &Computed,
    ) -> (Vec<Artifact>, Vec<String>) {
        let (workspaces, session) = (self.workspaces(), self.place.session.clone());
        let (files, run) = (done.files.clone(), self.run);
        let missing = expected.iter().map(|one| one.file_name.clone());
        let missing =
            missing.filter(|name| files.iter().all(|file| file.saved_as != *name)).collect();
        let described = tokio::task::spawn_blocking(move || {
            let Ok(workspace) = workspaces.of(&session) else { return Vec::new() };
            let artifact = |file: &ComputedFile| {
                let promised = expected.iter().find(|one| one.file_name == file.saved_as);
                let kind = kind_of(&file.file_name, promised)?;
                let (note, size) = workspaces.describe(&workspace, &file.file_name).ok()?;
                let description =
                    promised.map_or_else(|| renamed(file), |one| one.description.clone());
                let media_type = media_type(&file.file_name).to_owned();
                Some(Artifact { run, kind: kind.into(), file: note, description, media_type, size })
            };
            files.iter().filter_map(artifact).collect()
        });
        (described.await.unwrap_or_default(), missing)
    }

    /// Makes the packages with the first use, and tells how far that is.
    pub(super) async fn prepare_python(&self) -> Result<(), Halt> {
        let (told, mut steps) = mpsc::channel(STEP_CAPACITY);
        let (python, stop) = (self.purse.env.python.clone(), CancellationToken::new());
        let _stops = stop.clone().drop_guard();
        let preparing = python.prepare(&stop, move |step| {
            // Full: the next step says more.
            let _ = told.try_send(step);
        });
        tokio::pin!(preparing);
        loop {
            tokio::select! {
                biased;
                () = Host::cancelled(self) => return Err(Halt::Cancelled),
                Some(step) = steps.recv() => self.tell_setup(&step).await?,
                made = &mut preparing => {
                    let locale = self.purse.env.language.get();
                    return made.map_err(|err| Halt::Failed(locale.word(&err.to_string())));
                }
            }
        }
    }

    async fn tell_setup(&self, step: &Step) -> Result<(), Halt> {
        let locale = self.purse.env.language.get();
        match step {
            // There is nothing to wait for.
            Step::LookingForPython | Step::Ready => Ok(()),
            Step::Waiting | Step::Creating { .. } | Step::Installing { .. } | Step::Compiling => {
                let line = locale.word(&step.to_string());
                Turn::tell(self, TurnOutput::Line(line)).await
            }
        }
    }
}

fn spec(custom: &CustomTool) -> ToolSpec {
    let CustomTool { name, description, schema, .. } = custom.clone();
    ToolSpec { name, description, schema }
}

/// A call of a tool that is Python, as the rules and the sandbox know it.
fn interpreted(call: &ToolCall, code: &str) -> ToolCall {
    let (name, arguments) = (INTERPRETER.to_owned(), interpreter_arguments(code));
    ToolCall { name, arguments, ..call.clone() }
}

/// The name that the code gave a file, if the file has another one.
fn renamed(file: &ComputedFile) -> String {
    if file.saved_as == file.file_name { String::new() } else { file.saved_as.clone() }
}

/// What the model is told.
fn readable(done: &Computed) -> Outcome {
    let names: Vec<_> = done.files.iter().map(|file| file.file_name.as_str()).collect();
    let saved = (!names.is_empty()).then(|| format!("[saved: {}]", names.join(", ")));
    let lost: Vec<_> = done.not_kept.iter().map(|(name, why)| format!("{name} ({why})")).collect();
    let lost = (!lost.is_empty()).then(|| format!("[not kept: {}]", lost.join(", ")));
    let printed = done.stdout.trim_end().to_owned();
    let parts = [Some(printed).filter(|text| !text.is_empty()), done.error.clone(), saved, lost];
    let text: Vec<_> = parts.into_iter().flatten().collect();
    let text = text.join("\n");
    match done.success {
        true if text.is_empty() => Ok("[the code printed nothing]".to_owned()),
        true => Ok(text),
        false => Err(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_reads_what_was_printed_what_failed_and_what_was_saved() {
        let file = |name: &str| ComputedFile { saved_as: name.into(), file_name: name.into() };
        let done = Computed { success: true, stdout: "1\n".into(), ..Computed::default() };
        assert_eq!(readable(&done), Ok("1".to_owned()));
        let done = Computed { files: vec![file("a.png")], ..done };
        assert_eq!(readable(&done), Ok("1\n[saved: a.png]".to_owned()));
        let failed = Computed { success: false, error: Some("KeyError".into()), ..done };
        assert_eq!(readable(&failed), Err("1\nKeyError\n[saved: a.png]".to_owned()));
        let not_kept = vec![("t:1.png".to_owned(), "name".to_owned())];
        let lost = Computed { success: true, not_kept, ..Computed::default() };
        assert_eq!(readable(&lost), Ok("[not kept: t:1.png (name)]".to_owned()));
        let silent = Computed { success: true, ..Computed::default() };
        assert!(readable(&silent).is_ok_and(|text| text.contains("nothing")));
    }
}
