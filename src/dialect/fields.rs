//! JSON objects in HTTP bodies and frames, read key by key. Errors name the field and what it should hold. Arrays are
//! not accepted as objects, and duplicate keys are refused at any depth.

use super::TextPosition;
use crate::locale::Locale;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use std::cell::Cell;
use std::fmt;

/// Longest key in an error message, in characters; longer ones are shortened.
const LONGEST_NAME: usize = 64;

/// Most values in one body: a value of one or two bytes takes far more memory once it is read.
const MOST_VALUES: usize = 10_000;

/// The fields of one object that were not taken yet.
#[derive(Debug, Default)]
pub struct Fields(Map<String, Value>);

/// What is wrong with a body; always the client's mistake.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BodyError {
    NotText,
    NotJson(TextPosition),
    /// More than [`MOST_VALUES`] values.
    TooMany,
    NotAnObject,
    DuplicateKey {
        field: String,
    },
    Missing {
        field: String,
        expected: Expected,
    },
    Wrong {
        field: String,
        expected: Expected,
    },
    Unknown {
        field: String,
        known: String,
    },
}

/// What a field should hold.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expected {
    Text,
    TextOrNull,
    Number,
    Object,
}

impl Expected {
    fn name(self) -> &'static str {
        match self {
            Self::Text => "text",
            Self::TextOrNull => "text_or_null",
            Self::Number => "number",
            Self::Object => "object",
        }
    }
}

impl BodyError {
    /// The field that is wrong, if the error concerns one field.
    pub fn field(&self) -> Option<&str> {
        match self {
            Self::NotText | Self::NotJson(_) | Self::TooMany | Self::NotAnObject => None,
            Self::DuplicateKey { field }
            | Self::Missing { field, .. }
            | Self::Wrong { field, .. }
            | Self::Unknown { field, .. } => Some(field),
        }
    }

    /// Whether the body was read as JSON, although it is not the expected object.
    pub fn is_json(&self) -> bool {
        !matches!(self, Self::NotText | Self::NotJson(_) | Self::TooMany)
    }

    /// For people.
    pub fn say(&self, locale: Locale) -> String {
        let expected = |expected: &Expected| locale.say("expected", expected.name(), &[]);
        match self {
            Self::NotText => locale.say("body", "not_text", &[]),
            Self::NotJson(at) => at.say(locale, "body", "not_json"),
            Self::TooMany => locale.say("body", "too_many", &[("limit", &MOST_VALUES.to_string())]),
            Self::NotAnObject => locale.say("body", "not_an_object", &[]),
            Self::DuplicateKey { field } => locale.say("body", "twice", &[("field", field)]),
            Self::Missing { field, expected: wanted } => {
                let values = [("field", field.as_str()), ("expected", &expected(wanted))];
                locale.say("body", "missing", &values)
            }
            Self::Wrong { field, expected: wanted } => {
                let values = [("field", field.as_str()), ("expected", &expected(wanted))];
                locale.say("body", "wrong", &values)
            }
            Self::Unknown { field, known } => {
                locale.say("body", "unknown", &[("field", field), ("known", known)])
            }
        }
    }
}

impl Fields {
    pub fn read(body: &[u8]) -> Result<Self, BodyError> {
        let text = std::str::from_utf8(body).map_err(|_| BodyError::NotText)?;
        let (twice, left) = (Cell::new(None), Cell::new(MOST_VALUES));
        let mut deserializer = serde_json::Deserializer::from_str(text);
        let read = Strict { twice: &twice, left: &left }
            .deserialize(&mut deserializer)
            .and_then(|value| deserializer.end().map(|()| value));
        match (read, twice.take()) {
            (Ok(Value::Object(fields)), _) => Ok(Self(fields)),
            (Ok(_), _) => Err(BodyError::NotAnObject),
            (Err(_), Some(field)) => Err(BodyError::DuplicateKey { field }),
            (Err(_), None) if left.get() == 0 => Err(BodyError::TooMany),
            (Err(err), None) => Err(BodyError::NotJson(TextPosition::of(text, &err))),
        }
    }

