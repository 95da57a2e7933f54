//! Small pictures of big ones.

use crate::picture;
use bytes::Bytes;
use image::{DynamicImage, ImageFormat, ImageReader};
use std::io::Cursor;

const WIDEST: u32 = 320;
/// Keeps the picture of a long strip small too.
const TALLEST: u32 = 1_280;

/// The format if this is a picture, judged by content.
pub(super) fn image_format(bytes: &[u8]) -> Option<ImageFormat> {
    let reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().ok()?;
    let format = reader.format()?;
    reader.into_dimensions().ok()?;
    Some(format)
}

/// A PNG at most 320 pixels wide, never enlarged. `None` for what is broken, too large or no picture at all.
pub(super) fn thumbnail(bytes: &[u8], max_pixels: u64) -> Option<Bytes> {
    let mut decoded = picture::decode(bytes, max_pixels)?;
    let small = shrink(std::mem::take(&mut decoded.image));
    drop(decoded);
    let small = if small.color().has_alpha() {
        DynamicImage::from(small.to_rgba8())
    } else {
        DynamicImage::from(small.to_rgb8())
    };
    let mut png = Cursor::new(Vec::new());
    small.write_to(&mut png, ImageFormat::Png).ok()?;
    Some(png.into_inner().into())
}

fn shrink(picture: DynamicImage) -> DynamicImage {
    if picture.width() <= WIDEST && picture.height() <= TALLEST {
        return picture;
    }
    picture.thumbnail(WIDEST, TALLEST)
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{MAX_PIXELS, picture};
    use super::*;

    #[test]
    fn pictures_are_shrunk_but_never_enlarged() {
        for ((width, height), expected) in [
            ((640, 480), (320, 240)),
            ((320, 200), (320, 200)),
            ((10, 20), (10, 20)),
            ((4_000, 1), (320, 1)),
            ((100, 12_800), (10, 1_280)),
        ] {
            for format in [ImageFormat::Png, ImageFormat::Jpeg, ImageFormat::Bmp, ImageFormat::Gif]
            {
                let png = thumbnail(&picture(width, height, format), MAX_PIXELS).unwrap();
                assert_eq!(size(&png), expected, "{format:?} {width}x{height}");
            }
        }
    }

    #[test]
    fn orientation_of_the_camera_is_applied() {
        let jpeg = picture(64, 32, ImageFormat::Jpeg);
        let exif = b"Exif\0\0MM\0\x2a\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0";
        let length = u16::try_from(exif.len() + 2).unwrap().to_be_bytes();
        let turned = [&jpeg[..2], b"\xff\xe1", &length, exif, &jpeg[2..]].concat();
        assert_eq!(size(&thumbnail(&turned, MAX_PIXELS).unwrap()), (32, 64));
    }

    #[test]
    fn bomb_is_recognised_by_its_header() {
        let bomb = png_header(10_000, 5_000);
        assert_eq!(image_format(&bomb), Some(ImageFormat::Png));
        assert_eq!(thumbnail(&bomb, MAX_PIXELS), None);
        assert_eq!(thumbnail(&png_header(u32::MAX >> 1, u32::MAX >> 1), u64::MAX), None);
    }

    #[test]
    fn broken_pictures_have_no_thumbnail() {
        let png = picture(640, 480, ImageFormat::Png);
        assert_eq!(thumbnail(&png[..png.len() / 2], MAX_PIXELS), None);
        for bytes in [&b""[..], b"hello", b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"] {
            assert_eq!(thumbnail(bytes, MAX_PIXELS), None);
            assert_eq!(image_format(bytes), None);
        }
    }

    fn size(png: &[u8]) -> (u32, u32) {
        let reader = ImageReader::with_format(Cursor::new(png), ImageFormat::Png);
        reader.into_dimensions().unwrap()
    }

    /// A PNG that promises this many pixels and holds none.
    fn png_header(width: u32, height: u32) -> Vec<u8> {
        let header = [&width.to_be_bytes()[..], &height.to_be_bytes(), &[8, 2, 0, 0, 0]].concat();
        [&b"\x89PNG\r\n\x1a\n"[..], &chunk(b"IHDR", &header), &chunk(b"IDAT", b"\x78\x9c")].concat()
    }

    fn chunk(kind: &[u8; 4], data: &[u8]) -> Vec<u8> {
        let body = [&kind[..], data].concat();
        let crc = body.iter().fold(u32::MAX, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
                (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
            })
        });
        let length = u32::try_from(data.len()).unwrap();
        [&length.to_be_bytes()[..], &body, &(!crc).to_be_bytes()].concat()
    }
}
