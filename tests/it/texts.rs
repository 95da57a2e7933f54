//! Every text that people may read has both languages. The sources are read token by token: a text of two words or
//! more is a phrase with a Japanese word, a line of the log, or it is listed here with the reason why it may stay English.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Macros whose texts are for the log, or for whoever repairs a bug.
const FOR_THE_LOG: [&str; 12] = [
    "trace",
    "debug",
    "info",
    "warn",
    "error",
    "panic",
    "unreachable",
    "assert",
    "assert_eq",
    "assert_ne",
    "env",
    "include_str",
];

/// Files of which no text reaches a person, each with the reason.
const NOT_FOR_PEOPLE: &[(&str, &str)] = &[
    ("config/vendor.rs", "lines for the configuration file"),
    ("dialect/aicore/wire/line.rs", "words of the protocol"),
    ("dialect/core_ui/agent_event/encode.rs", "words that existing pages compare"),
    ("message/quote.rs", "said to models"),
    ("dialect/smol/parser/label.rs", "words of agents"),
    ("dialect/smol/parser/object.rs", "words of Python"),
    ("metrics.rs", "for the monitoring"),
    ("metrics/page.rs", "for the monitoring"),
    ("provider/agent/acp/wire.rs", "said to agents"),
    ("provider/agent/argument.rs", "said to agents"),
    ("assistant/analyst/schema.rs", "said to models"),
    ("assistant/coder/connection.rs", "said to the gateway, which is its only client"),
    ("assistant/conversation.rs", "said to models"),
    ("assistant/coder/prompt.rs", "said to models"),
    ("provider/agent/scripted.rs", "an agent for tests"),
    ("provider/chat/attachment.rs", "said to models"),
    ("provider/chat/prompt.rs", "said to models"),
    ("provider/chat/scripted.rs", "a model for tests"),
    ("provider/live/errand.rs", "said to models"),
    ("provider/live/remote/vendor/gemini/tool_calls.rs", "said to models"),
    ("provider/live/remote/vendor/gemini/close_reason.rs", "words of the vendor"),
    ("provider/live/remote/vendor/gemini/setup.rs", "said to models"),
    ("provider/live/remote/vendor/gemini/requests.rs", "said to models, and to the log"),
    ("provider/live/remote/mod.rs", "said to models"),
    ("provider/live/remote/vendor/openai/mod.rs", "said to models, and to the log"),
    ("provider/live/remote/protocol.rs", "said to models"),
    ("provider/live/scripted/mod.rs", "a model for tests"),
    ("python/datasets.rs", "a file for the operator"),
    ("python/output.rs", "said to models"),
    ("server/cookie.rs", "headers"),
    ("server/cors.rs", "headers"),
    ("server/health.rs", "for supervisors"),
    ("session/sockets/reader.rs", "for the log"),
    ("store/mention.rs", "SQL"),
    ("store/schema.rs", "SQL"),
    ("tool/data.rs", "said to models, and to Python"),
    ("tool/query.rs", "said to models"),
];

/// Errors that people read by their codes, in sections of their own; these texts are for the log.
const SAID_BY_CODE: [&str; 7] = [
    "dialect/smol/error.rs",
    "dialect/core_ui/error.rs",
    "auth/mod.rs",
    "dialect/aicore/reject.rs",
    "dialect/aicore/error.rs",
    "dialect/api/error.rs",
    "files/content.rs",
];

