//! A prompt as it came: its text, the pictures with it and the files that it names.

use crate::provider::chat::{self, ChatMessage, Picture};
use agent_client_protocol_schema::v1::{ContentBlock, EmbeddedResourceResource};
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::PathBuf;

#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Prompt {
    pub(super) text: String,
    /// Encoded as they came.
    pictures: Vec<String>,
    files: Vec<PathBuf>,
}

impl Prompt {
    pub(super) fn of(blocks: Vec<ContentBlock>) -> Self {
        let mut prompt = Self::default();
        for block in blocks {
            match block {
                ContentBlock::Text(text) => prompt.add(&text.text),
                ContentBlock::Image(image) => prompt.pictures.push(image.data),
                ContentBlock::ResourceLink(link) => match path(&link.uri) {
                    Some(path) => prompt.files.push(path),
                    None => prompt.add(&link.uri),
                },
                ContentBlock::Resource(resource) => {
                    if let EmbeddedResourceResource::TextResourceContents(it) = resource.resource {
                        prompt.add(&it.text);
                    }
                }
                ContentBlock::Audio(_) | _ => prompt.add("[something that cannot be read]"),
            }
        }
        prompt
    }

    fn add(&mut self, text: &str) {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        self.text.push_str(text);
    }

    /// What the model is told. Reads files and pictures, so it blocks.
    pub(super) fn message(self, images: bool) -> ChatMessage {
        let (text, mut pictures) = chat::with_files(self.text, &self.files, images);
        let decoded = self.pictures.iter().filter_map(|data| decode(data));
        pictures.extend(decoded.filter(|_| images));
        ChatMessage::User { text, images: pictures }
    }
}

fn decode(data: &str) -> Option<Picture> {
    chat::picture(&base64_simd::STANDARD.decode_to_vec(data).ok()?)
}

/// The file that an address names.
fn path(uri: &str) -> Option<PathBuf> {
    let mut rest = uri.strip_prefix("file://")?.as_bytes();
    let mut bytes = Vec::with_capacity(rest.len());
    while let [first, after @ ..] = rest {
        rest = after;
        let digit = |at: usize| char::from(*after.get(at)?).to_digit(16);
        match (first, digit(0), digit(1)) {
            (b'%', Some(high), Some(low)) => {
                bytes.push(u8::try_from(high * 16 + low).ok()?);
                rest = &after[2..];
            }
            _ => bytes.push(*first),
        }
    }
    Some(OsString::from_vec(bytes).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_of_files_are_paths() {
        assert_eq!(path("file:///a%20b/%e3%81%82.txt"), Some("/a b/\u{3042}.txt".into()));
        assert_eq!(path("file:///100%"), Some("/100%".into()));
        assert_eq!(path("https://example.org/a"), None);
    }
}
