//! Reads a script into its tree. What it does not understand is an error, never a guess. Nesting is limited, so that
//! no script can use up the stack of this process.

use super::syntax::{
    Assignment, Command, Link, Part, Pipeline, Redirect, RedirectKind, Script, Sequence, Stage,
    Word, plain,
};
use std::rc::Rc;

/// Deeper nesting is refused.
pub(super) const DEEPEST: usize = 32;
/// Characters that this module and its users give a meaning of their own.
pub(super) fn is_reserved(one: char) -> bool {
    matches!(one, '\0'..='\u{8}' | '\u{e}'..='\u{12}')
}

/// Why a text cannot be read as a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Unreadable;

pub(super) type Read<T> = Result<T, Unreadable>;

/// Words that end a list of commands where a command could begin.
const ENDS: [&str; 8] = ["then", "do", "done", "fi", "else", "elif", "esac", "}"];

pub(super) fn parse(text: &str, depth: usize) -> Read<Script> {
    let mut parser = Parser::new(text, depth);
    let script = parser.list()?;
    if parser.at < parser.text.len() || !parser.pending.is_empty() {
        return Err(Unreadable);
    }
    Ok(script)
}

pub(super) struct Parser {
    pub(super) text: Vec<char>,
    pub(super) at: usize,
    pub(super) depth: usize,
    /// Here-documents that begin after the next line break.
    pending: Vec<Heredoc>,
}

struct Heredoc {
    end: String,
    strips_tabs: bool,
    is_literal: bool,
    /// Which of the bodies it is.
    index: usize,
}

impl Parser {
    pub(super) fn new(text: &str, depth: usize) -> Self {
        Self { text: text.chars().collect(), at: 0, depth, pending: Vec::new() }
    }

    /// The next character after line continuations.
    pub(super) fn peek(&mut self) -> Option<char> {
        while self.text[self.at.min(self.text.len())..].starts_with(&['\\', '\n']) {
            self.at += 2;
        }
        self.text.get(self.at).copied()
    }

    pub(super) fn peek_second(&self) -> Option<char> {
        self.text.get(self.at + 1).copied()
    }

    pub(super) fn take(&mut self, wanted: &str) -> bool {
        self.peek();
        let wanted: Vec<char> = wanted.chars().collect();
        let fits = self.text[self.at..].starts_with(&wanted);
        if fits {
            self.at += wanted.len();
        }
        fits
    }

    fn expect(&mut self, wanted: &str) -> Read<()> {
        if self.take(wanted) { Ok(()) } else { Err(Unreadable) }
    }

    pub(super) fn nested<T>(&mut self, read: impl FnOnce(&mut Self) -> Read<T>) -> Read<T> {
        if self.depth >= DEEPEST {
            return Err(Unreadable);
        }
        self.depth += 1;
        let found = read(self);
        self.depth -= 1;
        found
    }

    fn skip_blanks(&mut self) {
        while self.peek().is_some_and(|one| one == ' ' || one == '\t') {
            self.at += 1;
        }
        if self.peek() == Some('#') {
            while self.text.get(self.at).is_some_and(|one| *one != '\n') {
                self.at += 1;
            }
        }
    }

    fn skip_lines(&mut self) -> Read<()> {
        loop {
            self.skip_blanks();
            if self.peek() != Some('\n') {
                return Ok(());
            }
            // A here-document is read right after the command that it belongs to.
            if !self.pending.is_empty() {
                return Err(Unreadable);
            }
            self.at += 1;
        }
    }

    /// A word of the grammar at this place, which is not taken.
    fn keyword(&mut self) -> String {
        self.peek();
        let ends = |one: &char| is_blank(*one) || is_operator(*one);
        let rest = &self.text[self.at..];
        let length = rest.iter().position(ends).unwrap_or(rest.len());
        rest[..length.min(9)].iter().collect()
    }

    fn take_keyword(&mut self, wanted: &str) -> Read<()> {
        self.skip_lines()?;
        if self.keyword() != wanted {
            return Err(Unreadable);
        }
        self.expect(wanted)
    }