/// Single texts that stay as they are: the file, how the text begins, and why.
const AS_IT_IS: &[(&str, &str, &str)] = &[
    ("config/custom.rs", "def tool_{name}", "a program"),
    ("config/custom.rs", "def run(", "a program"),
    ("config/custom.rs", "run =", "a program"),
    ("config/custom.rs", "the arguments of", "said to models"),
    ("config/confine.rs", "[box] enabled", "a line of the configuration file"),
    ("config/raw.rs", "unknown ", "looked for in what the parser says"),
    ("config/settings.rs", "a table of model settings", "part of a sentence of the parser"),
    ("dialect/aicore/activity.rs", "[plan]", "a mark before the agent's own text"),
    ("dialect/aicore/decode.rs", "audio, input", "names of channels"),
    ("dialect/aicore/decode.rs", "input, 0", "names of channels"),
    ("doctor/agents.rs", "agent {}", "the name of a check, also for programs"),
    ("doctor/limits.rs", "open files", "the name of a check, also for programs"),
    ("doctor/models.rs", "mkdir", "a command"),
    ("doctor/port.rs", "GET", "HTTP"),
    ("doctor/port.rs", "HTTP", "HTTP"),
    ("python/answer.rs", "{mib} MB", "a unit"),
    ("python/found.rs", "import importlib", "a program"),
    ("python/process.rs", "there is no box", "looked for in what our own binary says"),
    ("main.rs", "Examples", "--help, which is made by the parser of arguments in English only"),
    ("main.rs", "kakehashi: {}", "the name of the program"),
    ("main.rs", "listening on", "scripts learn the address from it"),
    ("main.rs", "agent UI on", "scripts learn the second address from it"),
    ("main.rs", "open {page}?token", "scripts learn the token from it"),
    ("picture.rs", "{} bytes", "for the log"),
    ("provider/agent/acp/content.rs", "a picture", "stands within the agent's own text"),
    ("assistant/coder/mod.rs", "Built-in agent", "a name"),
    ("assistant/mod.rs", "Data analyst", "a name"),
    ("assistant/mod.rs", "Echo (mock mode)", "words of the agent UI's document"),
    ("dialect/smol/output.rs", "[{} bytes]", "a unit"),
    ("dialect/smol/parser/code.rs", "Step {}", "words of the agent UI's document"),
    ("dialect/smol/turn.rs", "Step {number}", "words of the agent UI's document"),
    ("dialect/smol/turn.rs", "\n[stderr]", "words of the agent UI's document"),
    ("message/floor/show_map.rs", "WHAT:ROOM", "a form of arguments"),
    ("server/smol/files.rs", "default-src", "a header"),
    ("server/smol/files.rs", "private,", "a header"),
    ("session/chat/computing.rs", "[not kept", "said to models"),
    ("server/smol/files.rs", "<h1>Frontend", "words of the agent UI's document"),
    ("session/chat/computing.rs", "[saved", "said to models"),
    ("session/chat/computing.rs", "[the code printed", "said to models"),
    ("tool/floor.rs", "Error: ", "the words know what follows"),
    ("tool/floor.rs", "the plan of", "said to models"),
    ("assistant/analyst/html.rs", "<!DOCTYPE", "HTML"),
    ("assistant/analyst/html.rs", "<div class", "HTML"),
    ("assistant/analyst/model.rs", "no execution has", "said to models"),
    ("assistant/analyst/model.rs", "Gives your", "said to models"),
    ("assistant/analyst/model.rs", "Answer by", "said to models"),
    ("assistant/analyst/model.rs", "Answer with", "said to models"),
    ("assistant/analyst/model.rs", "{head}", "said to models"),
    ("assistant/analyst/report.rs", "a text section", "said to models"),
    ("assistant/analyst/script.rs", "use python_interpreter", "a command"),
    ("server/analyst/files.rs", "private,", "a header"),
    ("tool/call.rs", "there is no sandbox", "said to models"),
    ("tool/python.rs", "code has to be", "said to models"),
    ("assistant/work.rs", "only {MOST_CALLS}", "said to models"),
    ("assistant/coder/turn.rs", "{reason}; do not try", "said to models"),
    ("assistant/work.rs", "\n[{left_out}", "said to models"),
    ("tool/shell.rs", "exec", "a command"),
    ("tool/call.rs", "the arguments of", "said to models"),
    ("tool/look.rs", "there are no lines", "said to models"),
    ("tool/registry.rs", "there is no tool", "said to models"),
    ("assistant/coder/turn.rs", "[I used", "said to models"),
    ("provider/agent/check.rs", "exec", "a command"),
    ("provider/agent/command.rs", "; it said", "the words know it as `{}; it said: {words}`"),
    ("provider/chat/anthropic.rs", "credit balance", "looked for in what the vendor says"),
    ("provider/chat/anthropic.rs", "exceed context", "looked for in what the vendor says"),
    ("provider/chat/anthropic.rs", "prompt is too", "looked for in what the vendor says"),
    ("provider/chat/discover.rs", "{name} (Ollama)", "a name"),
    ("provider/chat/discover.rs", "{short} (local)", "a name"),
    ("provider/chat/failure.rs", "(the key)", "stands within the vendor's own text"),
    ("provider/chat/gemini.rs", "api key", "looked for in what the vendor says"),
    ("provider/chat/gemini.rs", "exceeds", "looked for in what the vendor says"),
    ("provider/chat/openai.rs", "context length", "looked for in what the vendor says"),
    ("provider/chat/openai.rs", "error: ", "said to models"),
    ("provider/chat/openai.rs", "not a valid", "looked for in what the vendor says"),
    ("provider/live/remote/conversation/tool_calls.rs", "this is already", "said to models"),
    ("provider/live/remote/connection/dial.rs", "HTTP", "HTTP, and what the vendor says"),
    ("provider/live/remote/vendor/gemini/mod.rs", "the vendor was ready", "for the log"),
    ("provider/live/remote/vendor/gemini/dialogue.rs", "sound that", "for the log"),
    ("provider/live/remote/vendor/openai/response.rs", "sound that", "for the log"),
    ("provider/webhook.rs", "its server answers", "for the log"),
    ("sandbox/means.rs", "bubblewrap (", "a program and its path"),
    ("sandbox/probe.rs", "grep", "a command"),
    ("sandbox/probe.rs", "test", "a command"),
    ("sandbox/probe.rs", "there is no box: ", "taken off, not said"),
    ("sandbox/secret.rs", ".config", "a path"),
    ("server/accept.rs", "HTTP", "said before a request is read"),
    ("server/assets.rs", "default-src", "a header"),
    ("server/metrics.rs", "application/", "a header"),
    ("server/sessions.rs", "attachment", "a header"),
    ("server/attached.rs", "closed by", "for the log"),
    ("server/attached.rs", "the database", "for the log"),
    ("server/attached.rs", "the login", "for the log"),
    ("server/attached.rs", "the peer", "for the log"),
    ("server/attached.rs", "websocket", "for the log"),
    ("server/socket.rs", "at most", "in a close frame: clients go by its code"),
    ("server/socket.rs", "no sign", "in a close frame: clients go by its code"),
    ("server/socket.rs", "retry in", "in a close frame: clients read the number"),
    ("server/socket.rs", "text must", "in a close frame: clients go by its code"),
    ("server/socket.rs", "the login", "in a close frame: clients go by its code"),
    ("server/socket.rs", "the session", "in a close frame: clients go by its code"),
    ("server/socket.rs", "too slow", "in a close frame: clients go by its code"),
    ("server/tls.rs", "HTTP", "HTTP"),
    ("server/tls.rs", "this port", "said before a request is read; doctor knows the port by it"),
    ("session/workplace/inspect.rs", "Work of agent", "the message of a commit"),
    ("session/approval/judging.rs", "--- ", "a diff"),
    ("session/models.rs", "Built-in agent", "a name"),
    ("session/workplace/agent_home.rs", "[box] enabled", "a line of the configuration file"),
    ("store/reader.rs", "channel = {}", "SQL"),
    ("talk/dial.rs", "Bearer", "a header"),
    ("provider/agent/acp/tools.rs", "bwrap: ", "looked for in what agents say"),
    ("workplace/index.rs", "Ignoring path ", "looked for in what git says"),
    ("workplace/private.rs", "* -text", "attributes of git"),
    ("talk/line.rs", "retry in", "looked for in what the gateway says"),
    ("policy/shell/code.rs", "file delete", "looked for in code"),
    ("policy/shell/code.rs", "with administrator privileges", "looked for in code"),
    ("workplace/accept.rs", "already exists", "looked for in what git says"),
    ("workplace/accept.rs", "create refs", "said to git"),
    ("workplace/accept.rs", "exists; cannot", "looked for in what git says"),
    ("workplace/backup.rs", "backup of", "the message of a commit"),
    ("workplace/error.rs", ".lock", "looked for in what git says"),
    ("workplace/error.rs", "Disk quota", "looked for in what git says"),
    ("workplace/error.rs", "No space", "looked for in what git says"),
    ("workplace/error.rs", "Permission", "looked for in what git says"),
    ("workplace/error.rs", "Read-only", "looked for in what git says"),
    ("workplace/error.rs", "cannot fork", "looked for in what git says"),
    ("workplace/error.rs", "insufficient", "looked for in what git says"),
    ("workplace/error.rs", "unable to", "looked for in what git says"),
    ("workplace/git.rs", ".lock", "looked for in what git says"),
    ("workplace/git.rs", "git version", "looked for in what git says"),
    ("workplace/merge.rs", "CONFLICT", "looked for in what git says"),
    ("workplace/objects.rs", "--format", "said to git"),
    ("workplace/private.rs", "[core]", "settings for git"),
    ("workplace/private.rs", "[gc]", "settings for git"),
    ("workplace/private.rs", "\trepository", "settings for git"),
    ("workplace/private.rs", "ref: ", "settings for git"),
    ("workplace/refs.rs", "delete", "said to git"),
    ("server/core_ui/ws.rs", "Forbidden origin", "existing pages compare it"),
    ("session/voice/handlers.rs", "the user does not want it", "said to models"),
    ("session/voice/handlers.rs", "agent {agent} has it", "said to models"),
    ("tool/shell.rs", "ulimit", "a line of the shell"),
];

