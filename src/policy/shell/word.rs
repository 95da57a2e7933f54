//! Words of a script: quotes, escapes, and what a shell puts in their place.

use super::parse::{Parser, Read, Unreadable, is_blank, is_of_name, is_operator, parse};
use super::syntax::{Part, Word};

impl Parser {
    pub(super) fn needed_word(&mut self) -> Read<Word> {
        self.word()?.ok_or(Unreadable)
    }

    /// `None`: no word begins here.
    pub(super) fn word(&mut self) -> Read<Option<Word>> {
        let mut parts = Parts::default();
        let begin = self.at;
        while let Some(one) = self.peek() {
            match one {
                '\'' => {
                    self.at += 1;
                    let text = self.until_quote()?;
                    parts.text(&text, true);
                }
                '"' => {
                    self.at += 1;
                    self.quoted(&mut parts, Some('"'))?;
                }
                '\\' => {
                    self.at += 1;
                    // At the very end it stands for itself.
                    let escaped = self.text.get(self.at).copied();
                    self.at += usize::from(escaped.is_some());
                    parts.text(&escaped.unwrap_or('\\').to_string(), true);
                }
                '$' => self.dollar(&mut parts, false)?,
                '`' => self.backquoted(&mut parts, false)?,
                '<' | '>' if self.peek_second() == Some('(') => {
                    self.at += 2;
                    parts.push(Part::Process(self.closed_list()?));
                }
                _ if is_blank(one) || is_operator(one) => break,
                _ => {
                    self.at += 1;
                    parts.text(&one.to_string(), false);
                }
            }
        }
        // `''` is a word, too.
        let is_word = !parts.0.is_empty() || self.at > begin;
        Ok(is_word.then(|| parts.finished()))
    }

    /// The body of a here-document, and anything else that is read as in double quotes.
    pub(super) fn document(mut self) -> Read<Word> {
        let mut parts = Parts::default();
        self.quoted(&mut parts, None)?;
        Ok(parts.finished())
    }

    fn until_quote(&mut self) -> Read<String> {
        let rest = self.text.get(self.at..).ok_or(Unreadable)?;
        let length = rest.iter().position(|one| *one == '\'').ok_or(Unreadable)?;
        let text = rest[..length].iter().collect();
        self.at += length + 1;
        Ok(text)
    }

    fn quoted(&mut self, parts: &mut Parts, end: Option<char>) -> Read<()> {
        parts.text("", true);
        loop {
            let Some(one) = self.peek() else {
                return if end.is_none() { Ok(()) } else { Err(Unreadable) };
            };
            if Some(one) == end {
                self.at += 1;
                return Ok(());
            }
            match one {
                '\\' => {
                    self.at += 1;
                    let next = self.text.get(self.at).copied();
                    let escapes = next.is_some_and(|next| "$`\"\\".contains(next));
                    self.at += usize::from(escapes);
                    let kept = next.filter(|_| escapes).unwrap_or('\\');
                    parts.text(&kept.to_string(), true);
                }
                '$' => self.dollar(parts, true)?,
                '`' => self.backquoted(parts, true)?,
                _ => {
                    self.at += 1;
                    parts.text(&one.to_string(), true);
                }
            }
        }
    }

    fn backquoted(&mut self, parts: &mut Parts, quoted: bool) -> Read<()> {
        self.at += 1;
        let mut inner = String::new();
        loop {
            let one = self.text.get(self.at).copied().ok_or(Unreadable)?;
            self.at += 1;
            match one {
                '`' => break,
                '\\' => {
                    let next = self.text.get(self.at).copied().ok_or(Unreadable)?;
                    self.at += 1;
                    let escapes = "$`\\".contains(next) || (quoted && next == '"');
                    inner.extend((!escapes).then_some('\\'));
                    inner.push(next);
                }
                _ => inner.push(one),
            }
        }
        let script = self.nested(|parser| parse(&inner, parser.depth))?;
        parts.push(Part::Substitution { script, quoted });
        Ok(())
    }

