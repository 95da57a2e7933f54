//! Code agents as processes: a scripted one that misbehaves on purpose, spoken to through its link.

use crate::process::Process;
use crate::support::{BODY, Frontend, Home};
use kakehashi::provider::agent::{
    self, AgentConfig, AgentEnd, AgentHome, AgentInput, AgentLink, AgentOutput, AgentPrompt,
    AgentState, Ask, AskId, Decision, Place, PlanStepState, Program, Tool, ToolStatus,
};
use kakehashi::provider::row::{AgentKind, AgentRow, CommandFormat, JsonMapping};
use kakehashi::sandbox::Confinement;
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::time::{sleep, timeout};

const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) const AGENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/acp_agent.py");

/// An agent and where it works.
#[derive(Debug)]
struct Post {
    directory: TempDir,
    program: Program,
}

impl Post {
    fn new(arguments: &[&str]) -> Self {
        let command = ["python3", AGENT].iter().chain(arguments);
        let row = AgentRow {
            name: "test".to_owned(),
            label: "Test".to_owned(),
            kind: AgentKind::Acp,
            command: command.map(|part| (*part).to_owned()).collect(),
            also: Vec::new(),
            env: Vec::new(),
            mode: None,
            mode_option: None,
            model_option: None,
            models: Vec::new(),
            network: false,
            writable: Vec::new(),
            install: "Ask a friend.".to_owned(),
        };
        Self::of(row)
    }

    fn of(row: AgentRow) -> Self {
        let program = Program {
            row,
            supervisor: env!("CARGO_BIN_EXE_kakehashi").into(),
            owner: "acp-test".into(),
            model: None,
            resume: None,
        };
        Self { directory: tempfile::tempdir().unwrap(), program }
    }

    fn path(&self) -> PathBuf {
        self.directory.path().canonicalize().unwrap()
    }

    /// What a command has for itself.
    fn own(&self) -> PathBuf {
        self.path().join("own")
    }

    fn start(&self) -> Agent {
        let config = AgentConfig::Program(Arc::new(self.program.clone()));
        let mut place = Place::open(self.path());
        if !config.has_approvals() {
            let mut confinement = Confinement::closed(&self.program.supervisor);
            confinement.writable.push(self.path());
            place.confinement = Some(Arc::new(confinement));
            let temp = self.own().join("tmp");
            place.home = Some(AgentHome { directory: self.own(), temp, links: Vec::new() });
        }
        Agent { link: agent::start(&config, &place) }
    }
}

#[derive(Debug)]
struct Agent {
    link: AgentLink,
}

impl Agent {
    async fn prompt(&self, text: &str) {
        self.prompt_with(text, Vec::new()).await;
    }

    async fn prompt_with(&self, text: &str, attachments: Vec<PathBuf>) {
        let prompt = AgentPrompt { text: text.to_owned(), attachments };
        self.link.input.send(AgentInput::Prompt(prompt)).await.unwrap();
    }

    async fn warm(&self) {
        self.link.input.send(AgentInput::Warm).await.unwrap();
    }

    async fn cancel(&self) {
        self.link.input.send(AgentInput::Cancel).await.unwrap();
    }

    async fn answer(&self, id: AskId, decision: Decision) {
        self.link.input.send(AgentInput::Answer { id, decision }).await.unwrap();
    }

    async fn next(&mut self) -> AgentOutput {
        timeout(PATIENCE, self.link.output.recv()).await.expect("in time").expect("alive")
    }

    async fn until(&mut self, wanted: impl Fn(&AgentOutput) -> bool) -> Vec<AgentOutput> {
        let mut outputs = Vec::new();
        while !outputs.last().is_some_and(&wanted) {
            outputs.push(self.next().await);
        }
        outputs
    }

    async fn until_answer(&mut self, text: &str) {
        self.until(|output| *output == AgentOutput::Answer(text.to_owned())).await;
    }

    async fn until_ask(&mut self) -> Ask {
        match self.until(|output| matches!(output, AgentOutput::Ask(_))).await.pop() {
            Some(AgentOutput::Ask(ask)) => ask,
            other => panic!("{other:?}"),
        }
    }

    async fn done(&mut self) -> Vec<AgentOutput> {
        self.until(|output| matches!(output, AgentOutput::Done(_))).await
    }

    async fn ask(&mut self, text: &str) -> Vec<AgentOutput> {
        self.prompt(text).await;
        self.done().await
    }

    /// The answer to a prompt that has to succeed.
    async fn said(&mut self, text: &str) -> String {
        let outputs = self.ask(text).await;
        assert_eq!(outputs.last(), Some(&finished()), "{outputs:?}");
        answers(&outputs)
    }

    async fn failure(&mut self, text: &str) -> String {
        match self.ask(text).await.pop() {
            Some(AgentOutput::Done(AgentEnd::Failed { reason })) => reason,
            other => panic!("{other:?}"),
        }
    }
}

fn answers(outputs: &[AgentOutput]) -> String {
    let mut answer = String::new();
    for output in outputs {
        if let AgentOutput::Answer(text) | AgentOutput::WholeAnswer(text) = output {
            answer.push_str(text);
        }
    }
    answer
}

fn tools(outputs: &[AgentOutput]) -> Vec<&Tool> {
    let mut tools = Vec::new();
    for output in outputs {
        if let AgentOutput::Tool(tool) = output {
            tools.push(tool);
        }
    }
    tools
}

fn finished() -> AgentOutput {
    AgentOutput::Done(AgentEnd::Finished)
}

fn cancelled() -> AgentOutput {
    AgentOutput::Done(AgentEnd::Cancelled)
}

/// Processes with this word among their arguments.
pub(crate) fn count(word: &str) -> usize {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let lines = processes.filter_map(|process| std::fs::read(process.path().join("cmdline")).ok());
    let has = |line: &Vec<u8>| line.split(|&byte| byte == 0).any(|one| one == word.as_bytes());
    lines.filter(has).count()
}

