//! Converts pictures for live models: a JPEG of the size that models look at. Takes milliseconds, so it must run on a
//! blocking thread.

use crate::picture::{Decoded, decode};
use bytes::Bytes;
use image::ImageFormat;
use image::codecs::jpeg::JpegEncoder;

/// Up to this size a picture stays as it is...
const SMALL: u32 = 960;
/// ...and otherwise its longer and its shorter side become at most these.
const LONG_SIDE: u32 = 960;
const SHORT_SIDE: u32 = 540;
/// More is not decoded.
const MAX_PIXELS: u64 = 50_000_000;
const JPEG_QUALITY: u8 = 85;

/// `None`: broken, too large, or not a picture.
pub(super) fn jpeg(bytes: &Bytes) -> Option<Bytes> {
    // A broken picture is refused here, because the vendor would close the connection.
    let mut decoded = decode(bytes, MAX_PIXELS)?;
    let Decoded { image, format, upright, .. } = &mut decoded;
    let small = image.width().max(image.height()) <= SMALL;
    if small && *format == ImageFormat::Jpeg && *upright {
        return Some(bytes.clone());
    }
    if !small {
        let landscape = image.width() >= image.height();
        let (wide, high) =
            if landscape { (LONG_SIDE, SHORT_SIDE) } else { (SHORT_SIDE, LONG_SIDE) };
        *image = image.thumbnail(wide, high);
    }
    let mut jpeg = Vec::new();
    JpegEncoder::new_with_quality(&mut jpeg, JPEG_QUALITY).encode_image(&image.to_rgb8()).ok()?;
    Some(jpeg.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use image::{DynamicImage, ImageReader};
    use std::io::Cursor;

    fn drawn(width: u32, height: u32, format: ImageFormat) -> Bytes {
        let mut bytes = Cursor::new(Vec::new());
        DynamicImage::new_rgb8(width, height).write_to(&mut bytes, format).unwrap();
        bytes.into_inner().into()
    }

    #[track_caller]
    fn check(from: (u32, u32), format: ImageFormat, to: (u32, u32)) {
        let taken = jpeg(&drawn(from.0, from.1, format)).unwrap();
        let reader = ImageReader::new(Cursor::new(taken)).with_guessed_format().unwrap();
        assert_eq!(reader.format(), Some(ImageFormat::Jpeg));
        assert_eq!(reader.into_dimensions().unwrap(), to);
    }

    #[test]
    fn small_jpegs_stay_as_they_are() {
        let bytes = drawn(960, 960, ImageFormat::Jpeg);
        assert_eq!(jpeg(&bytes).unwrap().as_ptr(), bytes.as_ptr());
    }

    #[test]
    fn others_become_jpegs_of_the_size_that_models_look_at() {
        check((960, 900), ImageFormat::Png, (960, 900));
        check((1_920, 1_080), ImageFormat::Png, (960, 540));
        check((1_080, 1_920), ImageFormat::Jpeg, (540, 960));
        check((2_000, 2_000), ImageFormat::Jpeg, (540, 540));
        check((961, 10), ImageFormat::Gif, (960, 10));
    }

    #[test]
    fn broken_and_other_files_are_no_pictures() {
        let png = drawn(640, 480, ImageFormat::Png);
        for bytes in [png.slice(..png.len() / 2), Bytes::new(), Bytes::from_static(b"hello")] {
            assert_eq!(jpeg(&bytes), None);
        }
    }
}
