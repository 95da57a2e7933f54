//! What a decision was about, small enough to be kept until the call is over. Agents tell the input of a call again,
//! with what they have found out, or a part of it only; none of this makes it another call.

use super::{Call, command, mention, read};
use serde_json::Value;
use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

/// Inputs with more keys are compared as a whole only.
const MOST_FIELDS: usize = 64;

#[derive(Debug, Clone, Default)]
pub struct Seal {
    hasher: RandomState,
    whole: u64,
    /// By their keys; `None`: it has none.
    fields: Option<HashMap<String, u64>>,
    /// Commands and paths.
    named: HashSet<u64>,
}

impl Seal {
    pub fn of(call: &Call) -> Self {
        let hasher = RandomState::new();
        let input = read(&call.input);
        let whole = hasher.hash_one((&call.input, call.unseen));
        let fields = input.as_object().filter(|fields| fields.len() <= MOST_FIELDS);
        let field = |(key, value): (&String, &Value)| (key.clone(), hasher.hash_one(value));
        let fields = match fields {
            Some(fields) => Some(fields.iter().map(field).collect()),
            None => says_nothing(call).then(HashMap::new),
        };
        let named = named(call, &input).map(|text| hasher.hash_one(text)).collect();
        Self { hasher, whole, fields, named }
    }

    /// Whether the call is still what was decided about: all that was known then is as it was, and nothing that runs
    /// and no path has come in addition.
    pub fn holds(&self, call: &Call) -> bool {
        if self.hasher.hash_one((&call.input, call.unseen)) == self.whole {
            return true;
        }
        let input = read(&call.input);
        let (Some(known), Some(fields)) = (&self.fields, input.as_object()) else {
            return says_nothing(call);
        };
        let same = |(key, value): (&String, &Value)| {
            known.get(key).map(|known| *known == self.hasher.hash_one(value))
        };
        let compared: Vec<bool> = fields.iter().filter_map(same).collect();
        let mut named = named(call, &input).map(|text| self.hasher.hash_one(text));
        compared.iter().all(|same| *same)
            && (!compared.is_empty() || known.is_empty())
            && named.all(|one| self.named.contains(&one))
    }
}

fn says_nothing(call: &Call) -> bool {
    call.input.is_empty() || call.input == "null"
}

fn named(call: &Call, input: &Value) -> impl Iterator<Item = String> {
    let paths = mention::find(call, input).paths;
    let paths = paths.into_iter().map(|path| path.to_string_lossy().into_owned());
    command::under_keys(input).into_iter().chain(paths)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(input: &str) -> Call {
        let (tool, kind) = ("Tool".to_owned(), "execute".to_owned());
        let (id, input, paths) = (String::new(), input.to_owned(), Vec::new());
        Call { id, tool, english: None, name: None, kind, input, unseen: 0, paths }
    }

    #[test]
    fn more_about_a_call_is_the_same_call_and_another_command_is_not() {
        let seal = Seal::of(&call(r#"{"command":["ls"],"cwd":"/a","reason":"why"}"#));
        for same in [
            r#"{"command":["ls"],"cwd":"/a","reason":"why"}"#,
            r#"{"reason":"why","cwd":"/a","command":["ls"]}"#,
            r#"{"command":["ls"],"cwd":"/a","process":7}"#,
            r#"{"command":["ls"]}"#,
            "",
        ] {
            assert!(seal.holds(&call(same)), "{same}");
        }
        for other in [
            r#"{"command":["rm"],"cwd":"/a","reason":"why"}"#,
            r#"{"command":["ls"],"cwd":"/b"}"#,
            r#"{"command":["ls"],"script":"rm x"}"#,
            r#"{"command":["ls"],"path":"/etc"}"#,
            r#"{"id":1}"#,
            r#""ls""#,
        ] {
            assert!(!seal.holds(&call(other)), "{other}");
        }
        let unseen = Call { unseen: 1, ..call(r#""ls""#) };
        assert!(!Seal::of(&call(r#""ls""#)).holds(&unseen));
    }

    #[test]
    fn what_was_not_known_then_may_be_told_later_unless_it_runs() {
        for nothing in ["", "{}", "null"] {
            let seal = Seal::of(&call(nothing));
            assert!(seal.holds(&call("{}")), "{nothing}");
            assert!(!seal.holds(&call(r#"{"command":"ls"}"#)), "{nothing}");
        }
        assert!(Seal::of(&call("{}")).holds(&call(r#"{"content":"x"}"#)));
    }
}