pub(crate) async fn wait_for(limit: Duration, mut condition: impl FnMut() -> bool) {
    let began = Instant::now();
    while !condition() {
        assert!(began.elapsed() < limit, "not within {limit:?}");
        sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn a_prompt_is_answered_and_the_process_is_kept() {
    let place = Post::new(&[]);
    let mut agent = place.start();
    let outputs = agent.ask("think hello").await;
    let AgentOutput::Opened { session, resumed: false } = &outputs[1] else {
        panic!("{outputs:?}")
    };
    assert!(session.starts_with("session-"));
    assert_eq!(outputs[0], AgentOutput::State(AgentState::Starting));
    assert_eq!(outputs[2], AgentOutput::State(AgentState::Thinking));
    assert_eq!(outputs[3], AgentOutput::Thought("hmm".to_owned()));
    assert_eq!(answers(&outputs), "hello there");
    assert_eq!(agent.said("session").await, *session);
    assert_eq!(agent.said("where").await, place.path().display().to_string());
}

/// Agents find their conversations by the text of this path.
#[tokio::test]
async fn the_place_of_work_is_told_without_a_slash_at_its_end() {
    let mut post = Post::new(&["--load"]);
    for _ in 0..2 {
        let config = AgentConfig::Program(Arc::new(post.program.clone()));
        let place = Place::open(post.path().join("."));
        let place = Place { directory: place.directory.join(""), ..place };
        let mut agent = Agent { link: agent::start(&config, &place) };
        assert_eq!(agent.said("told-where").await, post.path().display().to_string());
        // Once more with what it has begun.
        post.program.resume = Some(agent.said("session").await);
    }
}

#[tokio::test]
async fn messages_do_not_stick_together() {
    let place = Post::new(&[]);
    let mut agent = place.start();
    assert_eq!(agent.said("messages").await, "one and\n\nanother");
    assert_eq!(agent.said("narrate").await, "I'll look.\n\nNow I edit.\nDone.\n");
    assert_eq!(agent.said("hello").await, "hello there", "another prompt is another answer");
}

#[tokio::test]
async fn permission_requests_are_asked_and_show_their_tool_call() {
    for (word, decision, option) in [
        ("ask", Decision::AllowOnce, "the-allow_once"),
        ("ask-string", Decision::AllowAlways, "the-allow_always"),
        ("ask", Decision::Deny, "the-reject_once"),
        ("ask-string", Decision::Cancelled, "cancelled"),
        ("ask-always", Decision::AllowOnce, "the-allow_always"),
        ("ask-always", Decision::Deny, "the-reject_always"),
    ] {
        let place = Post::new(&[]);
        let mut agent = place.start();
        agent.prompt(word).await;
        let outputs = agent.until(|output| matches!(output, AgentOutput::Ask(_))).await;
        let [.., AgentOutput::Tool(tool), AgentOutput::Ask(ask)] = &outputs[..] else {
            panic!("{outputs:?}")
        };
        assert_eq!((tool, ask.tool.title.as_str()), (&ask.tool, "Write a.txt"));
        assert!(tool.asked && tool.status == ToolStatus::Started);
        assert_eq!(tool.input.as_deref(), Some(r#"{"path":"a.txt"}"#));
        let waiting = AgentOutput::State(AgentState::WaitingForConfirmation);
        assert_eq!(agent.next().await, waiting);
        agent.answer(AskId(ask.id.0 + 1), Decision::AllowAlways).await;
        agent.answer(ask.id, decision).await;
        agent.answer(ask.id, Decision::AllowAlways).await;
        let outputs = agent.done().await;
        assert_eq!(answers(&outputs), option, "{decision:?}");
        if word != "ask-always" {
            let tool = *tools(&outputs).last().unwrap();
            let done = option.contains("allow");
            let status = if done { ToolStatus::Completed } else { ToolStatus::Failed };
            assert_eq!((tool.status, &*tool.diffs[0].new), (status, "new"));
        }
    }
}

#[tokio::test]
async fn tools_plans_usage_and_modes_are_told_and_the_rest_is_passed_over() {
    let place = Post::new(&[]);
    let mut agent = place.start();
    let outputs = agent.ask("tool news private").await;
    let told_tools = tools(&outputs);
    let (first, last) = (told_tools[0], told_tools[told_tools.len() - 1]);
    assert_eq!((first.locations[0].line, first.status), (Some(3), ToolStatus::Started));
    assert_eq!((last.status, last.error.as_deref()), (ToolStatus::Failed, Some("no space")));
    assert!(!last.asked);
    let told = |wanted: &dyn Fn(&AgentOutput) -> bool| outputs.iter().any(wanted);
    assert!(told(&|output| matches!(output, AgentOutput::Plan(steps)
        if steps[0].text == "first" && steps[0].state == PlanStepState::Started)));
    assert!(told(&|output| matches!(output, AgentOutput::Usage(usage)
        if usage.used == 10 && usage.cost.as_ref().unwrap().currency == "USD")));
    assert!(told(&|output| *output == AgentOutput::Mode("plan".to_owned())));
    assert!(told(&|output| *output == AgentOutput::State(AgentState::ExecutingTool)));
    assert_eq!(answers(&outputs), "[-32601, -32601, -32601]");
}

#[tokio::test]
async fn output_after_the_end_belongs_to_no_prompt() {
    let place = Post::new(&[]);
    let mut agent = place.start();
    assert_eq!(agent.said("late").await, "");
    // Its late questions are answered, or it would never come so far.
    wait_for(PATIENCE, || place.path().join("late").exists()).await;
    assert_eq!(agent.said("hello").await, "hello there");
}

#[tokio::test]
async fn long_lines_pass_and_longer_ones_end_the_agent() {
    let place = Post::new(&[]);
    let mut agent = place.start();
    assert_eq!(agent.said("big").await.len(), 10_000_000);
    let reason = agent.failure("huge").await;
    assert!(reason.starts_with("Test: a line is longer than 16 MiB"), "{reason}");
    assert_eq!(agent.said("hello").await, "hello there");
}

#[tokio::test]
async fn a_death_fails_the_prompt_and_the_next_one_starts_it_again() {
    let place = Post::new(&[]);
    let mut agent = place.start();
    let reason = agent.failure("hello die").await;
    assert_eq!(
        reason,
        "Test: it ended in the middle of a message (exit status 3; it said: out of memory)"
    );
    let outputs = agent.ask("hello").await;
    assert!(outputs.iter().any(|output| matches!(output,
        AgentOutput::Note(line) if line.contains("does not remember"))));
    assert_eq!(answers(&outputs), "hello there");
    let reason = agent.failure("leave").await;
    assert_eq!(reason, "Test: it ended unexpectedly (exit status 0)");
}

#[tokio::test]
async fn a_conversation_goes_on_in_a_new_process() {
    for flag in ["--load", "--resume"] {
        let mut place = Post::new(&[flag, "--modes"]);
        let mut agent = place.start();
        let session = agent.said("session").await;
        agent.failure("die").await;
        let outputs = agent.ask("session").await;
        let opened = AgentOutput::Opened { session: session.clone(), resumed: true };
        assert!(outputs.contains(&opened), "{outputs:?}");
        // What was said before is not told again.
        assert_eq!(answers(&outputs), session);
        drop(agent);
        place.program.resume = Some(session.clone());
        assert_eq!(place.start().said("session").await, session);
        place.program.resume = Some("forgotten".to_owned());
        assert_ne!(place.start().said("session").await, "forgotten");
    }
}

#[tokio::test]
async fn a_history_that_comes_after_the_answer_is_told_to_nobody() {
    // While it is waited for, and when it comes only within the prompt.
    for late in ["0.05", "0.9"] {
        let mut place = Post::new(&["--load", "--load-late", late]);
        let session = place.start().said("session").await;
        place.program.resume = Some(session.clone());
        let mut agent = place.start();
        let outputs = agent.ask("session tool").await;
        assert_eq!(answers(&outputs), session, "{late}: {outputs:?}");
        let old =
            |output: &AgentOutput| matches!(output, AgentOutput::Tool(tool) if tool.id != "t1");
        assert!(!outputs.iter().any(old), "{late}: {outputs:?}");
        assert_eq!(agent.said("hello").await, "hello there");
    }
}

#[tokio::test]
async fn an_agent_whose_resume_fails_is_asked_to_load() {
    let place = Post::new(&["--resume-broken", "--load"]);
    let mut agent = place.start();
    let session = agent.said("session").await;
    agent.failure("hello die").await;
    let outputs = agent.ask("session").await;
    assert!(outputs.contains(&AgentOutput::Opened { session: session.clone(), resumed: true }));
    assert_eq!(answers(&outputs), session);
}

#[tokio::test]
async fn a_prompt_to_a_process_that_is_dead_already_goes_to_a_new_one() {
    let place = Post::new(&["--load"]);
    let mut agent = place.start();
    let session = agent.said("session").await;
    let pid: i32 = agent.said("pid").await.parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    // Nobody can have noticed it yet.
    assert_eq!(agent.said("session").await, session);
    // One that dies of its prompt is not asked for ever.
    let reason = agent.failure("leave").await;
    assert_eq!(reason, "Test: it ended unexpectedly (exit status 0)");
}

/// The conversations that were begun here.
fn conversations(place: &Path) -> Vec<String> {
    let names = std::fs::read_dir(place).unwrap().map(|entry| entry.unwrap().file_name());
    let session =
        |name: std::ffi::OsString| Some(name.to_str()?.strip_suffix(".session")?.to_owned());
    names.filter_map(session).collect()
}

#[tokio::test]
async fn output_of_an_early_start_comes_with_the_first_prompt() {
    let place = Post::new(&["--noise"]);
    let mut agent = place.start();
    agent.warm().await;
    agent.warm().await;
    wait_for(PATIENCE, || !conversations(&place.path()).is_empty()).await;
    assert!(agent.link.output.try_recv().is_err());
    let outputs = agent.ask("session").await;
    let [session] = &conversations(&place.path())[..] else { panic!("not one conversation") };
    assert_eq!(answers(&outputs), *session);
    for told in [
        AgentOutput::Line("loading extensions".to_owned()),
        AgentOutput::Opened { session: session.clone(), resumed: false },
    ] {
        assert_eq!(outputs.iter().filter(|output| **output == told).count(), 1, "{outputs:?}");
    }
}

#[tokio::test]
async fn a_failed_early_start_is_reported_with_the_first_prompt() {
    let mut place = Post::new(&[]);
    let script = "echo x >> tries; echo bad luck >&2; exit 7";
    place.program.row.command = ["sh", "-c", script].map(Into::into).to_vec();
    let mut agent = place.start();
    agent.warm().await;
    wait_for(PATIENCE, || place.path().join("tries").exists()).await;
    let reason = agent.failure("hello").await;
    assert_eq!(reason, "Test: it ended unexpectedly (exit status 7; it said: bad luck)");
    agent.cancel().await;
    assert_eq!(agent.done().await, [cancelled()]);
}

#[tokio::test]
async fn an_agent_that_dies_before_its_first_prompt_has_forgotten_nothing() {
    let place = Post::new(&["forgotten-8731"]);
    let mut agent = place.start();
    agent.warm().await;
    wait_for(PATIENCE, || !conversations(&place.path()).is_empty()).await;
    let pid = conversations(&place.path())[0].split('-').nth(1).unwrap().parse().unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    wait_for(PATIENCE, || count("forgotten-8731") == 0).await;
    // The runtime looks at the pipes of its processes at the latest after some dozens of turns.
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
    let outputs = agent.ask("hello").await;
    assert_eq!(answers(&outputs), "hello there");
    let forgot = |output: &AgentOutput| matches!(output, AgentOutput::Note(line) if line.contains("remember"));
    assert!(!outputs.iter().any(forgot), "{outputs:?}");
}

#[tokio::test]
async fn a_cancel_ends_an_early_start_with_its_prompt() {
    let place = Post::new(&["--slow", "1000"]);
    let mut agent = place.start();
    agent.warm().await;
    agent.prompt("hello").await;
    assert_eq!(agent.next().await, AgentOutput::State(AgentState::Starting));
    agent.cancel().await;
    assert_eq!(agent.done().await, [cancelled()]);
    agent.cancel().await;
    assert_eq!(agent.done().await, [cancelled()]);
}

#[tokio::test]
async fn output_beside_the_content_of_a_tool_call_is_shown() {
    let place = Post::new(&[]);
    let outputs = place.start().ask("terminal").await;
    let tool = *tools(&outputs).last().unwrap();
    assert_eq!((tool.status, tool.output.as_deref()), (ToolStatus::Completed, Some("one two")));
}

#[tokio::test]
async fn an_agent_that_ignores_the_end_of_its_input_is_ended() {
    let place = Post::new(&["--ignore-eof", "eof-7231"]);
    let mut agent = place.start();
    agent.said("hello").await;
    let Agent { link: AgentLink { input, mut output } } = agent;
    drop(input);
    // It would never end by itself.
    while timeout(PATIENCE, output.recv()).await.unwrap().is_some() {}
    assert_eq!(count("eof-7231"), 0);
}

#[tokio::test]
async fn an_agent_is_switched_to_the_mode_in_which_it_asks() {
    for flag in ["--modes", "--options"] {
        let mut place = Post::new(&[flag]);
        place.program.row.mode = Some("ask".to_owned());
        let outputs = place.start().ask("mode").await;
        assert!(outputs.contains(&AgentOutput::Mode("ask".to_owned())), "{outputs:?}");
        assert_eq!(answers(&outputs), "ask", "{flag}");
    }
    let mut place = Post::new(&["--modes", "--options"]);
    place.program.row.mode = Some("plan".to_owned());
    place.program.row.mode_option = Some("approval".to_owned());
    place.program.model = Some("large".to_owned());
    assert_eq!(place.start().said("mode").await, "plan+large");
    place.program.row.mode = Some("careful".to_owned());
    let reason = place.start().failure("mode").await;
    assert!(reason.starts_with("Test has no mode `careful`"), "{reason}");
    assert!(reason.ends_with("it has: auto, ask, plan, auto, ask, plan"), "{reason}");
}

#[tokio::test]
async fn a_failed_start_says_why() {
    let reason = Post::new(&["--auth"]).start().failure("hello").await;
    assert!(reason.starts_with("Test needs a login: Authentication required."), "{reason}");
    assert!(reason.contains("API key (set TEST_KEY)"), "{reason}");
    let reason = Post::new(&["--version", "2"]).start().failure("hello").await;
    assert_eq!(reason, "Test speaks version 2 of the protocol, and we speak 1");
    let mut place = Post::new(&[]);
    place.program.row.command = vec!["surely-not-installed".to_owned()];
    let reason = place.start().failure("hello").await;
    assert_eq!(reason, "Test: `surely-not-installed` is not installed. Ask a friend.");
    place.program.row.command = ["sh", "-c", "echo bad luck >&2; exit 7"].map(Into::into).to_vec();
    let outputs = place.start().ask("hello").await;
    assert!(outputs.contains(&AgentOutput::Line("bad luck".to_owned())), "{outputs:?}");
    let [.., AgentOutput::Done(AgentEnd::Failed { reason })] = &outputs[..] else {
        panic!("{outputs:?}")
    };
    assert_eq!(reason, "Test: it ended unexpectedly (exit status 7; it said: bad luck)");
}

#[tokio::test]
async fn noise_at_the_start_is_shown_and_a_slow_start_is_waited_for() {
    let place = Post::new(&["--noise", "--slow", "1.5"]);
    let mut agent = place.start();
    let outputs = agent.ask("hello").await;
    for line in ["loading extensions", "Welcome!"] {
        assert!(outputs.contains(&AgentOutput::Line(line.to_owned())), "{outputs:?}");
    }
    assert_eq!(answers(&outputs), "hello there");
}

#[tokio::test]
async fn only_listed_variables_are_passed_on() {
    let mut place = Post::new(&[]);
    place.program.row.env =
        ["CARGO_PKG_NAME", "FIXED=a=b", "SURELY_UNSET_X"].map(Into::into).to_vec();
    let said = place.start().said("env").await;
    let allowed = [
        "PATH",
        "HOME",
        "LANG",
        "TERM",
        "KAKEHASHI_AGENT",
        "LC_CTYPE",
        "PWD",
        "OLDPWD",
        "SHLVL",
        "_",
    ];
    for one in said.split(' ').filter(|one| one.contains('=')) {
        let (name, value) = one.split_once('=').unwrap();
        match name {
            "CARGO_PKG_NAME" => assert_eq!(value, "kakehashi"),
            "FIXED" => assert_eq!(value, "a=b"),
            // Where python3 is a script, it sets some of its own.
            _ if name.contains("PYENV_") => (),
            _ => assert!(allowed.contains(&name), "{name} was passed on"),
        }
    }
    assert!(said.contains("FIXED=a=b"), "{said}");
}

#[tokio::test]
async fn pictures_and_files_reach_the_agent() {
    for (flags, expected) in [
        (&[][..], "text image resource_link"),
        (&["--no-image"], "text resource_link resource_link"),
    ] {
        let place = Post::new(flags);
        let files = ["a.png", "b.txt"].map(|name| place.path().join(name)).to_vec();
        files.iter().for_each(|path| std::fs::write(path, "x").unwrap());
        let mut agent = place.start();
        agent.prompt_with("blocks", files).await;
        assert_eq!(answers(&agent.done().await), expected);
    }
}

#[tokio::test]
async fn each_way_a_prompt_can_end_has_its_own_message() {
    let place = Post::new(&[]);
    let mut agent = place.start();
    assert_eq!(agent.failure("refuse").await, "Test: the model refuses to answer");
    assert_eq!(agent.failure("error").await, "Test: Internal error: no model");
    let outputs = agent.ask("full").await;
    let line = AgentOutput::Note("Test: the model's limit of tokens was reached".to_owned());
    assert_eq!(outputs[outputs.len() - 2..], [line, finished()]);
}

#[tokio::test]
async fn a_polite_cancel_keeps_the_process() {
    let place = Post::new(&[]);
    let mut agent = place.start();
    let session = agent.said("session").await;
    agent.prompt("wait").await;
    agent.until_answer("working").await;
    agent.cancel().await;
    assert_eq!(agent.done().await.last(), Some(&cancelled()));
    // One that had been ended would have another session.
    assert_eq!(agent.said("session").await, session);
    agent.cancel().await;
    assert_eq!(agent.done().await, [cancelled()]);
}

#[tokio::test]
async fn a_cancel_answers_open_questions() {
    let place = Post::new(&[]);
    let mut agent = place.start();
    agent.prompt("ask-and-wait").await;
    let ask = agent.until_ask().await;
    agent.cancel().await;
    let outputs = agent.done().await;
    assert_eq!((answers(&outputs).as_str(), outputs.last()), ("cancelled", Some(&cancelled())));
    agent.answer(ask.id, Decision::AllowAlways).await;
    assert_eq!(agent.said("hello").await, "hello there");
}

#[tokio::test]
async fn a_cancel_that_is_not_heard_ends_everything_after_some_seconds() {
    for (word, fastest) in [("deaf", 3), ("stubborn", 5)] {
        let place = Post::new(&["--load"]);
        let mark = format!("86{fastest}1.5");
        let mut agent = place.start();
        agent.prompt(&format!("family {mark} {word}")).await;
        agent.until_answer("working").await;
        wait_for(PATIENCE, || count(&mark) == 4).await;
        let began = Instant::now();
        agent.cancel().await;
        assert_eq!(agent.done().await.last(), Some(&cancelled()));
        let took = began.elapsed();
        assert!(took >= Duration::from_secs(fastest), "{word}: {took:?}");
        assert_eq!(count(&mark), 0, "{word}");
        assert_eq!(agent.said("hello").await, "hello there");
    }
}

#[tokio::test]
async fn a_second_cancel_does_not_wait() {
    let (first, second) = (Post::new(&[]), Post::new(&[]));
    let (mut agent, mut other) = (first.start(), second.start());
    for (agent, mark) in [(&mut agent, "8701.5"), (&mut other, "8702.5")] {
        agent.prompt(&format!("family {mark} stubborn")).await;
        agent.until_answer("working").await;
        wait_for(PATIENCE, || count(mark) == 4).await;
    }
    // The other one is cancelled once, so it has five seconds.
    agent.cancel().await;
    other.cancel().await;
    for _ in 0..2 {
        agent.link.input.send(AgentInput::CancelNow).await.unwrap();
    }
    assert_eq!(agent.done().await.last(), Some(&cancelled()));
    assert_eq!((count("8701.5"), count("8702.5")), (0, 4));
    // It has no answer of its own.
    assert_eq!(agent.said("hello").await, "hello there");
    assert_eq!(other.done().await.last(), Some(&cancelled()));
}

#[tokio::test]
async fn a_cancel_during_the_start_ends_the_agent() {
    let place = Post::new(&["--slow", "1000", "starting-8711"]);
    let mut agent = place.start();
    agent.prompt("hello").await;
    assert_eq!(agent.next().await, AgentOutput::State(AgentState::Starting));
    wait_for(PATIENCE, || count("starting-8711") > 0).await;
    agent.cancel().await;
    assert_eq!(agent.done().await, [cancelled()]);
}

#[tokio::test]
async fn a_cancel_works_while_the_output_queue_is_full() {
    let place = Post::new(&["flood-8721"]);
    let mut agent = place.start();
    agent.prompt("flood").await;
    let output = &agent.link.output;
    wait_for(PATIENCE, || output.len() == output.max_capacity()).await;
    agent.cancel().await;
    wait_for(PATIENCE, || count("flood-8721") == 0).await;
    let outputs = agent.done().await;
    assert_eq!(outputs.last(), Some(&cancelled()));
    assert!(outputs.len() < 1000, "{}", outputs.len());
}

#[tokio::test]
async fn nothing_of_a_cancelled_prompt_goes_on_and_the_agent_stays() {
    let place = Post::new(&[]);
    let mut agent = place.start();
    let pid = agent.said("pid").await;
    agent.said("family 8811.5").await;
    wait_for(PATIENCE, || count("8811.5") == 4).await;
    agent.prompt("family 8812.5 wait").await;
    wait_for(PATIENCE, || count("8812.5") == 4).await;
    agent.cancel().await;
    assert_eq!(agent.done().await.last(), Some(&cancelled()));
    assert_eq!(count("8812.5"), 0);
    assert_eq!(count("8811.5"), 4, "these are older than the prompt");
    assert_eq!(agent.said("pid").await, pid);
}

#[tokio::test]
async fn an_agent_that_cannot_work_without_what_was_ended_is_started_again() {
    let place = Post::new(&["--load"]);
    let mut agent = place.start();
    let session = agent.said("session").await;
    agent.prompt("helper wait").await;
    agent.until_answer("working").await;
    agent.cancel().await;
    assert_eq!(agent.done().await.last(), Some(&cancelled()));
    assert_eq!(agent.said("helper session").await, session, "and goes on");
}

/// The notes of our own among them.
fn notes(outputs: &[AgentOutput]) -> Vec<&str> {
    let mut notes = Vec::new();
    for output in outputs {
        if let AgentOutput::Note(text) = output {
            notes.push(text.as_str());
        }
    }
    notes
}

#[tokio::test]
async fn a_conversation_over_which_an_agent_dies_is_given_up() {
    let mut place = Post::new(&["--load", "--die-loading"]);
    let session = place.start().said("session").await;
    place.program.resume = Some(session.clone());
    let mut agent = place.start();
    let outputs = agent.ask("hello session").await;
    assert_eq!(outputs.last(), Some(&finished()), "{outputs:?}");
    let notes = notes(&outputs);
    assert!(notes[0].starts_with("Test cannot go on with what was said before"), "{notes:?}");
    assert!(notes[0].contains("the file is broken"), "{notes:?}");
    let named = |output: &AgentOutput| matches!(output, AgentOutput::Opened { session: name, resumed: false } if *name != session);
    assert!(outputs.iter().any(named), "the new name is told: {outputs:?}");
    // The same when nobody waits for it.
    let mut early = place.start();
    early.warm().await;
    assert_eq!(early.ask("hello").await.last(), Some(&finished()));
}

#[tokio::test]
async fn modes_listed_only_for_a_new_session_are_remembered() {
    let mut place = Post::new(&["--load", "--modes", "--modes-once"]);
    place.program.row.mode = Some("ask".to_owned());
    let session = place.start().said("session").await;
    place.program.resume = Some(session.clone());
    assert_eq!(place.start().said("session mode").await, format!("{session}ask"));
}

#[tokio::test]
async fn an_agent_that_leaves_the_mode_in_which_it_asks_is_brought_back() {
    // Who has both tells it by its option alone.
    for flags in [&["--modes"][..], &["--options"], &["--modes", "--options"]] {
        let mut place = Post::new(flags);
        place.program.row.mode = Some("ask".to_owned());
        let mut agent = place.start();
        let outputs = agent.ask("leave-mode").await;
        let left = "Test has left the mode `ask`, in which it asks, for `auto`";
        assert_eq!(notes(&outputs), [left], "{flags:?}");
        let outputs = agent.ask("mode").await;
        assert_eq!(answers(&outputs), "ask", "{flags:?}");
        assert_eq!(notes(&outputs), ["Test is brought back from the mode `auto` to `ask`"]);
        assert_eq!(notes(&agent.ask("mode").await), [""; 0]);
    }
    // Also when that was between two prompts.
    let mut place = Post::new(&["--modes"]);
    place.program.row.mode = Some("ask".to_owned());
    let mut agent = place.start();
    agent.said("leave-mode-later").await;
    agent.until(|output| *output == AgentOutput::Mode("auto".to_owned())).await;
    assert_eq!(agent.said("mode").await, "ask");
}

#[tokio::test]
async fn a_mode_that_is_left_with_the_choice_of_a_model_is_noticed() {
    for how in ["update", "answer"] {
        let mut place = Post::new(&["--modes", "--options", "--model-resets", how]);
        place.program.row.mode = Some("ask".to_owned());
        place.program.model = Some("large".to_owned());
        assert_eq!(place.start().said("mode").await, "ask+large", "{how}");
    }
}

#[tokio::test]
async fn a_mode_that_is_left_while_a_cancelled_prompt_is_swept_up_is_noticed() {
    let mut place = Post::new(&["--modes"]);
    place.program.row.mode = Some("ask".to_owned());
    let mut agent = place.start();
    agent.prompt("family 8813.5 leave-mode-cancelled").await;
    wait_for(PATIENCE, || count("8813.5") == 4).await;
    agent.until_answer("working").await;
    agent.cancel().await;
    assert_eq!(agent.done().await.last(), Some(&cancelled()));
    assert_eq!(agent.said("mode").await, "ask");
}

#[tokio::test]
async fn an_agent_that_does_not_go_back_to_asking_is_started_again() {
    let mut place = Post::new(&["--load", "--modes", "--stays"]);
    place.program.row.mode = Some("ask".to_owned());
    let mut agent = place.start();
    let session = agent.said("session").await;
    let pid = agent.said("pid leave-mode").await;
    let outputs = agent.ask("session mode").await;
    assert_eq!(answers(&outputs), format!("{session}ask"));
    let again = "Test is started again: Test refused the mode in which it asks: not now";
    assert!(notes(&outputs).contains(&again), "{outputs:?}");
    assert_ne!(agent.said("pid").await, pid);
}

#[tokio::test]
async fn an_agent_that_never_goes_back_to_asking_does_not_work_and_forgets_nothing() {
    let mut place = Post::new(&["--load", "--modes", "--stays-ever"]);
    place.program.row.mode = Some("ask".to_owned());
    let mut agent = place.start();
    let session = agent.said("session leave-mode").await;
    for _ in 0..2 {
        let outputs = agent.ask("hello").await;
        let reason = "Test refused the mode in which it asks: not now".to_owned();
        assert_eq!(outputs.last(), Some(&AgentOutput::Done(AgentEnd::Failed { reason })));
        let opened = |output: &AgentOutput| matches!(output, AgentOutput::Opened { .. });
        assert!(!outputs.iter().any(opened), "it has another name: {outputs:?}");
    }
    std::fs::remove_file(place.path().join("stays")).unwrap();
    assert_eq!(agent.said("session mode").await, format!("{session}ask"));
}

#[tokio::test]
async fn a_conversation_in_which_an_agent_cannot_be_brought_to_ask_is_given_up() {
    let mut place = Post::new(&["--load", "--options"]);
    place.program.row.mode = Some("ask".to_owned());
    let session = place.start().said("session").await;
    place.program.resume = Some(session.clone());
    let outputs = place.start().ask("mode").await;
    assert_eq!(answers(&outputs), "ask", "{outputs:?}");
    let reason = "Test refused the mode in which it asks: Method not found";
    let given_up =
        format!("Test cannot go on with what was said before, and begins anew: {reason}");
    assert_eq!(notes(&outputs), [given_up]);
    let named = |output: &AgentOutput| matches!(output, AgentOutput::Opened { session: name, resumed: false } if *name != session);
    assert!(outputs.iter().any(named), "the new name is told: {outputs:?}");
}

#[tokio::test]
async fn a_question_over_the_limit_is_refused_with_a_note() {
    let place = Post::new(&[]);
    let mut agent = place.start();
    agent.prompt("ask-many 65").await;
    let too_many = "Test asks too many things at once; nobody decides about Write 64.txt";
    agent.until(|output| *output == AgentOutput::Note(too_many.to_owned())).await;
}

#[tokio::test]
async fn dropping_the_link_ends_everything() {
    let place = Post::new(&[]);
    let mut agent = place.start();
    agent.said("family 8801.5").await;
    wait_for(PATIENCE, || count("8801.5") == 4).await;
    let Agent { link: AgentLink { input, mut output } } = agent;
    drop(input);
    // The link counts as open until nothing is left.
    while timeout(PATIENCE, output.recv()).await.unwrap().is_some() {}
    assert_eq!(count("8801.5"), 0);
}

#[tokio::test]
async fn an_agent_that_ends_leaves_nothing_behind() {
    let place = Post::new(&[]);
    let mut agent = place.start();
    agent.failure("family 8901.5 leave").await;
    assert_eq!(count("8901.5"), 0);
}

#[tokio::test]
async fn the_death_of_a_supervisor_is_the_agents_too() {
    let place = Post::new(&[]);
    let mut agent = place.start();
    agent.prompt("family 9001.5 wait").await;
    agent.until_answer("working").await;
    wait_for(PATIENCE, || count("9001.5") == 4).await;
    let supervisor = supervisor_of(&place.path()).unwrap();
    let pid = rustix::process::Pid::from_raw(supervisor).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
    let outputs = agent.done().await;
    assert!(matches!(outputs.last(), Some(AgentOutput::Done(AgentEnd::Failed { .. }))));
    // Whoever has a clean environment and no parents is out of reach then.
    wait_for(PATIENCE, || count("9001.5") <= 1).await;
    end_by_hand("9001.5");
}

/// The processes whose working directory this is, with their arguments.
fn living_in(place: &Path) -> Vec<(i32, Vec<u8>)> {
    let mut found = Vec::new();
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let here = std::fs::read_link(process.path().join("cwd")).is_ok_and(|cwd| cwd == place);
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        if here && !line.is_empty() {
            found.push((process.file_name().to_str().unwrap().parse().unwrap(), line));
        }
    }
    found
}

fn supervisor_of(place: &Path) -> Option<i32> {
    let is_supervisor =
        |line: &[u8]| line.split(|&byte| byte == 0).nth(1) == Some(b"supervise".as_slice());
    living_in(place).into_iter().find(|(_, line)| is_supervisor(line)).map(|(pid, _)| pid)
}

fn end_by_hand(word: &str) {
    for process in std::fs::read_dir("/proc").unwrap().flatten() {
        let line = std::fs::read(process.path().join("cmdline")).unwrap_or_default();
        if line.split(|&byte| byte == 0).any(|one| one == word.as_bytes()) {
            let pid = process.file_name().to_str().unwrap().parse().unwrap();
            let pid = rustix::process::Pid::from_raw(pid).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

fn command(script: &str, format: CommandFormat) -> Post {
    let mut row = Post::new(&[]).program.row;
    row.kind = AgentKind::Command(format);
    row.command = ["sh", "-c", script, "sh", "{prompt}"].map(Into::into).to_vec();
    Post::of(row)
}

#[tokio::test]
async fn a_command_is_an_agent_without_approvals() {
    let place = command("echo \"one: $1\"; cat; echo two", CommandFormat::Text);
    let config = AgentConfig::Program(Arc::new(place.program.clone()));
    assert!(!config.has_approvals());
    let mut agent = place.start();
    let outputs = agent.ask("a 'b' $HOME").await;
    assert!(outputs.contains(&AgentOutput::Line("one: a 'b' $HOME".to_owned())), "{outputs:?}");
    assert_eq!(answers(&outputs), "one: a 'b' $HOME\ntwo");
    let failing = command("echo sorry >&2; exit 4", CommandFormat::Text);
    assert_eq!(failing.start().failure("x").await, "Test: exit status 4; it said: sorry");
}

#[tokio::test]
async fn a_prompt_that_is_too_long_for_an_argument_is_refused_before_anything_starts() {
    let place = command("touch ran; echo ${#1}", CommandFormat::Text);
    let reason = place.start().failure(&"x".repeat(128 * 1024)).await;
    assert!(reason.starts_with("Test: the prompt makes an argument of 129 KiB"), "{reason}");
    assert!(reason.contains("at most 128 KiB") && reason.contains("{prompt_file}"), "{reason}");
    assert!(!place.path().join("ran").exists());
    assert_eq!(place.start().said(&"x".repeat(128 * 1024 - 1)).await, "131071");
}

#[tokio::test]
async fn a_long_prompt_reaches_a_command_as_a_file_of_its_own() {
    let mut place = command("wc -c < \"$1\"; head -c 10 \"$1\"; ls -l \"$1\"", CommandFormat::Text);
    *place.program.row.command.last_mut().unwrap() = "{prompt_file}".to_owned();
    let said = place.start().said(&"{prompt}..".repeat(40_000)).await;
    let (size, rest) = said.split_once('\n').unwrap();
    assert_eq!(size.trim(), "400000");
    assert!(rest.starts_with("{prompt}..-rw-------"), "{rest}");
    let left = std::fs::read_dir(place.own().join("tmp")).unwrap().count();
    assert_eq!(left, 0);
}

#[tokio::test]
async fn json_lines_of_a_command_are_mapped() {
    let format = CommandFormat::JsonLines(JsonMapping {
        text: "/item/text".to_owned(),
        done: Some("/result".to_owned()),
        error: Some("/error".to_owned()),
        tool: Some("/item/tool".to_owned()),
        tokens: vec!["/usage/in".to_owned(), "/usage/out".to_owned()],
        cost: Some("/usd".to_owned()),
    });
    let lines = r#"echo '{"item":{"text":"a"}}'; echo plain; echo '{"item":{"text":"b"}}'; echo '{"result":"ab"}'"#;
    let outputs = command(lines, format.clone()).start().ask("x").await;
    assert!(outputs.contains(&AgentOutput::Line("plain".to_owned())), "{outputs:?}");
    assert_eq!(answers(&outputs), "ab");
    let only = command(r#"echo '{"result":"all"}'"#, format.clone());
    assert_eq!(only.start().said("x").await, "all");
    let lines =
        r#"echo '{"item":{"tool":"ls"}}'; echo '{"usage":{"in":7,"out":3}}'; echo '{"usd":0.5}'"#;
    let outputs = command(lines, format.clone()).start().ask("x").await;
    let used: Vec<_> = tools(&outputs).iter().map(|tool| tool.title.as_str()).collect();
    assert_eq!(used, ["ls"]);
    let spent = |output: &&AgentOutput| matches!(output, AgentOutput::Usage(_));
    let Some(AgentOutput::Usage(spent)) = outputs.iter().rfind(spent) else { panic!("nothing") };
    let cost = spent.cost.as_ref().map(|cost| (cost.amount, cost.currency.as_str()));
    assert_eq!((spent.used, cost), (10, Some((0.5, "USD"))));
    let failing = command(r#"echo '{"error":{"message":"no key"}}'"#, format);
    assert_eq!(failing.start().failure("x").await, "Test: no key");
}

#[tokio::test]
async fn a_command_and_its_family_end_with_a_cancel() {
    let script = "trap '' INT TERM; setsid sleep 9101.5 & echo go; sleep 9101.5";
    let place = command(script, CommandFormat::Text);
    let mut agent = place.start();
    agent.prompt("x").await;
    agent.until(|output| *output == AgentOutput::Line("go".to_owned())).await;
    agent.cancel().await;
    assert_eq!(agent.done().await, [cancelled()]);
    assert_eq!(count("9101.5"), 0);
}

#[tokio::test]
async fn a_command_is_heard_on_stderr_and_may_close_its_output_before_it_ends() {
    let script = "echo first; echo trouble >&2; exec >&-; while [ ! -e go ]; do sleep 0.05; done; \
                  echo more trouble >&2; sleep 4; touch done";
    let place = command(script, CommandFormat::Text);
    let mut agent = place.start();
    agent.prompt("x").await;
    // While it still runs.
    agent.until(|output| *output == AgentOutput::Line("trouble".to_owned())).await;
    std::fs::write(place.path().join("go"), "").unwrap();
    let outputs = agent.done().await;
    assert!(outputs.contains(&AgentOutput::Line("more trouble".to_owned())), "{outputs:?}");
    assert_eq!(outputs.last(), Some(&finished()), "{outputs:?}");
    assert!(place.path().join("done").exists(), "it was not ended");
    // And a cancel is heard then, too.
    std::fs::remove_file(place.path().join("go")).unwrap();
    agent.prompt("x").await;
    agent.until(|output| *output == AgentOutput::Line("trouble".to_owned())).await;
    agent.cancel().await;
    assert_eq!(agent.done().await.last(), Some(&cancelled()));
}

/// Settings of a gateway whose first slot is our agent.
fn settings() -> String {
    format!(
        "language = \"en\"\n[[agents]]\nname = \"test\"\nkind = \"acp\"\ncommand = [\"python3\", \"{AGENT}\", \
         \"--modes\"]\nmode = \"ask\"\n[settings]\nCODE_AI1_NAME = \"test\"\nCODE_AI2_NAME = \"scripted\"\n"
    )
}

#[tokio::test]
async fn an_agent_works_in_its_channel_and_its_user_decides() {
    let home = Home::new();
    let process = Process::start(&home, &settings());
    let asks = |packet: &Value| {
        packet[BODY].as_str().is_some_and(|text| text.contains("asks for permission"))
    };
    let ends = |packet: &Value| packet[BODY] == "<<< 処理終了 >>>";
    for (word, option) in [("no", "the-reject_once"), ("yes", "the-allow_once")] {
        let mut front = Frontend::open(process.addr, None).await;
        front.type_in("1", "mode ask").await;
        front.agents[0].until_where(asks).await;
        front.type_in("1", word).await;
        front.agents[0].collect_until(ends).await;
        let answer = front.agents[0].until("output_text").await;
        assert!(answer[BODY].as_str().unwrap().contains(option), "{answer}");
    }
    // What lies outside of the project is refused whatever the user would say.
    let mut front = Frontend::open(process.addr, None).await;
    front.type_in("1", "mode think tool ask").await;
    let packets = front.agents[0].collect_until(ends).await;
    for line in [
        "hmm",
        "[tool] Write a.txt: failed (ungated)",
        "[tool] Write a.txt: /a.txt is outside the place of work",
    ] {
        assert!(packets.iter().any(|packet| packet[BODY] == line), "no {line:?} in {packets:?}");
    }
    assert_eq!(front.agents[0].until("output_text").await[BODY], "ask\n\nthe-reject_once");
    // Another slot has another agent.
    front.type_in("2", "say as ever").await;
    assert_eq!(front.agents[1].until("output_text").await[BODY], "as ever");
}

#[tokio::test]
async fn a_second_cancel_on_a_channel_ends_its_agent_at_once() {
    let home = Home::new();
    let process = Process::start(&home, &settings());
    let mut front = Frontend::open(process.addr, None).await;
    let mut other = Frontend::open(process.addr, None).await;
    for (front, mark) in [(&mut front, "9301.5"), (&mut other, "9302.5")] {
        front.type_in("1", &format!("family {mark} stubborn")).await;
        wait_for(PATIENCE, || count(mark) == 4).await;
    }
    // The other one is cancelled once, so it has five seconds.
    for _ in 0..3 {
        front.cancel("1").await;
    }
    other.cancel("1").await;
    front.agents[0].until("output_text").await;
    assert_eq!((count("9301.5"), count("9302.5")), (0, 4));
    other.agents[0].until("output_text").await;
}

#[tokio::test]
async fn no_process_of_an_agent_survives_kill_9() {
    let home = Home::new();
    let process = Process::start(&home, &settings());
    let mut front = Frontend::open(process.addr, None).await;
    front.type_in("1", "family 9201.5 stubborn").await;
    wait_for(PATIENCE, || count("9201.5") == 4).await;
    let project = home.project.path().canonicalize().unwrap();
    assert!(supervisor_of(&project).is_some());
    process.kill();
    wait_for(Duration::from_secs(8), || living_in(&project).is_empty()).await;
    assert_eq!(count("9201.5"), 0);
}
