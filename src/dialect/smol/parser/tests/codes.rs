//! Where code is found, and that it is shown once.

use super::super::limit;
use super::{frames, raw};
use serde_json::{Value, json};

#[track_caller]
fn check(text: &str, wanted: &[(&str, &str)]) {
    let frames = frames(raw(text), "code");
    let word = |frame: &Value, key: &str| frame[key].as_str().unwrap().to_owned();
    let found: Vec<_> =
        frames.iter().map(|frame| (word(frame, "language"), word(frame, "content"))).collect();
    let wanted: Vec<_> = wanted
        .iter()
        .map(|(language, code)| ((*language).to_owned(), (*code).to_owned()))
        .collect();
    assert_eq!(found, wanted, "{text}");
}

#[test]
fn a_fence_is_closed_by_one_that_is_as_long() {
    check("````py\n```\nx\n```\n````", &[("py", "```\nx\n```")]);
    check("```py\na\n````\n```js\nb\n```", &[("py", "a"), ("js", "b")]);
    check("```py\nnever closed", &[]);
    check("``\nx\n``", &[]);
}

#[test]
fn a_fence_within_a_line_is_read_as_the_origin_does() {
    check("so: ```py\nx = 1```", &[("py", "x = 1")]);
    check("so: ```py\nx = 1\n``` and on", &[("py", "x = 1")]);
    check("a ```b c``` d\n", &[]);
    check("a ```b c\nd\n```\n", &[]);
}

#[test]
fn backticks_within_a_line_of_code_do_not_close_it() {
    check("```py\ns = '```' + x\ny\n```", &[("py", "s = '```' + x\ny")]);
}

#[test]
fn a_language_can_have_more_than_letters() {
    check("```c++\nx\n```", &[("c++", "x")]);
    check("```python title=\"a\"\nx\n```", &[("python", "x")]);
    check("```py\r\nx\r\n```\r\n", &[("py", "x")]);
    check("```\n```", &[]);
}

#[test]
fn a_label_takes_the_indented_lines_below_it() {
    check("Code:\n\n  a\n\tb\nc", &[("python", "a\n\tb")]);
    check("Running code:  \r\n  a", &[("python", "a")]);
    check("Code:\n  a\nCode:\n  b", &[("python", "a"), ("python", "b")]);
    check("Code:\nnot indented\n  a", &[]);
    check("BarCode:\n  a", &[]);
    check("Code: a\n  b", &[]);
    check("Code:", &[]);
}

#[test]
fn lines_between_fences_are_not_found_again_below_a_label() {
    check("Code:\n  ```py\n  a\n  ```\n  b", &[("py", "a")]);
    check("```\nCode:\n  a\n```", &[("python", "Code:\n  a")]);
}

#[test]
fn code_that_ran_is_not_shown_again_where_it_is_printed() {
    let value = json!({
        "text": "```py\nx = 1\n```",
        "raw_output": "Executing code:\n  x = 1\n```\nx = 1\n```",
        "code_steps": [{"code": "x = 1\n", "step": "Step 7"}, {"code": "x = 1"}],
        "logs": ["x = 1"],
    });
    let steps: Vec<Value> =
        frames(value, "code").iter().map(|frame| frame["step"].clone()).collect();
    assert_eq!(steps, [json!("Step 7"), json!("Step 2")]);
}

#[test]
fn code_is_limited_in_number_and_size() {
    let many: String = (0..1000).map(|number| format!("```\nx{number}\n```\n")).collect();
    assert_eq!(frames(raw(&many), "code").len(), limit::MAX_CODES);
    let long = format!("```\n{}\n```", "x".repeat(limit::MAX_CODE * 2));
    let frames = frames(raw(&long), "code");
    let content = frames[0]["content"].as_str().unwrap();
    assert_eq!(content.len(), limit::MAX_CODE + limit::CUT.len());
    let steps = vec![json!({"code": "x"}); 1000];
    let value = json!({"text": "said", "code_steps": steps});
    assert_eq!(super::frames(value, "text").len(), 1, "code leaves room for the text");
}
