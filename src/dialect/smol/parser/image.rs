//! All images of a response, each once: given ones, those that its code saves, and those that its texts name or contain.

use super::call::{Call, Literal};
use super::{AgentResponse, GivenImage, Picture, call, candidate, data_uri, limit};
use bytes::Bytes;
use std::collections::HashSet;

/// Functions that write an image: `plt.savefig("a.png")`.
const SAVES: [&str; 3] = ["savefig", "save", "to_file"];
/// Paths of one response that the caller is asked for.
const MAX_ASKED: usize = 64;

/// A file that the caller lets the agent show.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    pub bytes: Bytes,
}

pub(super) fn all(response: &AgentResponse, open: &dyn Fn(&str) -> Option<Image>) -> Vec<Picture> {
    let mut images = Images { open, found: Vec::new(), asked: HashSet::new() };
    for given in &response.images {
        match given {
            GivenImage::Named(text) if text.starts_with("data:") => {
                images.add_all(data_uri::all(text))
            }
            GivenImage::Named(path) => images.look(&[path]),
            GivenImage::Data { content, format, path } if data_uri::is_kind(format) => {
                let path = path.as_ref().filter(|path| candidate::is_plausible(path));
                images.add_all(data_uri::picture(content, format, path.map(String::as_str)));
            }
            GivenImage::Data { .. } | GivenImage::Other(_) => {}
        }
    }
    for mention in candidate::all(limit::scanned(&response.raw_output)) {
        images.look(&mention);
    }
    for path in call::in_steps(response, &SAVES).iter().filter_map(saved) {
        images.look(&[path]);
    }
    for mention in candidate::all(limit::scanned(&response.text)) {
        images.look(&mention);
    }
    for text in [&response.raw_output, &response.text] {
        images.add_all(data_uri::all(text));
    }
    images.found
}

struct Images<'a> {
    open: &'a dyn Fn(&str) -> Option<Image>,
    found: Vec<Picture>,
    asked: HashSet<String>,
}

impl Images<'_> {
    /// Takes the first reading of a mention that is a file. A reading that was found before settles the mention.
    fn look(&mut self, readings: &[&str]) {
        for path in readings.iter().filter(|path| candidate::is_plausible(path)) {
            // The same file, however it is written.
            let path = path.strip_prefix("./").unwrap_or(path);
            if self.found.iter().any(|one| one.path.as_deref() == Some(path)) {
                return;
            }
            let may_ask = !self.is_full() && self.asked.len() < MAX_ASKED;
            if !may_ask || !self.asked.insert(path.to_owned()) {
                continue;
            }
            let Some(image) = (self.open)(path).filter(is_shown) else {
                continue;
            };
            let format = candidate::ending(path).unwrap_or_default().to_owned();
            self.found.push(Picture { image, format, path: Some(path.to_owned()) });
            return;
        }
    }

    fn add_all(&mut self, pictures: impl IntoIterator<Item = Picture>) {
        for picture in pictures {
            if self.is_full() {
                return;
            }
            if !self.found.contains(&picture) {
                self.found.push(picture);
            }
        }
    }

    fn is_full(&self) -> bool {
        self.found.len() >= limit::MAX_IMAGES
    }
}

fn is_shown(image: &Image) -> bool {
    !image.bytes.is_empty() && image.bytes.len() <= limit::MAX_IMAGE
}

/// The path that a call saves to: its first argument, or the one with a usual name.
fn saved<'a>(call: &'a Call<'_>) -> Option<&'a str> {
    let named = call.arguments.iter().find(|one| match one.keyword {
        Some(keyword) => matches!(keyword, "fname" | "fp" | "path"),
        None => false,
    });
    let first = call.arguments.first().filter(|one| one.keyword.is_none());
    match &first.or(named)?.value {
        Literal::Text(path) => Some(path),
        Literal::Flag(_) | Literal::Nothing | Literal::Unreadable => None,
    }
}