    pub(super) fn list(&mut self) -> Read<Script> {
        self.nested(|parser| {
            let mut script = Vec::new();
            loop {
                parser.skip_lines()?;
                match parser.peek() {
                    None | Some(')') => return Ok(script),
                    Some(';') if parser.peek_second() == Some(';') => return Ok(script),
                    Some(';') if parser.peek_second() == Some('&') => return Ok(script),
                    Some(_) if ENDS.contains(&parser.keyword().as_str()) => return Ok(script),
                    Some(_) => {}
                }
                let (sequence, goes_on) = parser.sequence()?;
                script.push(sequence);
                if !goes_on {
                    return Ok(script);
                }
            }
        })
    }

    /// The second value tells whether another one may follow.
    fn sequence(&mut self) -> Read<(Sequence, bool)> {
        let mut documents = Vec::new();
        let first = self.pipeline(&mut documents)?;
        let mut rest = Vec::new();
        loop {
            self.skip_blanks();
            let link = if self.take("&&") {
                Link::And
            } else if self.take("||") {
                Link::Or
            } else {
                break;
            };
            self.documents(&mut documents)?;
            self.skip_lines()?;
            rest.push((link, self.pipeline(&mut documents)?));
        }
        let mut sequence = Sequence { first, rest, in_background: false };
        let goes_on = match self.peek() {
            Some(';') if !matches!(self.peek_second(), Some(';' | '&')) => {
                self.at += 1;
                true
            }
            Some('&') => {
                self.at += 1;
                sequence.in_background = true;
                true
            }
            Some('\n') => true,
            Some(_) | None => false,
        };
        self.skip_blanks();
        self.documents(&mut documents)?;
        // The body of one begins behind other commands, or behind what these are nested in.
        if !self.pending.is_empty() {
            return Err(Unreadable);
        }
        place(&mut sequence, documents)?;
        Ok((sequence, goes_on))
    }

    fn pipeline(&mut self, documents: &mut Vec<Word>) -> Read<Pipeline> {
        self.skip_blanks();
        while self.keyword() == "!" || (self.keyword() == "coproc" && self.is_before_a_group()) {
            self.at += self.keyword().len();
            self.skip_blanks();
        }
        while self.keyword() == "time" && self.times_a_group() {
            self.expect("time")?;
            self.skip_blanks();
        }
        let mut stages = vec![self.stage(documents)?];
        loop {
            self.skip_blanks();
            let is_pipe = self.peek() == Some('|') && self.peek_second() != Some('|');
            if !is_pipe {
                return Ok(stages);
            }
            self.at += 1;
            self.take("&");
            self.documents(documents)?;
            self.skip_lines()?;
            stages.push(self.stage(documents)?);
        }
    }

    /// `coproc` before a simple command is like a program that runs another one.
    fn is_before_a_group(&mut self) -> bool {
        let before = self.at;
        self.at += self.keyword().len();
        self.skip_blanks();
        let is_group = matches!(self.peek(), Some('(' | '{'));
        self.at = before;
        is_group
    }

    /// With options of its own `time` is a program like any other.
    fn times_a_group(&mut self) -> bool {
        let before = self.at;
        self.at += "time".len();
        self.skip_blanks();
        let is_program = matches!(self.peek(), Some('-' | '\n') | None);
        self.at = before;
        !is_program
    }

    fn stage(&mut self, documents: &mut Vec<Word>) -> Read<Stage> {
        self.skip_blanks();
        let command = match (self.peek(), self.keyword().as_str()) {
            (Some('('), _) => self.parenthesis()?,
            (_, "{") => {
                self.expect("{")?;
                let script = self.list()?;
                self.take_keyword("}")?;
                Command::Group(script)
            }
            (_, "if") => self.branches()?,
            (_, "case") => self.cases()?,
            (_, "while" | "until") => self.repeated()?,
            (_, "for" | "select") => self.each()?,
            (_, "function") => self.function()?,
            (_, "[[") => self.test()?,
            _ => return self.simple(documents),
        };
        if matches!(command, Command::Function { .. }) {
            return Ok(Stage { command, redirects: Vec::new() });
        }
        let mut redirects = Vec::new();
        loop {
            self.skip_blanks();
            let Some(redirect) = self.redirect(documents)? else { break };
            redirects.push(redirect);
        }
        Ok(Stage { command, redirects })
    }

