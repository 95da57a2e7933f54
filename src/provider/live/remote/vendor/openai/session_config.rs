//! How a Realtime session is configured.

use super::{OpenAi, RATE};
use crate::provider::live::remote::protocol::Setup;
use crate::provider::row::Turns;
use serde_json::{Value, json};

/// Default transcription model.
const TRANSCRIPTION: &str = "gpt-4o-transcribe";

impl OpenAi {
    pub(super) fn session(&self) -> Value {
        let Setup { model, instructions, tools, .. } = &self.setup;
        let format = json!({"type": "audio/pcm", "rate": RATE});
        let mut input = json!({"format": format, "turn_detection": self.detection()});
        if !self.untranscribed {
            input["transcription"] = self.transcription();
        }
        let instructions = [Some(instructions.clone()), self.setup.language()];
        let instructions: Vec<_> = instructions.into_iter().flatten().collect();
        let mut output = json!({"format": format});
        if let Some(voice) = &model.voice {
            output["voice"] = voice.as_str().into();
        }
        let tools: Vec<_> = tools
            .iter()
            .map(|tool| {
                json!({"type": "function", "name": tool.name, "description": tool.description,
                    "parameters": tool.parameters})
            })
            .collect();
        json!({
            "type": "realtime",
            "model": model.model,
            "output_modalities": ["audio"],
            "instructions": instructions.join("\n\n").trim(),
            "audio": {"input": input, "output": output},
            "tools": tools,
            "tool_choice": "auto",
        })
    }

    fn transcription(&self) -> Value {
        let model = &self.setup.model;
        let mut transcription =
            json!({"model": model.transcription.as_deref().unwrap_or(TRANSCRIPTION)});
        // The language without its country.
        if let Some(code) = model.language.as_deref().and_then(|code| code.split('-').next()) {
            transcription["language"] = code.into();
        }
        transcription
    }

    /// The vendor reports speech, but neither answers nor interrupts.
    pub(super) fn detection(&self) -> Value {
        match self.setup.rules.turns {
            Turns::Gateway => Value::Null,
            Turns::Model => json!({
                "type": "server_vad",
                "threshold": 0.5,
                "prefix_padding_ms": 300,
                "silence_duration_ms": u64::try_from(self.setup.rules.silence.as_millis()).unwrap_or(500),
                "create_response": false,
                "interrupt_response": false,
            }),
        }
    }
}
