//! Values as Python writes them. This is the only way by which names and values get into the code, so that none of them
//! can end its text and go on as code.

/// A value of the code.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Literal {
    None,
    Bool(bool),
    Number(f64),
    Count(u32),
    Text(String),
    List(Vec<Literal>),
    /// Names and texts, in order.
    Dict(Vec<(String, Literal)>),
}

impl Literal {
    pub(super) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(super) fn texts<T: Into<String>>(texts: impl IntoIterator<Item = T>) -> Self {
        Self::List(texts.into_iter().map(Self::text).collect())
    }

    pub(super) fn python(&self) -> String {
        match self {
            Self::None => "None".to_owned(),
            Self::Bool(true) => "True".to_owned(),
            Self::Bool(false) => "False".to_owned(),
            Self::Number(number) => number_literal(*number),
            Self::Count(count) => count.to_string(),
            Self::Text(text) => text_literal(text),
            Self::List(values) => {
                let values: Vec<_> = values.iter().map(Self::python).collect();
                format!("[{}]", values.join(", "))
            }
            Self::Dict(values) => {
                let pair =
                    |(name, value): &(String, Self)| text_literal(name) + ": " + &value.python();
                let pairs: Vec<_> = values.iter().map(pair).collect();
                format!("{{{}}}", pairs.join(", "))
            }
        }
    }
}

fn number_literal(number: f64) -> String {
    // Infinite numbers have no literal; nobody can write one in a question.
    if number.is_finite() { format!("{number:?}") } else { "None".to_owned() }
}

/// Letters and digits of every language stay readable. All other signs that could mean something to Python, or turn the
/// direction of what is read, are escaped.
fn text_literal(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for one in text.chars() {
        match one {
            '"' | '\\' => literal.extend(['\\', one]),
            ' '..='~' => literal.push(one),
            _ if one.is_alphanumeric() => literal.push(one),
            _ => literal.push_str(&format!("\\U{:08x}", one as u32)),
        }
    }
    literal.push('"');
    literal
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Reads a text literal by the rules of Python; `None` if anything but one literal stands there.
    pub(in super::super) fn read(literal: &str) -> Option<String> {
        let inside = literal.strip_prefix('"')?.strip_suffix('"')?;
        let mut text = String::new();
        let mut letters = inside.chars();
        while let Some(one) = letters.next() {
            match one {
                '"' | '\n' | '\r' | '\0' => return None,
                '\\' => match letters.next()? {
                    escaped @ ('"' | '\\') => text.push(escaped),
                    'U' => {
                        let code: String = letters.by_ref().take(8).collect();
                        text.push(char::from_u32(u32::from_str_radix(&code, 16).ok()?)?);
                    }
                    _ => return None,
                },
                _ => text.push(one),
            }
        }
        Some(text)
    }

    proptest! {
        #[test]
        fn every_text_is_read_back(text in any::<String>()) {
            let literal = text_literal(&text);
            prop_assert_eq!(read(&literal), Some(text));
            prop_assert!(!literal.contains(|one: char| one.is_control()));
        }
    }

    #[test]
    fn hostile_texts_stay_texts() {
        for text in
            ["\"", "\\", "\\\"", "\"\n__import__('os')\n\"", "{x}", "'''", "\u{2028}", "\0", "\r"]
        {
            let literal = text_literal(text);
            assert_eq!(read(&literal).as_deref(), Some(text), "{literal}");
            assert_eq!(literal.lines().count(), 1, "{literal}");
        }
        assert_eq!(text_literal("\u{58f2}\u{4e0a}"), "\"\u{58f2}\u{4e0a}\"");
        let list = Literal::List(vec![Literal::None, Literal::Bool(true), Literal::Number(1e6)]);
        assert_eq!(list.python(), "[None, True, 1000000.0]");
    }
}