    fn parenthesis(&mut self) -> Read<Command> {
        let begin = self.at;
        if let Some(words) = self.arithmetic("((")? {
            let inner = self.text[begin + 1..self.at - 1].iter().collect();
            return Ok(Command::Test { words, inner: Some(inner) });
        }
        self.expect("(")?;
        let script = self.list()?;
        self.skip_lines()?;
        self.expect(")")?;
        Ok(Command::Subshell(script))
    }

    fn branches(&mut self) -> Read<Command> {
        self.expect("if")?;
        let mut parts = vec![self.list()?];
        self.take_keyword("then")?;
        parts.push(self.list()?);
        loop {
            match self.keyword().as_str() {
                "elif" => {
                    self.expect("elif")?;
                    parts.push(self.list()?);
                    self.take_keyword("then")?;
                    parts.push(self.list()?);
                }
                "else" => {
                    self.expect("else")?;
                    parts.push(self.list()?);
                }
                _ => {
                    self.take_keyword("fi")?;
                    return Ok(Command::Branches { words: Vec::new(), parts });
                }
            }
        }
    }

    fn cases(&mut self) -> Read<Command> {
        self.expect("case")?;
        self.skip_blanks();
        let (mut words, mut parts) = (vec![self.needed_word()?], Vec::new());
        self.take_keyword("in")?;
        loop {
            self.skip_lines()?;
            if self.keyword() == "esac" {
                self.expect("esac")?;
                return Ok(Command::Branches { words, parts });
            }
            self.take("(");
            loop {
                self.skip_blanks();
                words.push(self.needed_word()?);
                self.skip_blanks();
                if self.take(")") {
                    break;
                }
                self.expect("|")?;
            }
            parts.push(self.list()?);
            self.skip_lines()?;
            let ended = self.take(";;&") || self.take(";;") || self.take(";&");
            if !ended && self.keyword() != "esac" {
                return Err(Unreadable);
            }
        }
    }

    fn repeated(&mut self) -> Read<Command> {
        let word = self.keyword();
        self.expect(&word)?;
        let condition = self.list()?;
        let body = self.loop_body()?;
        Ok(Command::Loop { variable: None, parts: vec![condition, body] })
    }

    fn loop_body(&mut self) -> Read<Script> {
        self.skip_lines()?;
        let (begin, end) = if self.keyword() == "{" { ("{", "}") } else { ("do", "done") };
        self.take_keyword(begin)?;
        let body = self.list()?;
        self.take_keyword(end)?;
        Ok(body)
    }

    fn each(&mut self) -> Read<Command> {
        let word = self.keyword();
        self.expect(&word)?;
        self.skip_blanks();
        if let Some(words) = self.arithmetic("((")? {
            self.skip_blanks();
            self.take(";");
            let parts = vec![self.loop_body()?];
            let variable = Some((String::new(), words));
            return Ok(Command::Loop { variable, parts });
        }
        let name = self.needed_word()?;
        let name = plain(&name).ok_or(Unreadable)?.to_owned();
        let mut words = Vec::new();
        self.skip_lines()?;
        if self.keyword() == "in" {
            self.expect("in")?;
            self.skip_blanks();
            while let Some(word) = self.word()? {
                words.push(word);
                self.skip_blanks();
            }
        } else {
            words.push(vec![Part::Variable {
                name: "@".to_owned(),
                other: None,
                assigns: false,
                quoted: true,
            }]);
        }
        self.take(";");
        let parts = vec![self.loop_body()?];
        Ok(Command::Loop { variable: Some((name, words)), parts })
    }

    fn function(&mut self) -> Read<Command> {
        self.expect("function")?;
        self.skip_blanks();
        let name = self.needed_word()?;
        let name = plain(&name).ok_or(Unreadable)?.to_owned();
        self.skip_blanks();
        if self.take("(") {
            self.skip_blanks();
            self.expect(")")?;
        }
        self.defined(name)
    }