    fn dollar(&mut self, parts: &mut Parts, quoted: bool) -> Read<()> {
        self.at += 1;
        let name = |name: String| Part::Variable { name, other: None, assigns: false, quoted };
        match self.peek() {
            Some('(') => {
                if let Some(words) = self.arithmetic("((")? {
                    parts.push(Part::Unknown(words));
                    return Ok(());
                }
                self.at += 1;
                let script = self.closed_list()?;
                parts.push(Part::Substitution { script, quoted });
            }
            Some('{') => {
                self.at += 1;
                let part = self.braces(quoted)?;
                parts.push(part);
            }
            Some('[') => {
                let word = self.subscript()?.ok_or(Unreadable)?;
                parts.push(Part::Unknown(vec![word]));
            }
            Some('\'') if !quoted => {
                self.at += 1;
                let text = self.until_c_quote()?;
                parts.text(&text, true);
            }
            Some('"') if !quoted => {
                self.at += 1;
                self.quoted(parts, Some('"'))?;
            }
            Some(one) if "@*#?-$!".contains(one) || one.is_ascii_digit() => {
                self.at += 1;
                parts.push(name(one.to_string()));
            }
            Some(one) if is_of_name(one) => {
                let mut found = String::new();
                while let Some(one) = self.peek().filter(|one| is_of_name(*one)) {
                    found.push(one);
                    self.at += 1;
                }
                parts.push(name(found));
            }
            Some(_) | None => parts.text("$", quoted),
        }
        Ok(())
    }

    fn closed_list(&mut self) -> Read<super::syntax::Script> {
        let script = self.list()?;
        if self.take(")") { Ok(script) } else { Err(Unreadable) }
    }

    /// `${...}`, behind its first two characters.
    fn braces(&mut self, quoted: bool) -> Read<Part> {
        let mut name = String::new();
        while let Some(one) = self.peek().filter(|one| is_of_name(*one)) {
            name.push(one);
            self.at += 1;
        }
        if name.is_empty()
            && let Some(one) = self.peek().filter(|one| "@*".contains(*one))
        {
            name.push(one);
            self.at += 1;
        }
        let operator = self.at;
        let rest = self.nested(|parser| {
            let mut parts = Parts::default();
            parser.braced(&mut parts)?;
            Ok(parts.finished())
        })?;
        let is_plain = self.at == operator + 1;
        if is_plain && !name.is_empty() {
            return Ok(Part::Variable { name, other: None, assigns: false, quoted });
        }
        let mut operator = self.text[operator..].iter();
        let first = operator.next().copied().unwrap_or('}');
        let skipped = if first == ':' { 2 } else { 1 };
        let sign = if first == ':' { operator.next().copied() } else { Some(first) };
        match sign {
            Some('-' | '=' | '+' | '?') if !name.is_empty() => {
                let other = Some(without(rest, skipped));
                Ok(Part::Variable { name, other, assigns: sign == Some('='), quoted })
            }
            _ => Ok(Part::Unknown(vec![rest])),
        }
    }

    /// Up to the brace that closes, which may stand in quotes or be nested.
    fn braced(&mut self, parts: &mut Parts) -> Read<()> {
        loop {
            match self.peek().ok_or(Unreadable)? {
                '}' => {
                    self.at += 1;
                    return Ok(());
                }
                '\'' => {
                    self.at += 1;
                    let text = self.until_quote()?;
                    parts.text(&text, true);
                }
                '"' => {
                    self.at += 1;
                    self.quoted(parts, Some('"'))?;
                }
                '\\' => {
                    self.at += 1;
                    let one = self.text.get(self.at).copied().ok_or(Unreadable)?;
                    self.at += 1;
                    parts.text(&one.to_string(), true);
                }
                '$' => self.dollar(parts, false)?,
                '`' => self.backquoted(parts, false)?,
                one => {
                    self.at += 1;
                    parts.text(&one.to_string(), false);
                }
            }
        }
    }