/// Where an error may be told to a client in its own words, with the reason. Elsewhere in these rooms it has to become
/// a text of the locale files: the words of a parser are English, whatever the session speaks.
const OWN_WORDS: &[(&str, usize, &str)] = &[
    ("dialect/aicore/client.rs", 1, "our own client, which only counts such packets"),
    (
        "dialect/smol/parser/map_wire.rs",
        1,
        "why an agent's order is left out, which nobody is told",
    ),
    ("server/analyst/upload.rs", 1, "an error of ours, translated as a phrase"),
    ("server/control.rs", 1, "said to the operator's own commands, which translate it"),
    ("server/core_api.rs", 2, "an error of ours, translated as a phrase"),
    ("server/mod.rs", 1, "said by the program before it serves anybody"),
];

/// A text in the sources.
#[derive(Debug)]
struct Text {
    file: String,
    text: String,
}

fn sources() -> BTreeMap<String, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = BTreeMap::new();
    let mut open = vec![root.clone()];
    while let Some(directory) = open.pop() {
        for entry in std::fs::read_dir(directory).unwrap() {
            let path: PathBuf = entry.unwrap().path();
            let name = path.strip_prefix(&root).unwrap().to_str().unwrap().to_owned();
            if path.is_dir() {
                open.push(path);
            } else if name.ends_with(".rs") && !name.contains("tests") {
                found.insert(name, std::fs::read_to_string(path).unwrap());
            }
        }
    }
    found
}

