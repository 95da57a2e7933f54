//! Shell commands that only look: one `ls`, `cat` or `echo` without anything that a shell would do besides.

/// Whether the command is one of these programs with plain arguments, and every path in it is below the current
/// directory. The chat and the live model run such a command unasked.
pub fn is_plain_look(command: &str) -> bool {
    let Some(words) = plain_words(command) else { return false };
    let mut words = words.iter().map(String::as_str);
    match words.next() {
        Some("echo") => true,
        Some("ls" | "cat") => words.all(is_below),
        Some(_) | None => false,
    }
}

fn is_below(argument: &str) -> bool {
    let leads_away =
        argument.starts_with(['/', '~']) || argument.split('/').any(|part| part == "..");
    // The value of an option can be a path, too.
    let has_value = argument.starts_with('-') && argument.contains('=');
    !leads_away && !has_value
}

/// The words of a command. `None` if it has operators, expansions, patterns, escapes, several lines or open quotes.
fn plain_words(command: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut characters = command.trim().chars();
    while let Some(c) = characters.next() {
        match c {
            ' ' | '\t' => words.extend(word.take()),
            '\'' | '"' => {
                let text = quoted(&mut characters, c)?;
                word.get_or_insert_default().push_str(&text);
            }
            c if is_plain(c) => word.get_or_insert_default().push(c),
            _ => return None,
        }
    }
    words.extend(word);
    Some(words)
}

fn quoted(characters: &mut std::str::Chars<'_>, quote: char) -> Option<String> {
    let mut text = String::new();
    loop {
        match characters.next()? {
            c if c == quote => return Some(text),
            '$' | '`' | '\\' | '!' if quote == '"' => return None,
            c if c.is_control() => return None,
            c => text.push(c),
        }
    }
}

/// Characters that mean only themselves in every shell.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '.' | '_' | '-' | '/' | ',' | ':' | '+' | '@' | '%' | '=')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_single_look_is_plain() {
        for command in [
            "ls",
            "ls -l",
            " ls -la src ",
            "cat report.txt",
            "cat 'my file.txt' \"b.txt\"",
            "echo hello, world",
            "echo 'a; b && c | d > e $(f)'",
            "ls \u{8cc7}\u{6599}",
        ] {
            assert!(is_plain_look(command), "{command}");
        }
    }

    #[test]
    fn operators_expansions_and_other_programs_are_not() {
        for command in [
            "",
            "ls; rm x",
            "ls && rm x",
            "ls & rm x",
            "ls | sh",
            "ls > x",
            "cat < x",
            "echo $(rm x)",
            "echo `rm x`",
            "echo \"$(rm x)\"",
            "echo \"`rm x`\"",
            "echo $HOME",
            "echo a\nrm x",
            "echo 'a\nrm x'",
            "cat *",
            "ls {a,b}",
            "ls \\\nrm",
            "echo 'open",
            "rm x",
            "lsof",
            "/bin/ls",
            "env ls",
            "A=1 ls",
            "'ls' ; x",
            "ls #x",
            "ls (x)",
        ] {
            assert!(!is_plain_look(command), "{command}");
        }
    }

    #[test]
    fn paths_that_lead_away_are_not() {
        for command in [
            "cat /etc/passwd",
            "cat ../x",
            "ls a/../../b",
            "cat ~/.ssh/id",
            "ls --hide=/etc",
            "cat '/etc/passwd'",
        ] {
            assert!(!is_plain_look(command), "{command}");
        }
    }
}