    /// The raw value, for callers that check it themselves.
    pub fn take(&mut self, field: &str) -> Option<Value> {
        self.0.remove(field)
    }

    /// A required text.
    pub fn text(&mut self, field: &str) -> Result<String, BodyError> {
        match self.0.remove(field) {
            Some(Value::String(text)) => Ok(text),
            Some(_) => Err(wrong(field, Expected::Text)),
            None => Err(missing(field, Expected::Text)),
        }
    }

    /// A text; `null` counts as absent.
    pub fn optional_text(&mut self, field: &str) -> Result<Option<String>, BodyError> {
        match self.0.remove(field) {
            Some(Value::String(text)) => Ok(Some(text)),
            Some(Value::Null) | None => Ok(None),
            Some(_) => Err(wrong(field, Expected::Text)),
        }
    }

    /// A text or `null`; the key is required.
    pub fn nullable_text(&mut self, field: &str) -> Result<Option<String>, BodyError> {
        match self.0.remove(field) {
            Some(Value::String(text)) => Ok(Some(text)),
            Some(Value::Null) => Ok(None),
            Some(_) => Err(wrong(field, Expected::TextOrNull)),
            None => Err(missing(field, Expected::TextOrNull)),
        }
    }

    /// A whole number; `null` counts as absent.
    pub fn optional_number(&mut self, field: &str) -> Result<Option<u64>, BodyError> {
        match self.0.remove(field) {
            Some(Value::Null) | None => Ok(None),
            Some(value) => value.as_u64().map(Some).ok_or_else(|| wrong(field, Expected::Number)),
        }
    }

    /// An absent key counts as an empty object.
    pub fn optional_object(&mut self, field: &str) -> Result<Map<String, Value>, BodyError> {
        match self.0.remove(field) {
            Some(Value::Object(values)) => Ok(values),
            None => Ok(Map::new()),
            Some(_) => Err(wrong(field, Expected::Object)),
        }
    }

    /// Refuses the object if a key is left; `known` are the keys that were read before, for the message.
    pub fn nothing_else(self, known: &[&str]) -> Result<(), BodyError> {
        match self.0.keys().next() {
            None => Ok(()),
            Some(field) => Err(BodyError::Unknown { field: short(field), known: known.join(", ") }),
        }
    }
}

impl From<Map<String, Value>> for Fields {
    fn from(values: Map<String, Value>) -> Self {
        Self(values)
    }
}

fn missing(field: &str, expected: Expected) -> BodyError {
    BodyError::Missing { field: field.to_owned(), expected }
}

fn wrong(field: &str, expected: Expected) -> BodyError {
    BodyError::Wrong { field: field.to_owned(), expected }
}

/// Shortens a key of the client, so that it cannot fill the answer.
fn short(name: &str) -> String {
    match name.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => format!("{}...", &name[..end]),
        None => name.to_owned(),
    }
}