/// What a source is made of; comments are left out.
#[derive(Debug)]
enum Token {
    Word(String),
    Mark(char),
    Text(String),
    /// By the bracket that opens it.
    Group(char, Vec<Token>),
}

/// Reads up to the bracket that closes this group, or to the end.
fn tokens(rest: &mut &str) -> Vec<Token> {
    let mut found = Vec::new();
    while let Some(first) = rest.chars().next() {
        let after = &rest[first.len_utf8()..];
        if rest.starts_with("//") {
            *rest = rest.split_once('\n').map_or("", |(_, next)| next);
        } else if let Some((text, next)) = raw_text(rest) {
            found.push(Token::Text(text.to_owned()));
            *rest = next;
        } else if first == '"' {
            let (text, next) = text(after);
            found.push(Token::Text(text));
            *rest = next;
        } else if first == '\'' {
            *rest = letter_end(after);
        } else if "([{".contains(first) {
            *rest = after;
            found.push(Token::Group(first, tokens(rest)));
        } else if ")]}".contains(first) {
            *rest = after;
            break;
        } else if first.is_alphanumeric() || first == '_' {
            let end = rest.find(|one: char| !one.is_alphanumeric() && one != '_');
            let (word, next) = rest.split_at(end.unwrap_or(rest.len()));
            found.push(Token::Word(word.to_owned()));
            *rest = next;
        } else {
            if !first.is_whitespace() {
                found.push(Token::Mark(first));
            }
            *rest = after;
        }
    }
    found
}

