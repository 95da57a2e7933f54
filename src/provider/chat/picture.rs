//! Pictures as models take them: checked before they are decoded, upright, and not larger than models look at.

use crate::picture::{Decoded, decode};
use bytes::Bytes;
use image::codecs::jpeg::JpegEncoder;
use image::{DynamicImage, ImageFormat};
use std::io::Cursor;

/// Models scale larger ones down themselves, and charge for them.
const LONGEST_SIDE: u32 = 1_568;
/// The strictest vendor takes 5 MB of base64.
const LARGEST: usize = 3_500_000;
/// More is not decoded.
const MAX_PIXELS: u64 = 50_000_000;
const JPEG_QUALITY: u8 = 85;

/// A picture that every vendor takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// `image/png`, `image/jpeg` or `image/webp`.
    pub mime: &'static str,
    pub bytes: Bytes,
}

/// `None` for what is broken, too large or no picture at all. Takes milliseconds: not for the runtime's threads.
pub fn picture(bytes: &[u8]) -> Option<Picture> {
    // A broken picture would be refused together with the whole conversation.
    let mut decoded = decode(bytes, MAX_PIXELS)?;
    let Decoded { image, format, upright, .. } = &mut decoded;
    let longest = image.width().max(image.height());
    let small = longest <= LONGEST_SIDE && bytes.len() <= LARGEST;
    if let Some(mime) = taken_as_it_is(*format)
        && *upright
        && small
    {
        return Some(Picture { mime, bytes: Bytes::copy_from_slice(bytes) });
    }
    if longest > LONGEST_SIDE {
        *image = image.thumbnail(LONGEST_SIDE, LONGEST_SIDE);
    }
    encoded(image)
}

/// Not every vendor takes the others.
fn taken_as_it_is(format: ImageFormat) -> Option<&'static str> {
    [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP]
        .contains(&format)
        .then(|| format.to_mime_type())
}

/// Drawings stay sharp where that is affordable; photographs become JPEG.
fn encoded(image: &DynamicImage) -> Option<Picture> {
    if image.color().has_alpha() {
        let mut png = Cursor::new(Vec::new());
        DynamicImage::from(image.to_rgba8()).write_to(&mut png, ImageFormat::Png).ok()?;
        let bytes = png.into_inner();
        if bytes.len() <= LARGEST {
            return Some(Picture { mime: "image/png", bytes: bytes.into() });
        }
    }
    let mut jpeg = Vec::new();
    JpegEncoder::new_with_quality(&mut jpeg, JPEG_QUALITY).encode_image(&image.to_rgb8()).ok()?;
    Some(Picture { mime: "image/jpeg", bytes: jpeg.into() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::ImageReader;

    fn drawn(width: u32, height: u32, format: ImageFormat) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        DynamicImage::new_rgb8(width, height).write_to(&mut bytes, format).unwrap();
        bytes.into_inner()
    }

    fn size(picture: &Picture) -> (u32, u32) {
        let reader = ImageReader::new(Cursor::new(&picture.bytes)).with_guessed_format().unwrap();
        assert_eq!(reader.format().unwrap().to_mime_type(), picture.mime);
        reader.into_dimensions().unwrap()
    }

    #[test]
    fn small_pictures_stay_as_they_are() {
        for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::WebP] {
            let bytes = drawn(20, 10, format);
            let taken = picture(&bytes).unwrap();
            assert_eq!((taken.mime, &taken.bytes[..]), (format.to_mime_type(), &bytes[..]));
        }
    }

    #[test]
    fn large_and_unusual_pictures_become_what_everybody_takes() {
        for (format, width, expected) in [
            (ImageFormat::Png, 3_136, (1_568, 784)),
            (ImageFormat::Jpeg, 3_136, (1_568, 784)),
            (ImageFormat::Gif, 20, (20, 10)),
            (ImageFormat::Bmp, 20, (20, 10)),
        ] {
            assert_eq!(size(&picture(&drawn(width, width / 2, format)).unwrap()), expected);
        }
    }

    #[test]
    fn broken_and_other_files_are_no_pictures() {
        let png = drawn(640, 480, ImageFormat::Png);
        for bytes in [&png[..png.len() / 2], b"", b"hello", b"\xff\xd8\xff"] {
            assert_eq!(picture(bytes), None);
        }
    }
}