    /// What stands within double parentheses, if these are arithmetic: both close at the same place.
    pub(super) fn arithmetic(&mut self, open: &str) -> Read<Option<Vec<Word>>> {
        let before = self.at;
        if !self.take(open) {
            return Ok(None);
        }
        let (begin, mut depth) = (self.at, 2_usize);
        loop {
            match self.text.get(self.at) {
                Some('(') => depth += 1,
                Some(')') => depth -= 1,
                Some(_) => {}
                None => break,
            }
            self.at += 1;
            if depth == 1 {
                break;
            }
        }
        if depth != 1 || self.text.get(self.at) != Some(&')') {
            self.at = before;
            return Ok(None);
        }
        let inner: String = self.text[begin..self.at - 1].iter().collect();
        self.at += 1;
        let word = self.nested(|parser| Parser::new(&inner, parser.depth).document())?;
        Ok(Some(vec![word]))
    }

    /// `[...]` as in `name[index]`; `None` if it does not end.
    pub(super) fn subscript(&mut self) -> Read<Option<Word>> {
        let (begin, mut depth) = (self.at + 1, 0_usize);
        loop {
            match self.text.get(self.at) {
                Some('[') => depth += 1,
                Some(']') => depth -= 1,
                Some('\n') | None => return Ok(None),
                Some(_) => {}
            }
            self.at += 1;
            if depth == 0 {
                break;
            }
        }
        let inner: String = self.text[begin..self.at - 1].iter().collect();
        self.nested(|parser| Parser::new(&inner, parser.depth).document()).map(Some)
    }

    /// `$'...'`, behind its first two characters.
    fn until_c_quote(&mut self) -> Read<String> {
        let begin = self.at;
        loop {
            match self.text.get(self.at).ok_or(Unreadable)? {
                '\\' => self.at += 2,
                '\'' => break,
                _ => self.at += 1,
            }
        }
        let inner: String = self.text.get(begin..self.at).ok_or(Unreadable)?.iter().collect();
        self.at += 1;
        Ok(unescaped(&inner))
    }
}

/// Escapes as in `$'...'`, `echo -e` and `printf`.
pub(super) fn unescaped(text: &str) -> String {
    let mut found = String::new();
    let mut rest = text.chars().peekable();
    while let Some(one) = rest.next() {
        if one != '\\' {
            found.push(one);
            continue;
        }
        let Some(kind) = rest.next() else {
            found.push('\\');
            break;
        };
        let mut number = |radix: u32, most: usize, first: Option<char>| {
            let mut digits: String = first.into_iter().collect();
            while digits.len() < most
                && let Some(digit) = rest.next_if(|one| one.is_digit(radix))
            {
                digits.push(digit);
            }
            u32::from_str_radix(&digits, radix).ok().and_then(char::from_u32)
        };
        let meant = match kind {
            'n' => Some('\n'),
            't' => Some('\t'),
            'r' => Some('\r'),
            'a' | 'b' | 'e' | 'E' | 'f' | 'v' => Some(' '),
            'x' => number(16, 2, None),
            'u' => number(16, 4, None),
            'U' => number(16, 8, None),
            '0'..='7' => number(8, if kind == '0' { 4 } else { 3 }, Some(kind)),
            other => Some(other),
        };
        // A text ends at its first NUL.
        match meant {
            Some(one) if !super::parse::is_reserved(one) => found.push(one),
            Some(_) | None => {}
        }
    }
    found
}

/// A word without its first characters, which are not quoted.
fn without(mut word: Word, count: usize) -> Word {
    if let Some(Part::Text { text, quoted: false }) = word.first_mut() {
        *text = text.chars().skip(count).collect();
    }
    word
}

/// Parts of a word as they are read.
#[derive(Default)]
struct Parts(Word);

impl Parts {
    fn text(&mut self, more: &str, is_quoted: bool) {
        match self.0.last_mut() {
            Some(Part::Text { text, quoted }) if *quoted == is_quoted => text.push_str(more),
            _ => self.0.push(Part::Text { text: more.to_owned(), quoted: is_quoted }),
        }
    }

    fn push(&mut self, part: Part) {
        self.0.push(part);
    }

    fn finished(self) -> Word {
        self.0
    }
}