/// `r"..."` and `r#"..."#`, with what comes behind it.
fn raw_text(rest: &str) -> Option<(&str, &str)> {
    let start = rest.strip_prefix('r')?.trim_start_matches('#');
    let marks = rest.len() - 1 - start.len();
    start.strip_prefix('"')?.split_once(&format!("\"{}", "#".repeat(marks)))
}

/// What a text says, and what comes behind it.
fn text(rest: &str) -> (String, &str) {
    let mut text = String::new();
    let mut letters = rest.char_indices().peekable();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '"' => return (text, &rest[at + 1..]),
            '\\' => match letters.next() {
                Some((_, 'n')) => text.push('\n'),
                Some((_, 'r')) => text.push('\r'),
                Some((_, 't')) => text.push('\t'),
                // A long text goes on in the next line.
                Some((_, '\n')) => {
                    while letters.next_if(|(_, letter)| letter.is_whitespace()).is_some() {}
                }
                Some((_, other)) => text.push(other),
                None => {}
            },
            other => text.push(other),
        }
    }
    (text, "")
}

/// Behind a letter in quotes; a lifetime has no second quote.
fn letter_end(rest: &str) -> &str {
    let mut letters = rest.chars();
    match letters.next() {
        Some('\\') => {
            letters.next();
            letters.as_str().split_once('\'').map_or("", |(_, next)| next)
        }
        _ => letters.as_str().strip_prefix('\'').unwrap_or(rest),
    }
}

/// Every text of a file apart from those of tests, of the log and of attributes other than `#[error]`.
fn texts(file: &str, source: &str) -> Vec<Text> {
    let mut found = Vec::new();
    let mut rest = source;
    walk(&tokens(&mut rest), &mut |text| {
        found.push(Text { file: file.to_owned(), text: text.to_owned() });
    });
    assert_eq!(rest, "", "{file} was not read to its end");
    found
}

fn walk(tokens: &[Token], tell: &mut impl FnMut(&str)) {
    let mut rest = tokens;
    loop {
        rest = match rest {
            [] => return,
            [Token::Mark('#'), Token::Mark('!'), Token::Group('[', _), rest @ ..] => rest,
            [Token::Mark('#'), Token::Group('[', inside), rest @ ..] => {
                if matches!(inside.first(), Some(Token::Word(name)) if name == "error") {
                    walk(inside, tell);
                }
                if is_for_tests(inside) { behind_item(rest) } else { rest }
            }
            [Token::Word(name), Token::Mark('!'), Token::Group(..), rest @ ..]
                if FOR_THE_LOG.contains(&name.as_str()) =>
            {
                rest
            }
            [Token::Text(text), rest @ ..] => {
                tell(text);
                rest
            }
            [Token::Group(_, inside), rest @ ..] => {
                walk(inside, tell);
                rest
            }
            [Token::Word(_) | Token::Mark(_), rest @ ..] => rest,
        };
    }
}

fn is_for_tests(attribute: &[Token]) -> bool {
    let is = |token: &Token, wanted: &str| matches!(token, Token::Word(name) if name == wanted);
    match attribute {
        [name] => is(name, "test"),
        [name, Token::Group('(', inside)] => {
            is(name, "cfg") && inside.first().is_some_and(|first| is(first, "test"))
        }
        _ => false,
    }
}

fn behind_item(tokens: &[Token]) -> &[Token] {
    let ends = |token: &Token| matches!(token, Token::Group('{', _) | Token::Mark(';'));
    let end = tokens.iter().position(ends).map_or(tokens.len(), |end| end + 1);
    &tokens[end..]
}

/// Two words or more, one of them letters and no value.
fn is_spoken(text: &str) -> bool {
    let parts: Vec<_> = text.split_whitespace().collect();
    let is_word = |part: &&str| {
        let part = part.trim_matches(|letter: char| !letter.is_alphabetic() && letter != '{');
        part.len() > 1 && part.chars().all(|one| one.is_alphabetic() || "'-".contains(one))
    };
    parts.len() > 1 && parts.iter().any(is_word)
}

