//! A prompt as the protocol wants it: pictures as pictures and texts as texts if the agent takes them, other files by
//! their address. And back again: what an agent shows besides text.

use super::super::AgentPrompt;
use crate::message::one_line;
use agent_client_protocol_schema::v1::{
    ContentBlock, EmbeddedResource, EmbeddedResourceResource, ImageContent, PromptCapabilities,
    ResourceLink, TextContent, TextResourceContents,
};
use bytes::Bytes;
use std::path::Path;

/// Larger pictures are named, not sent.
const LARGEST_PICTURE: u64 = 8 * 1024 * 1024;
/// The same for texts: more than this would fill a model's context.
const LARGEST_TEXT: u64 = 256 * 1024;
/// Of what is named, in letters.
const LONGEST_NAME: usize = 1024;

/// What a piece of an agent's message is to people.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Text(String),
    Picture(Bytes),
    /// What cannot be shown is named.
    Named(String),
    Nothing,
}

pub(super) fn shown(content: ContentBlock) -> Shown {
    match content {
        ContentBlock::Text(text) => Shown::Text(text.text),
        ContentBlock::Image(image) => decoded(&image.data, &image.mime_type, image.uri.as_deref()),
        ContentBlock::Audio(audio) => Shown::Named(plain(&format!("({})", audio.mime_type))),
        ContentBlock::ResourceLink(link) => {
            Shown::Named(plain(&format!("{}: {}", link.name, link.uri)))
        }
        ContentBlock::Resource(resource) => match resource.resource {
            EmbeddedResourceResource::TextResourceContents(text) => {
                Shown::Named(named(&text.uri, text.mime_type.as_deref()))
            }
            EmbeddedResourceResource::BlobResourceContents(blob) => match blob.mime_type {
                Some(mime) if mime.starts_with("image/") => {
                    decoded(&blob.blob, &mime, Some(&blob.uri))
                }
                mime => Shown::Named(named(&blob.uri, mime.as_deref())),
            },
            _ => Shown::Nothing,
        },
        _ => Shown::Nothing,
    }
}

/// A picture is one by what it is, not by what it is said to be.
fn decoded(data: &str, mime: &str, address: Option<&str>) -> Shown {
    let fits = u64::try_from(data.len()).is_ok_and(|length| length / 4 * 3 <= LARGEST_PICTURE);
    let bytes = fits.then(|| base64_simd::STANDARD.decode_to_vec(data).ok()).flatten();
    match bytes.filter(|bytes| image::guess_format(bytes).is_ok()) {
        Some(bytes) => Shown::Picture(bytes.into()),
        None => {
            Shown::Named(named(address.unwrap_or("a picture that cannot be shown"), Some(mime)))
        }
    }
}

fn named(address: &str, mime: Option<&str>) -> String {
    plain(&mime.map_or_else(|| address.to_owned(), |mime| format!("{address} ({mime})")))
}

/// One line that is not too long.
fn plain(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect()
}

pub(super) async fn blocks(prompt: &AgentPrompt, takes: &PromptCapabilities) -> Vec<ContentBlock> {
    let mut blocks = vec![ContentBlock::Text(TextContent::new(&prompt.text))];
    for path in &prompt.attachments {
        let size = tokio::fs::metadata(path).await.map(|about| about.len()).ok();
        let embedded = match (picture_type(path), size) {
            (Some(mime), Some(size)) if takes.image && size <= LARGEST_PICTURE => {
                picture(path, mime).await
            }
            (None, Some(size)) if takes.embedded_context && size <= LARGEST_TEXT => {
                text(path).await
            }
            (Some(_) | None, _) => None,
        };
        blocks.push(embedded.unwrap_or_else(|| link(path, size)));
    }
    blocks
}

async fn picture(path: &Path, mime: &str) -> Option<ContentBlock> {
    let data = base64_simd::STANDARD.encode_to_string(tokio::fs::read(path).await.ok()?);
    Some(ContentBlock::Image(ImageContent::new(data, mime).uri(address(path))))
}

/// `None`: it is no text.
async fn text(path: &Path) -> Option<ContentBlock> {
    let text = String::from_utf8(tokio::fs::read(path).await.ok()?).ok()?;
    let contents = TextResourceContents::new(text, address(path));
    let resource = EmbeddedResourceResource::TextResourceContents(contents);
    Some(ContentBlock::Resource(EmbeddedResource::new(resource)))
}

