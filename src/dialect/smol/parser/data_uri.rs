//! Images that stand in texts as data URIs.

use super::{Image, Picture, limit};
use bytes::Bytes;

const START: &str = "data:image/";
const FORM: &str = ";base64,";
/// SVG is left out: it is a document that can carry scripts, not a bitmap.
const KINDS: [&str; 6] = ["png", "jpeg", "jpg", "gif", "bmp", "webp"];

/// The images of a text, in order.
pub(super) fn all(text: &str) -> impl Iterator<Item = Picture> {
    text.split(START).skip(1).filter_map(read)
}

/// Whether images of this kind can be shown without a file.
pub(super) fn is_kind(format: &str) -> bool {
    KINDS.iter().any(|kind| kind.eq_ignore_ascii_case(format))
}

/// Decodes what an agent gave as base64. `None` if it is no base64, empty or too large.
pub(super) fn picture(base64: &str, format: &str, path: Option<&str>) -> Option<Picture> {
    let is_small = base64.len() / 4 * 3 <= limit::MAX_IMAGE;
    let bytes = is_small.then(|| base64_simd::STANDARD.decode_to_vec(base64).ok()).flatten()?;
    if bytes.is_empty() {
        return None;
    }
    let image = Image { bytes: Bytes::from(bytes) };
    Some(Picture { image, format: format.to_owned(), path: path.map(str::to_owned) })
}

/// `rest` follows the start of a data URI.
fn read(rest: &str) -> Option<Picture> {
    let kind = KINDS.iter().find(|kind| {
        let is_kind = rest.get(..kind.len()).is_some_and(|word| word.eq_ignore_ascii_case(kind));
        is_kind && rest.get(kind.len()..).is_some_and(|rest| rest.starts_with(FORM))
    })?;
    let data = rest.get(kind.len() + FORM.len()..)?;
    let is_data = |one: &u8| one.is_ascii_alphanumeric() || matches!(one, b'+' | b'/' | b'=');
    let length = data.bytes().position(|one| !is_data(&one)).unwrap_or(data.len());
    picture(data.get(..length)?, kind, None)
}