fn is_sql(text: &str) -> bool {
    let verbs =
        ["SELECT", "INSERT", "UPDATE", "DELETE", "PRAGMA", "CREATE", "ALTER", "DROP", "WITH"];
    verbs.iter().any(|verb| text.trim_start().starts_with(&format!("{verb} ")))
}

fn locale(name: &str) -> BTreeMap<String, BTreeMap<String, String>> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("config/locales/{name}.toml"));
    toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// As the words know it: the built-in agent's remarks stand in brackets and on lines of their own.
fn bare(text: &str) -> &str {
    let text = text.trim_matches('\n');
    text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text)
}

fn untold(file: &str, source: &str, words: &BTreeMap<String, String>) -> Vec<Text> {
    let is_left = |said: &Text| {
        let listed = |(file, start, _): &(&str, &str, &str)| {
            said.file == *file && said.text.starts_with(start)
        };
        let known = words.contains_key(&said.text) || words.contains_key(bare(&said.text));
        is_spoken(&said.text) && !known && !is_sql(&said.text) && !AS_IT_IS.iter().any(listed)
    };
    let silent =
        NOT_FOR_PEOPLE.iter().any(|(name, _)| *name == file) || SAID_BY_CODE.contains(&file);
    if silent { Vec::new() } else { texts(file, source).into_iter().filter(is_left).collect() }
}

#[test]
fn every_text_for_people_has_both_languages() {
    let words = &locale("ja")["words"];
    let sources = sources();
    let left: Vec<String> = sources
        .iter()
        .flat_map(|(file, source)| untold(file, source, words))
        .map(|said| format!("src/{}: {:?}", said.file, said.text))
        .collect();
    assert!(left.is_empty(), "without a Japanese word, or a reason here:\n{}", left.join("\n"));
}

