//! A prompt as the protocol wants it: pictures as pictures if the agent takes them, other files by their address.

use super::super::AgentPrompt;
use agent_client_protocol_schema::v1::{
    ContentBlock, ImageContent, PromptCapabilities, ResourceLink, TextContent,
};
use std::path::Path;

/// Larger pictures are named, not sent.
const LARGEST_PICTURE: u64 = 8 * 1024 * 1024;

pub(super) async fn blocks(prompt: &AgentPrompt, takes: &PromptCapabilities) -> Vec<ContentBlock> {
    let mut blocks = vec![ContentBlock::Text(TextContent::new(&prompt.text))];
    for path in &prompt.attachments {
        let size = tokio::fs::metadata(path).await.map(|about| about.len()).ok();
        let picture = match picture_type(path) {
            Some(mime) if takes.image && size.is_some_and(|size| size <= LARGEST_PICTURE) => {
                tokio::fs::read(path).await.ok().map(|bytes| (mime, bytes))
            }
            Some(_) | None => None,
        };
        blocks.push(match picture {
            Some((mime, bytes)) => {
                let data = base64_simd::STANDARD.encode_to_string(bytes);
                ContentBlock::Image(ImageContent::new(data, mime).uri(address(path)))
            }
            None => link(path, size),
        });
    }
    blocks
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
        let named = blocks_for(false).await;
        assert_eq!(named[1]["type"], "resource_link");
        assert!(named[1]["uri"].as_str().unwrap().ends_with("/a%20b.PNG"), "{named}");
    }
}