fn link(path: &Path, size: Option<u64>) -> ContentBlock {
    let name = one_line(&path.file_name().unwrap_or_default().to_string_lossy());
    let link = ResourceLink::new(name, address(path))
        .size(size.and_then(|size| i64::try_from(size).ok()))
        .mime_type(picture_type(path).map(str::to_owned));
    ContentBlock::ResourceLink(link)
}

fn picture_type(path: &Path) -> Option<&'static str> {
    let ending = path.extension()?.to_str()?.to_ascii_lowercase();
    match ending.as_str() {
        "png" => Some("image/png"),
        "jpg" | "jpeg" => Some("image/jpeg"),
        "gif" => Some("image/gif"),
        "webp" => Some("image/webp"),
        "bmp" => Some("image/bmp"),
        _ => None,
    }
}

fn address(path: &Path) -> String {
    use std::fmt::Write;
    use std::os::unix::ffi::OsStrExt;
    let mut address = "file://".to_owned();
    for &byte in path.as_os_str().as_bytes() {
        if byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte) {
            address.push(byte.into());
        } else {
            // Writing to a text cannot fail.
            let _ = write!(address, "%{byte:02X}");
        }
    }
    address
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn pictures_are_sent_only_to_who_takes_them() {
        let directory = tempfile::tempdir().unwrap();
        let (picture, text) = (directory.path().join("a b.PNG"), directory.path().join("n.txt"));
        std::fs::write(&picture, b"png").unwrap();
        std::fs::write(&text, b"text").unwrap();
        let prompt = AgentPrompt { text: "look".to_owned(), attachments: vec![picture, text] };
        let blocks_for = async |image| {
            let blocks = blocks(&prompt, &PromptCapabilities::new().image(image)).await;
            serde_json::to_value(blocks).unwrap()
        };
        let sent = blocks_for(true).await;
        assert_eq!((&sent[0]["text"], &sent[1]["type"]), (&"look".into(), &"image".into()));
        assert_eq!((&sent[1]["data"], &sent[1]["mimeType"]), (&"cG5n".into(), &"image/png".into()));
        assert_eq!((&sent[2]["type"], &sent[2]["size"]), (&"resource_link".into(), &4.into()));
        let takes = PromptCapabilities::new().embedded_context(true);
        let embedded = serde_json::to_value(blocks(&prompt, &takes).await).unwrap();
        assert_eq!(embedded[1]["type"], "resource_link", "a picture is no text");
        assert_eq!(embedded[2]["resource"]["text"], "text");
        std::fs::write(&prompt.attachments[1], [0xff, 0xfe]).unwrap();
        let embedded = serde_json::to_value(blocks(&prompt, &takes).await).unwrap();
        assert_eq!(embedded[2]["type"], "resource_link", "this is not text either");
        let named = blocks_for(false).await;
        assert_eq!(named[1]["type"], "resource_link");
        assert!(named[1]["uri"].as_str().unwrap().ends_with("/a%20b.PNG"), "{named}");
    }

    #[test]
    fn only_pictures_are_shown_as_pictures() {
        let png = base64_simd::STANDARD.encode_to_string(b"\x89PNG\r\n\x1a\n");
        let image = |data: &str| shown(ContentBlock::Image(ImageContent::new(data, "image/png")));
        assert_eq!(image(&png), Shown::Picture(b"\x89PNG\r\n\x1a\n".as_slice().into()));
        let huge = png.clone() + &"A".repeat(12 * 1024 * 1024);
        for wrong in ["", "%", "PCFET0NUWVBFIGh0bWw+", &huge] {
            let line = "a picture that cannot be shown (image/png)".to_owned();
            assert_eq!(image(wrong), Shown::Named(line));
        }
        let text = TextResourceContents::new("secret", "file:///a\n\u{1b}[2Jb.txt");
        let resource = EmbeddedResourceResource::TextResourceContents(text);
        let embedded = shown(ContentBlock::Resource(EmbeddedResource::new(resource)));
        assert_eq!(embedded, Shown::Named("file:///a[2Jb.txt".to_owned()));
    }
}