#[test]
fn a_text_that_somebody_adds_is_found() {
    let words = &locale("ja")["words"];
    let found = |source: &str| untold("session/new.rs", source, words).len();
    assert_eq!(found(r#"fn f(path: &str) -> String { format!("Write {path}") }"#), 1);
    assert_eq!(found(r##"#[error("it is {0}")] struct E(u8);"##), 1);
    assert_eq!(found("const A: &str = \"one \\\n   two\";"), 1);
    assert_eq!(found(r#"fn f() { warn!(x, "it is late"); panic!("it is over"); }"#), 0);
    assert_eq!(found(r#"#[cfg(test)] mod tests { fn f() { g("it is late") } } "#), 0);
    assert_eq!(found(r#"#[test] fn f() { g("it is late") } fn h() { g("it is here") }"#), 1);
    assert_eq!(found(r#"/// It is a comment. fn f() {}"#), 0);
    assert_eq!(found(r#"const A: &str = "the session has ended; there is no such session";"#), 1);
    assert_eq!(found(r#"const A: &str = "there is no such session";"#), 0);
}

/// English words in a row within a text that has to be Japanese. What stands in quotes is a value, and so is what has
/// other signs in it, such as `input_text`.
pub(crate) fn english_in(text: &str) -> Option<&str> {
    let bare = |word: &&str| word.len() > 1 && word.chars().all(|one| one.is_ascii_alphabetic());
    let outside = text.split(['`', '"', '\u{300c}', '\u{300d}']).step_by(2);
    let runs = outside.flat_map(|part| part.split(|one: char| !one.is_ascii()));
    let mut said = runs.filter(|run| {
        let words: Vec<_> = run.split(' ').collect();
        words.windows(2).any(|pair| pair.iter().all(&bare))
    });
    said.next()
}

#[test]
fn english_is_known_by_two_words_in_a_row() {
    for text in ["JSON \u{3092}: EOF while parsing a value", "expected value"] {
        assert!(english_in(text).is_some(), "{text}");
    }
    let fine =
        "audio, input, file, 0 `not here` \u{300c}nor here\u{300d} JSON \u{3092} Base64 \u{3067}";
    assert_eq!(english_in(fine), None);
}

/// How often an error is turned into a text: `err.to_string()`, or `{err}` outside of the log.
fn own_words(tokens: &[Token]) -> usize {
    let is_error = |name: &str| ["err", "error", "cause", "rejection"].contains(&name);
    let told = |window: &[Token]| {
        matches!(window, [Token::Word(name), Token::Mark('.'), Token::Word(call), Token::Group('(', _)]
            if is_error(name) && call == "to_string")
    };
    let inner = tokens.iter().map(|token| match token {
        Token::Group(_, inside) => own_words(inside),
        Token::Word(_) | Token::Mark(_) | Token::Text(_) => 0,
    });
    tokens.windows(4).filter(|window| told(window)).count() + inner.sum::<usize>()
}

#[test]
fn no_error_of_a_library_is_told_to_clients_in_its_own_words() {
    for (file, source) in sources() {
        if !file.starts_with("dialect/") && !file.starts_with("server/") {
            continue;
        }
        let inserted = texts(&file, &source);
        let inserted = inserted.iter().filter(|said| said.text.contains("{err"));
        let found = own_words(&tokens(&mut source.as_str())) + inserted.count();
        let listed = OWN_WORDS.iter().find(|(name, ..)| *name == file);
        let expected = listed.map_or(0, |(_, count, _)| *count);
        assert_eq!(found, expected, "src/{file} tells errors in their own words");
    }
}

/// Whatever is listed is there, so that no reason outlives its text.
#[test]
fn every_exception_is_needed() {
    let sources = sources();
    for file in NOT_FOR_PEOPLE.iter().map(|(file, _)| file).chain(&SAID_BY_CODE) {
        let source = sources.get(*file).unwrap_or_else(|| panic!("there is no {file}"));
        let spoken = texts(file, source).iter().any(|said| is_spoken(&said.text));
        assert!(spoken, "{file} says nothing");
    }
    for (file, start, why) in AS_IT_IS {
        let said = texts(file, &sources[*file]);
        assert!(said.iter().any(|said| said.text.starts_with(start)), "{file}: {start} ({why})");
    }
}

/// How the agents of our own file are installed.
fn install_hints() -> Vec<&'static str> {
    let lines = include_str!("../../config/kakehashi.toml").lines();
    let hint = |line: &'static str| line.strip_prefix("#install = \"")?.strip_suffix('"');
    lines.filter_map(hint).collect()
}

#[test]
fn every_hint_of_the_shipped_agents_has_both_languages() {
    let words = &locale("ja")["words"];
    assert!(install_hints().len() > 3);
    for hint in install_hints() {
        assert!(words.contains_key(hint), "no Japanese for: {hint}");
    }
}

/// A text that nobody says any more goes from both files.
#[test]
fn every_text_in_the_files_is_used() {
    let sources = sources();
    let all = sources.iter().flat_map(|(file, source)| texts(file, source));
    let said: BTreeSet<String> = all.map(|said| said.text).collect();
    let policy = include_str!("../../config/policy.toml");
    // What is no table is told by the reader of tables.
    let reader = include_str!("../../config/python/kakehashi_reader.py");
    let bare_said: BTreeSet<&str> = said.iter().map(|text| bare(text)).collect();
    let mut unused = Vec::new();
    for phrase in locale("ja")["words"].keys() {
        // Reasons of rules, and the names of risks, are in a file of their own.
        let in_policy = policy.contains(phrase.strip_prefix("risk: ").unwrap_or(phrase));
        let in_hints = install_hints().contains(&phrase.as_str());
        let in_reader = reader.contains(&format!("\"{}\"", phrase.replace("{0}", "{found}")));
        let in_texts = said.contains(phrase) || bare_said.contains(phrase.as_str());
        if !in_policy && !in_hints && !in_reader && !in_texts {
            unused.push(phrase.clone());
        }
    }
    let lower: BTreeSet<String> = said.iter().map(|text| text.to_ascii_lowercase()).collect();
    for (section, names) in locale("en") {
        for name in names.keys() {
            if !lower.contains(name) {
                unused.push(format!("{section}.{name}"));
            }
        }
    }
    assert!(unused.is_empty(), "nobody says:\n{}", unused.join("\n"));
}
