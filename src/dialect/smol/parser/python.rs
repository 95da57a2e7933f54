//! The words of Python code: enough to find calls and their texts. Comments and blanks are left out, so a call in a comment
//! or within a text is none.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Token<'a> {
    Word(&'a str),
    Text(Quoted<'a>),
    /// An operator or a bracket; any other character.
    Mark(char),
}

/// A text as it is written, without its quotes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Quoted<'a> {
    prefix: &'a str,
    raw: &'a str,
}

impl Quoted<'_> {
    /// What it says; `None` if only Python knows, as with `f"{room}"`.
    pub(super) fn value(self) -> Option<String> {
        match self.prefix {
            "" | "u" | "U" => Some(unescaped(self.raw)),
            "r" | "R" => Some(self.raw.to_owned()),
            _ => None,
        }
    }
}

#[derive(Debug, Clone)]
pub(super) struct Tokens<'a> {
    rest: &'a str,
}

impl<'a> Tokens<'a> {
    pub(super) fn new(code: &'a str) -> Self {
        Self { rest: code }
    }

    /// Cuts so many bytes off the front.
    fn take(&mut self, length: usize) -> &'a str {
        let (front, rest) = self.rest.split_at_checked(length).unwrap_or((self.rest, ""));
        self.rest = rest;
        front
    }

    fn skip_blanks(&mut self) {
        loop {
            self.rest = self.rest.trim_start();
            if !self.rest.starts_with('#') {
                return;
            }
            let end = self.rest.find('\n').unwrap_or(self.rest.len());
            self.take(end);
        }
    }

    /// A text whose quotes begin the rest. One that is not closed ends with its line, or with the code.
    fn text(&mut self, prefix: &'a str) -> Token<'a> {
        let long = ["\"\"\"", "'''"].into_iter().find(|quotes| self.rest.starts_with(quotes));
        let quotes = long.unwrap_or(if self.rest.starts_with('"') { "\"" } else { "'" });
        self.take(quotes.len());
        let (length, is_closed) = length_of(self.rest, quotes);
        let raw = self.take(length);
        if is_closed {
            self.take(quotes.len());
            return Token::Text(Quoted { prefix, raw });
        }
        // Broken code has no texts that can be relied on.
        Token::Text(Quoted { prefix: "?", raw })
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Self::Item> {
        self.skip_blanks();
        let first = self.rest.chars().next()?;
        if matches!(first, '"' | '\'') {
            return Some(self.text(""));
        }
        let is_part = |one: &u8| one.is_ascii_alphanumeric() || *one == b'_' || !one.is_ascii();
        let length = self.rest.bytes().take_while(|one| is_part(one)).count();
        if length == 0 {
            self.take(first.len_utf8());
            return Some(Token::Mark(first));
        }
        let word = self.take(length);
        let is_prefix = word.len() <= 2 && word.bytes().all(|one| b"rRbBuUfFtT".contains(&one));
        let token = if is_prefix && self.rest.starts_with(['"', '\'']) {
            self.text(word)
        } else {
            Token::Word(word)
        };
        Some(token)
    }
}

/// How long a text is, and whether its quotes follow.
fn length_of(rest: &str, quotes: &str) -> (usize, bool) {
    let bytes = rest.as_bytes();
    let mut at = 0;
    while let Some(one) = bytes.get(at) {
        if *one == b'\\' {
            at += 2;
        } else if rest.as_bytes()[at..].starts_with(quotes.as_bytes()) {
            return (at, true);
        } else if *one == b'\n' && quotes.len() == 1 {
            return (at, false);
        } else {
            at += 1;
        }
    }
    (rest.len(), false)
}

/// Reads the escapes that stand in names and labels. Others stay as they are.
fn unescaped(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((before, after)) = rest.split_once('\\') {
        text.push_str(before);
        let mut letters = after.chars();
        let escape = letters.next();
        rest = letters.as_str();
        match escape {
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('\n') => {}
            Some(one @ ('\\' | '\'' | '"')) => text.push(one),
            Some('u') => rest = coded(rest, 4, &mut text),
            Some('x') => rest = coded(rest, 2, &mut text),
            Some(one) => text.extend(['\\', one]),
            None => text.push('\\'),
        }
    }
    text + rest
}

/// Adds the character that so many hexadecimal digits name, and gives what follows them.
fn coded<'a>(rest: &'a str, digits: usize, text: &mut String) -> &'a str {
    let word = rest.get(..digits).filter(|word| word.bytes().all(|one| one.is_ascii_hexdigit()));
    let letter = word.and_then(|word| char::from_u32(u32::from_str_radix(word, 16).ok()?));
    text.push(letter.unwrap_or('\u{fffd}'));
    if word.is_some() { rest.get(digits..).unwrap_or_default() } else { rest }
}
