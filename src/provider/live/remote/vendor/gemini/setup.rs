//! The first frames of a connection: configuration and history.

use super::family::Family;
use super::frame::frame;
use super::wire::{
    self, ClientContent, Compression, Content, Declaration, Detection, Empty, Generation, History,
    InputConfig, Instruction, Resumption, Role, Speech, ToVendor, Tools, Transcribed, Voice,
    VoiceName, Words,
};
use crate::provider::live::remote::protocol::{Said, Setup, Tool};
use crate::provider::row::{TurnRules, Turns};

/// How the vendor learns the history.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Past {
    /// It knows the history, or there is none.
    Known,
    /// As content after the setup.
    Content,
    /// Within the instructions.
    Instructions,
}

pub(super) fn setup(
    wanted: &Setup,
    family: Family,
    resumption: Option<Option<&str>>,
    past: Past,
    said: &[Said],
) -> String {
    let language = wanted.model.language.as_deref();
    let told = language.filter(|_| family.takes_language());
    let voice = wanted.model.voice.as_deref();
    let declared: Vec<_> = wanted.tools.iter().map(|tool| declaration(tool, family)).collect();
    let instruction = instruction(wanted, family, past, said);
    let setup = wire::Setup {
        model: model(&wanted.model.model),
        generation_config: Generation {
            response_modalities: ["AUDIO"],
            speech_config: Speech {
                voice_config: voice
                    .map(|voice_name| Voice { prebuilt_voice_config: VoiceName { voice_name } }),
                language_code: told,
            },
        },
        system_instruction: (!instruction.is_empty())
            .then_some(Instruction { parts: [Words { text: instruction }] }),
        tools: match declared.is_empty() {
            true => Vec::new(),
            false => vec![Tools { function_declarations: declared }],
        },
        realtime_input_config: InputConfig {
            automatic_activity_detection: detection(&wanted.rules),
        },
        input_audio_transcription: Transcribed { language_codes: told.into_iter().collect() },
        output_audio_transcription: Transcribed::default(),
        session_resumption: resumption.map(|handle| Resumption { handle }),
        // Without it a conversation ends after 15 minutes, and one with pictures after two.
        context_window_compression: Compression { sliding_window: Empty {} },
        history_config: (past == Past::Content)
            .then_some(History { initial_history_in_client_content: true }),
    };
    frame(&ToVendor::Setup(Box::new(setup)))
}

/// The history as content. It is marked as complete, because the model hears nothing before; it does not answer it.
pub(super) fn history(said: &[Said]) -> String {
    let mut turns: Vec<Content<'_>> = Vec::new();
    for Said { by_user, text } in spoken(said) {
        let role = if *by_user { Role::User } else { Role::Model };
        match turns.last_mut() {
            Some(last) if last.role == role => last.parts.push(Words { text }),
            Some(_) | None => turns.push(Content { role, parts: vec![Words { text }] }),
        }
    }
    frame(&ToVendor::ClientContent(ClientContent { turns, turn_complete: true }))
}

/// Without empty texts, which the vendor refuses.
pub(super) fn spoken(said: &[Said]) -> impl Iterator<Item = &Said> {
    said.iter().filter(|said| !said.text.trim().is_empty())
}

fn model(name: &str) -> String {
    if name.contains('/') { name.to_owned() } else { format!("models/{name}") }
}

fn instruction(wanted: &Setup, family: Family, past: Past, said: &[Said]) -> String {
    let mut parts = vec![wanted.instructions.trim().to_owned()];
    parts.extend(wanted.language().filter(|_| !family.takes_language()));
    if past == Past::Instructions {
        let line = |said: &Said| {
            let who = if said.by_user { "User" } else { "You" };
            format!("{who}: {}", said.text)
        };
        let lines: Vec<_> = spoken(said).map(line).collect();
        parts.push(format!("What was said so far; go on from there:\n{}", lines.join("\n")));
    }
    parts.retain(|part| !part.is_empty());
    parts.join("\n\n")
}

fn declaration(tool: &Tool, family: Family) -> Declaration<'_> {
    Declaration {
        name: &tool.name,
        description: &tool.description,
        parameters_json_schema: &tool.parameters,
        behavior: family.works_aside().then_some("NON_BLOCKING"),
    }
}

fn detection(rules: &TurnRules) -> Detection {
    let silence = u64::try_from(rules.silence.as_millis()).unwrap_or(u64::MAX);
    match rules.turns {
        Turns::Gateway => Detection { disabled: true, silence_duration_ms: None },
        Turns::Model => Detection { disabled: false, silence_duration_ms: Some(silence) },
    }
}
