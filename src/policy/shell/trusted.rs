//! Programs of which it is known well enough what they say, so that it may be used: a new temporary file, the name of a
//! branch, or commands that set up a shell.

use super::field::{Feed, Field, GIT_NAME, SETUP, TEMPORARY};

/// Programs that say commands for `eval`, with the words that make them do so.
const SETUPS: [(&str, &[&str]); 24] = [
    ("direnv", &["hook", "export"]),
    ("pyenv", &["init", "virtualenv-init"]),
    ("rbenv", &["init"]),
    ("nodenv", &["init"]),
    ("goenv", &["init"]),
    ("jenv", &["init"]),
    ("fnm", &["env", "completions"]),
    ("brew", &["shellenv"]),
    ("conda", &["shell.bash", "shell.zsh", "shell.posix"]),
    ("starship", &["init", "completions"]),
    ("zoxide", &["init"]),
    ("atuin", &["init"]),
    ("mise", &["activate", "env", "completion"]),
    ("opam", &["env"]),
    ("kubectl", &["completion"]),
    ("helm", &["completion"]),
    ("gh", &["completion"]),
    ("docker", &["completion"]),
    ("npm", &["completion"]),
    ("rustup", &["completions"]),
    ("poetry", &["completions"]),
    ("uv", &["generate-shell-completion"]),
    ("minikube", &["docker-env", "completion"]),
    ("docker-machine", &["env"]),
];

/// Programs that do so whatever their options are.
const ALWAYS: [&str; 2] = ["ssh-agent", "dircolors"];

/// What the program says. A path may lead to anything that has the same name.
pub(super) fn says(first: &Field, name: &str, arguments: &[Field]) -> Option<Feed> {
    if first.text.contains('/') || arguments.iter().any(Field::is_unknown) {
        return None;
    }
    let word = arguments.first().map_or("", |field| field.text.as_str());
    let is_setup = SETUPS.iter().any(|(program, words)| *program == name && words.contains(&word));
    let has_options_only = arguments.iter().all(|field| field.text.starts_with('-'));
    let mark = match name {
        "mktemp" => TEMPORARY,
        "git" if names_something(arguments) => GIT_NAME,
        _ if is_setup || (ALWAYS.contains(&name) && has_options_only) => SETUP,
        _ => return None,
    };
    Some(Feed::Known(format!("{mark}\n")))
}

/// `git rev-parse HEAD` and the like. For a name that git does not know it says that name again.
fn names_something(arguments: &[Field]) -> bool {
    let texts: Vec<_> = arguments.iter().map(|field| field.text.as_str()).collect();
    let is_head = |text: &&str| text.starts_with("HEAD") || text.starts_with('@');
    let is_plain = |text: &&str| {
        matches!(*text, "--abbrev-ref" | "--short" | "--verify" | "-q" | "--quiet") || is_head(text)
    };
    match texts.as_slice() {
        ["branch", "--show-current"] => true,
        ["rev-parse" | "symbolic-ref", rest @ ..] => {
            rest.iter().all(is_plain) && rest.iter().any(is_head)
        }
        _ => false,
    }
}
