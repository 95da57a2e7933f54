//! Assistants: they answer on a lane from inside the gateway. An assistant is data (prompt and tools) and works in one
//! loop with a chat model. This module knows nothing of sessions, token budgets and approvals.

pub mod analyst;
mod coder;
mod conversation;
mod work;

pub use coder::{Asking, Coder, Said, Texts};
pub use conversation::Conversation;
pub use work::{Brief, End, Halt, Host, shortened, work};

use crate::locale::Locale;
use crate::message::AssistantName;
use crate::provider::chat::ToolSpec;
use crate::tool;

/// The data of an assistant.
#[derive(Debug)]
pub struct Assistant {
    /// Its name in the settings.
    pub name: &'static str,
    prompt: fn(Locale) -> &'static str,
    /// Names of the tools that its model may call.
    tools: &'static [&'static str],
    /// Whether it works on the project, so that it needs a workplace and backups.
    pub works_on_project: bool,
    pub way: Way,
    /// What the scripted model begins an echo with.
    pub echo: &'static str,
}

/// How an assistant comes to its answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// In a loop of answers and tool calls: [`work`].
    Conversation,
    /// In the same loop; its code runs in the interpreter of the session, and what comes of it is told step by step.
    Computing,
    /// By the graph of the data analyst: [`analyst::analyse`].
    Analysis,
}

/// With this the scripted model begins an echo.
const ECHO: &str = "echo: ";

/// Answers in the chat.
pub static GENERAL: Assistant = Assistant {
    name: AssistantName::GENERAL,
    prompt: general_prompt,
    tools: &[],
    works_on_project: false,
    way: Way::Conversation,
    echo: ECHO,
};

/// Answers questions about tables.
pub static ANALYST: Assistant = Assistant {
    name: AssistantName::ANALYST,
    prompt: general_prompt,
    tools: &["python:interpreter"],
    works_on_project: false,
    way: Way::Analysis,
    echo: ECHO,
};

/// Computes, draws figures and shows places on the floor plan.
pub static MAPPER: Assistant = Assistant {
    name: AssistantName::MAPPER,
    prompt: |_| include_str!("../../config/prompts/mapper.txt"),
    tools: &[
        "python:interpreter",
        "draw_arrow",
        "clear_arrows",
        "show_map",
        "clear_map",
        "get_titanic_data",
        "save_data",
        "query",
    ],
    works_on_project: false,
    way: Way::Computing,
    // As the agent UI's document has it.
    echo: "Echo (mock mode): ",
};

/// The built-in code agent.
pub static CODER: Assistant = Assistant {
    name: "coder",
    prompt: |_| include_str!("../../config/prompts/agent.txt"),
    tools: &[
        "file:read",
        "file:list",
        "file:search",
        "file:write",
        "file:replace",
        "shell:execute",
    ],
    works_on_project: true,
    way: Way::Conversation,
    echo: ECHO,
};

/// The assistant that is chosen for the chat; the general one if no assistant has this name.
pub fn for_chat(name: &AssistantName) -> &'static Assistant {
    CHAT_ASSISTANTS
        .into_iter()
        .find(|assistant| assistant.name == name.as_str())
        .unwrap_or(&GENERAL)
}

/// Assistants that can be chosen for the chat.
const CHAT_ASSISTANTS: [&Assistant; 3] = [&GENERAL, &ANALYST, &MAPPER];

/// Names of the assistants that can be chosen for the chat.
pub fn chat_assistants() -> impl Iterator<Item = &'static str> {
    CHAT_ASSISTANTS.into_iter().map(|assistant| assistant.name)
}

/// Assistants that can work in the slot of an agent, with their names for people.
const SLOT_ASSISTANTS: [(&Assistant, &str); 1] = [(&ANALYST, "Data analyst")];

/// The assistant that is chosen for the slot of an agent; `None`: the name is that of an agent.
pub fn for_slot(name: &str) -> Option<&'static Assistant> {
    let mut all = SLOT_ASSISTANTS.into_iter().map(|(assistant, _)| assistant);
    all.find(|assistant| assistant.name == name)
}

/// Names of the assistants that can be chosen for the slot of an agent, also as people know them.
pub fn for_slots() -> impl Iterator<Item = (&'static str, &'static str)> {
    SLOT_ASSISTANTS.into_iter().map(|(assistant, label)| (assistant.name, label))
}

impl Assistant {
    /// The system prompt.
    pub fn prompt(&self, locale: Locale) -> &'static str {
        (self.prompt)(locale)
    }

    /// Names of its own tools.
    pub fn tool_names(&self) -> &'static [&'static str] {
        self.tools
    }

    /// The descriptions of its tools for the model.
    pub fn tools(&self) -> Vec<ToolSpec> {
        tools(self.tools)
    }
}

/// The tools of these names, as models are told about them.
pub fn tools(names: &[&str]) -> Vec<ToolSpec> {
    let spec = |described: tool::Description| ToolSpec {
        name: tool::find(described.tool).map_or_else(String::new, tool::Tool::model_name),
        description: described.text,
        schema: described.schema,
    };
    tool::descriptions(names).into_iter().map(spec).collect()
}

fn general_prompt(locale: Locale) -> &'static str {
    match locale {
        Locale::Ja => include_str!("../../config/prompts/chat.ja.txt"),
        Locale::En => include_str!("../../config/prompts/chat.en.txt"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_tool_of_an_assistant_exists() {
        for assistant in [&GENERAL, &ANALYST, &MAPPER, &CODER] {
            assert_eq!(assistant.tools().len(), assistant.tools.len(), "{}", assistant.name);
            assert!(!assistant.prompt(Locale::En).is_empty(), "{}", assistant.name);
        }
    }
}