    fn defined(&mut self, name: String) -> Read<Command> {
        self.skip_lines()?;
        let mut documents = Vec::new();
        let body = self.nested(|parser| parser.stage(&mut documents))?;
        // No function has here-documents of its own.
        if !documents.is_empty() || !self.pending.is_empty() {
            return Err(Unreadable);
        }
        Ok(Command::Function { name, body: Rc::new(body) })
    }

    fn test(&mut self) -> Read<Command> {
        self.expect("[[")?;
        let mut words = Vec::new();
        loop {
            self.skip_blanks();
            if self.keyword() == "]]" {
                self.expect("]]")?;
                return Ok(Command::Test { words, inner: None });
            }
            let starts_process =
                matches!(self.peek(), Some('<' | '>')) && self.peek_second() == Some('(');
            match self.peek() {
                Some('(' | ')' | '&' | '|' | '\n') => self.at += 1,
                Some('<' | '>') if !starts_process => self.at += 1,
                Some(_) => words.push(self.needed_word()?),
                None => return Err(Unreadable),
            }
        }
    }

    fn simple(&mut self, documents: &mut Vec<Word>) -> Read<Stage> {
        let (mut assignments, mut words, mut redirects) =
            (Vec::new(), Vec::<Word>::new(), Vec::new());
        loop {
            self.skip_blanks();
            if let Some(redirect) = self.redirect(documents)? {
                redirects.push(redirect);
                continue;
            }
            if words.is_empty()
                && let Some(assignment) = self.assignment()?
            {
                assignments.push(assignment);
                continue;
            }
            if let [name] = words.as_slice()
                && self.peek() == Some('(')
            {
                let name = plain(name).ok_or(Unreadable)?.to_owned();
                self.expect("(")?;
                self.skip_blanks();
                self.expect(")")?;
                let command = self.defined(name)?;
                return Ok(Stage { command, redirects });
            }
            let Some(mut word) = self.word()? else { break };
            // `declare name=(...)`
            let is_array = matches!(word.last(), Some(Part::Text { text, quoted: false }) if text.ends_with('='));
            if is_array && self.peek() == Some('(') {
                word.push(Part::Unknown(self.array()?));
            }
            words.push(word);
        }
        if words.is_empty() && assignments.is_empty() && redirects.is_empty() {
            return Err(Unreadable);
        }
        Ok(Stage { command: Command::Simple { assignments, words }, redirects })
    }

    /// `name=value`, `name+=value`, `name[...]=value` and `name=(...)`.
    fn assignment(&mut self) -> Read<Option<Assignment>> {
        let before = self.at;
        let mut name = String::new();
        while let Some(one) = self.peek().filter(|one| is_of_name(*one)) {
            name.push(one);
            self.at += 1;
        }
        let is_name = name.chars().next().is_some_and(|one| !one.is_ascii_digit());
        let mut others = Vec::new();
        let is_element = is_name && self.peek() == Some('[');
        if is_element {
            let Some(index) = self.subscript()? else {
                self.at = before;
                return Ok(None);
            };
            others.push(index);
        }
        let adds = self.take("+=");
        if !is_name || !(adds || self.take("=")) {
            self.at = before;
            return Ok(None);
        }
        if self.peek() == Some('(') {
            others.extend(self.array()?);
            return Ok(Some(Assignment { name, value: None, others }));
        }
        let value = self.word()?.unwrap_or_default();
        if adds || is_element {
            others.push(value);
            return Ok(Some(Assignment { name, value: None, others }));
        }
        Ok(Some(Assignment { name, value: Some(value), others }))
    }

    fn array(&mut self) -> Read<Vec<Word>> {
        self.expect("(")?;
        let mut words = Vec::new();
        loop {
            self.skip_lines()?;
            if self.take(")") {
                return Ok(words);
            }
            words.push(self.needed_word()?);
        }
    }

