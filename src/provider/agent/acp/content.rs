//! A prompt as the protocol wants it: pictures as pictures and texts as texts if the agent takes them, other files by
//! their address.

use super::super::AgentPrompt;
use agent_client_protocol_schema::v1::{
    ContentBlock, EmbeddedResource, EmbeddedResourceResource, ImageContent, PromptCapabilities,
    ResourceLink, TextContent, TextResourceContents,
};
use std::path::Path;

/// Larger pictures are named, not sent.
const LARGEST_PICTURE: u64 = 8 * 1024 * 1024;
/// The same for texts: more than this would fill a model's context.
const LARGEST_TEXT: u64 = 256 * 1024;

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
    let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
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
}