/// Reads any value and refuses duplicate keys at any depth. The duplicate key is stored here, because a serde error can
/// carry only a text.
#[derive(Clone, Copy)]
struct Strict<'a> {
    twice: &'a Cell<Option<String>>,
    /// How many more values are accepted.
    left: &'a Cell<usize>,
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        let left = self.left.get().checked_sub(1).ok_or_else(|| D::Error::custom("many"))?;
        self.left.set(left);
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number.into()))
    }

    fn visit_f64<E>(self, number: f64) -> Result<Value, E> {
        Ok(Number::from_f64(number).map_or(Value::Null, Value::Number))
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::String(text.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut values = Vec::new();
        while let Some(value) = list.next_element_seed(self)? {
            values.push(value);
        }
        Ok(Value::Array(values))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut object: A) -> Result<Value, A::Error> {
        let mut values = Map::new();
        while let Some(name) = object.next_key::<String>()? {
            if values.contains_key(&name) {
                self.twice.set(Some(short(&name)));
                return Err(A::Error::custom("twice"));
            }
            values.insert(name, object.next_value_seed(self)?);
        }
        Ok(Value::Object(values))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(body: &[u8], expected: &BodyError) {
        let error = Fields::read(body).unwrap_err();
        assert_eq!(error, *expected, "{}", String::from_utf8_lossy(body));
    }

    #[test]
    fn only_an_object_is_read() {
        for body in ["[]", "[\"a\",\"b\"]", "null", "1", "\"a\"", " [{}] "] {
            check(body.as_bytes(), &BodyError::NotAnObject);
        }
        check(b"{\"a\":\"\xff\"}", &BodyError::NotText);
        check(b"", &BodyError::NotJson(TextPosition { line: 1, column: 0 }));
        check(b"{\"a\":1", &BodyError::NotJson(TextPosition { line: 1, column: 6 }));
        check(b"{} {}", &BodyError::NotJson(TextPosition { line: 1, column: 4 }));
        let deep = format!("{{\"a\":{}{}}}", "[".repeat(5000), "]".repeat(5000));
        assert!(!Fields::read(deep.as_bytes()).unwrap_err().is_json());
        let long = format!("{{\"a\":[{}0]}}", "0,".repeat(MOST_VALUES));
        check(long.as_bytes(), &BodyError::TooMany);
    }

    #[test]
    fn duplicate_keys_are_refused_at_any_depth() {
        let twice = BodyError::DuplicateKey { field: "a".to_owned() };
        for body in
            ["{\"a\":1,\"a\":1}", "{\"a\":1,\"\\u0061\":2}", "{\"b\":[{\"c\":{\"a\":1,\"a\":2}}]}"]
        {
            check(body.as_bytes(), &twice);
        }
        assert!(Fields::read(b"{\"a\":{\"a\":1},\"b\":{\"a\":1}}").is_ok());
    }

    #[test]
    fn a_missing_field_or_a_wrong_type_is_an_error() {
        let mut fields =
            Fields::read(b"{\"a\":1,\"b\":null,\"c\":\"x\",\"d\":[],\"e\":-1}").unwrap();
        assert_eq!(fields.text("a"), Err(wrong("a", Expected::Text)));
        assert_eq!(fields.text("z"), Err(missing("z", Expected::Text)));
        assert_eq!(fields.nullable_text("z"), Err(missing("z", Expected::TextOrNull)));
        assert_eq!(fields.nullable_text("b"), Ok(None));
        assert_eq!(fields.optional_text("c"), Ok(Some("x".to_owned())));
        assert_eq!(fields.optional_object("d"), Err(wrong("d", Expected::Object)));
        assert_eq!(fields.optional_number("e"), Err(wrong("e", Expected::Number)));
        assert!(fields.nothing_else(&["a"]).is_ok());
    }

    #[test]
    fn every_error_has_a_text_in_both_languages() {
        let (field, known) = ("a".to_owned(), "b, c".to_owned());
        let mut errors = vec![
            BodyError::NotText,
            BodyError::NotJson(TextPosition { line: 2, column: 7 }),
            BodyError::TooMany,
            BodyError::NotAnObject,
            BodyError::DuplicateKey { field: field.clone() },
            BodyError::Unknown { field: field.clone(), known },
        ];
        for expected in [Expected::Text, Expected::TextOrNull, Expected::Number, Expected::Object] {
            errors.push(BodyError::Missing { field: field.clone(), expected });
            errors.push(BodyError::Wrong { field: field.clone(), expected });
        }
        for error in errors {
            let (en, ja) = (error.say(Locale::En), error.say(Locale::Ja));
            assert!(!en.contains('{') && !en.contains("body."), "{en}");
            assert!(!ja.is_ascii() && !ja.contains('{'), "{ja}");
            assert!(error.field().is_none_or(|field| en.contains(field) && ja.contains(field)));
        }
    }
}
