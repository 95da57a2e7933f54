//! Arguments of a tool call as an object, as far as its input is one.

use serde_json::{Value, json};

/// An input that is no JSON object, or was cut because it is too long, is given as it is.
pub(super) fn arguments(input: &str) -> Value {
    match serde_json::from_str(input) {
        Ok(Value::Object(arguments)) => Value::Object(arguments),
        _ => json!({ "input": input }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_always_an_object() {
        assert_eq!(arguments(r#"{"path":"a"}"#), json!({"path": "a"}));
        for input in ["", "ls", "[1]", r#"{"path":"a"#] {
            assert_eq!(arguments(input), json!({"input": input}));
        }
    }
}