    fn redirect(&mut self, documents: &mut Vec<Word>) -> Read<Option<Redirect>> {
        let before = self.at;
        while self.peek().is_some_and(|one| one.is_ascii_digit()) {
            self.at += 1;
        }
        let both = self.at == before && self.text[self.at..].starts_with(&['&', '>']);
        if both {
            self.at += 1;
        }
        let is_process = self.peek_second() == Some('(');
        if !matches!(self.peek(), Some('<' | '>')) || (is_process && !both) {
            self.at = before;
            return Ok(None);
        }
        if self.take("<<<") {
            return self.target(RedirectKind::Here);
        }
        if self.take("<<") {
            return self.heredoc(documents).map(Some);
        }
        let kind = if self.take(">>") || self.take(">|") || self.take("<>") {
            RedirectKind::Write
        } else if self.take(">&") || self.take("<&") {
            RedirectKind::Duplicate
        } else if self.take(">") {
            RedirectKind::Write
        } else {
            self.expect("<")?;
            RedirectKind::Read
        };
        self.target(kind)
    }

    fn target(&mut self, kind: RedirectKind) -> Read<Option<Redirect>> {
        self.skip_blanks();
        Ok(Some(Redirect { kind, word: self.needed_word()? }))
    }

    fn heredoc(&mut self, documents: &mut Vec<Word>) -> Read<Redirect> {
        let strips_tabs = self.take("-");
        self.skip_blanks();
        let word = self.needed_word()?;
        let mut end = String::new();
        for part in &word {
            let Part::Text { text, .. } = part else { return Err(Unreadable) };
            end.push_str(text);
        }
        let is_literal = word.iter().any(|part| matches!(part, Part::Text { quoted: true, .. }));
        let index = documents.len();
        documents.push(Word::new());
        self.pending.push(Heredoc { end, strips_tabs, is_literal, index });
        // Where its body goes once that is read.
        let word = vec![Part::Unknown(Vec::new())];
        Ok(Redirect { kind: RedirectKind::Here, word })
    }

    /// Bodies of here-documents begin in the next line.
    fn documents(&mut self, documents: &mut [Word]) -> Read<()> {
        self.skip_blanks();
        if self.pending.is_empty() || self.peek() != Some('\n') {
            return Ok(());
        }
        self.at += 1;
        for Heredoc { end, strips_tabs, is_literal, index } in std::mem::take(&mut self.pending) {
            let mut body = String::new();
            loop {
                let rest = self.text.get(self.at..).unwrap_or_default();
                if rest.is_empty() {
                    return Err(Unreadable);
                }
                let length = rest.iter().position(|one| *one == '\n').unwrap_or(rest.len());
                let line: String = rest[..length].iter().collect();
                self.at = (self.at + length + 1).min(self.text.len());
                let line = if strips_tabs { line.trim_start_matches('\t') } else { &line };
                if line == end {
                    break;
                }
                body.push_str(line);
                body.push('\n');
            }
            let word = if is_literal {
                vec![Part::Text { text: body, quoted: true }]
            } else {
                Parser::new(&body, self.depth).document()?
            };
            *documents.get_mut(index).ok_or(Unreadable)? = word;
        }
        // The line break has been taken together with them.
        self.at -= 1;
        if self.text.get(self.at) != Some(&'\n') {
            self.at += 1;
        }
        Ok(())
    }
}

/// Puts bodies of here-documents where they belong, in the order of their redirections.
fn place(sequence: &mut Sequence, documents: Vec<Word>) -> Read<()> {
    let mut documents = documents.into_iter();
    let pipelines =
        std::iter::once(&mut sequence.first).chain(sequence.rest.iter_mut().map(|(_, one)| one));
    for redirect in pipelines.flatten().flat_map(|stage| &mut stage.redirects) {
        let waits = matches!(redirect.word.as_slice(), [Part::Unknown(words)] if words.is_empty());
        if redirect.kind == RedirectKind::Here && waits {
            redirect.word = documents.next().ok_or(Unreadable)?;
        }
    }
    if documents.next().is_some() { Err(Unreadable) } else { Ok(()) }
}

pub(super) fn is_blank(one: char) -> bool {
    matches!(one, ' ' | '\t' | '\n')
}

pub(super) fn is_operator(one: char) -> bool {
    matches!(one, ';' | '&' | '|' | '<' | '>' | '(' | ')')
}

pub(super) fn is_of_name(one: char) -> bool {
    one.is_ascii_alphanumeric() || one == '_'
}
