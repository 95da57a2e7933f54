//! `find` and the like: what they do with what they find.

use super::danger::Whereabouts;
use super::field::{Feed, Field, HOME, UNKNOWN};
use super::walk::{Dirs, Outcome, Walker};
use super::{Danger, reason};

/// Options whose arguments are a command.
const RUNS: [&str; 8] =
    ["-exec", "-execdir", "-ok", "-okdir", "-x", "-X", "--exec", "--exec-batch"];

impl Walker<'_> {
    pub(super) fn found(&mut self, arguments: &[Field], dirs: &Dirs) -> Outcome {
        let begins = begins(arguments);
        for pair in arguments.windows(2).filter(|pair| pair[0].text.starts_with("-f")) {
            if matches!(pair[0].text.as_str(), "-fprint" | "-fprint0" | "-fprintf" | "-fls") {
                self.writes(&pair[1], dirs);
            }
        }
        let removal = self.removal(&begins, dirs);
        if arguments.iter().any(|field| field.text == "-delete") {
            self.note(removal.clone());
        }
        for (index, _) in
            arguments.iter().enumerate().filter(|(_, field)| RUNS.contains(&field.text.as_str()))
        {
            let rest = &arguments[index + 1..];
            let is_end = |field: &Field| matches!(field.text.as_str(), ";" | "+");
            let end = rest.iter().position(is_end).unwrap_or(rest.len());
            self.run_on_each(&rest[..end], &begins, &removal, dirs);
        }
        Outcome::new(dirs, Feed::Unknown)
    }

    /// What it would be to remove what lies there.
    fn removal(&self, begins: &[Field], dirs: &Dirs) -> Danger {
        match begins.iter().map(|begin| self.whereabouts(begin, dirs)).max() {
            Some(Whereabouts::Temporary) => Danger::None,
            Some(Whereabouts::Outside) => {
                let path = begins.iter().map(|field| field.text.replace(HOME, "~"));
                let path = path.collect::<Vec<_>>().join(" ");
                Danger::Denied(format!(
                    "it would remove {path}, which is outside the place of work"
                ))
            }
            Some(Whereabouts::Inside | Whereabouts::Unknown) | None => {
                Danger::Critical(reason::REMOVES.to_owned())
            }
        }
    }

    fn run_on_each(&mut self, command: &[Field], begins: &[Field], removal: &Danger, dirs: &Dirs) {
        for begin in begins {
            let one = format!("{}/{UNKNOWN}", begin.text);
            let filled = |field: &Field| Field::new(field.text.replace("{}", &one));
            let argv: Vec<_> = command.iter().map(filled).collect();
            let name = argv.first().and_then(Field::name).unwrap_or_default();
            if name == "rm" {
                self.note(removal.clone());
            }
            // Each file that was found becomes the same one.
            let is_last = command.len() > 2 && command.last().is_some_and(|last| last.text == "{}");
            let replaces = matches!(name.as_str(), "cp" | "mv" | "ln" | "install");
            if (replaces && is_last) || name == "tee" {
                self.critical(reason::OVERWRITES);
            }
            self.deeper(&argv, dirs, &Feed::Nothing);
        }
    }
}

/// Where it begins to look, behind options about links and debugging.
fn begins(arguments: &[Field]) -> Vec<Field> {
    let mut rest = arguments;
    while let Some((first, others)) = rest.split_first()
        && (matches!(first.text.as_str(), "-L" | "-H" | "-P" | "-D" | "--")
            || first.text.starts_with("-O"))
    {
        rest = &others[usize::from(first.text == "-D").min(others.len())..];
    }
    let is_begin = |field: &&Field| !field.text.starts_with(['-', '(', '!']);
    let begins: Vec<Field> = rest.iter().take_while(is_begin).cloned().collect();
    if begins.is_empty() { vec![Field::new(".")] } else { begins }
}
