//! Decodes pictures that others sent. Sizes are read from the header and refused before anything is decoded, and all
//! decoders of the process together take no more memory than [`MEMORY`]: whoever comes when it is taken waits a moment.
//! Takes up to seconds: not for the runtime's threads.

use image::metadata::Orientation;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};
use std::io::Cursor;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// For what is decoded at the same time. A picture that needs more by itself is not decoded at all.
pub(crate) const MEMORY: u64 = 512 * 1024 * 1024;
/// A thread that waits does nothing else, so nobody waits longer than several large pictures take.
const PATIENCE: Duration = Duration::from_secs(10);

static BUDGET: Budget = Budget { taken: Mutex::new(0), freed: Condvar::new() };

/// A decoded picture and what is known about it.
#[derive(Debug)]
pub(crate) struct Decoded {
    pub(crate) image: DynamicImage,
    pub(crate) format: ImageFormat,
    /// Whether its pixels are as they were stored, not turned for people.
    pub(crate) upright: bool,
    _share: Share,
}

/// Upright, whichever way the camera was held. `None` for what is broken, no picture at all, larger than `max_pixels`, or
/// too large for the memory there is.
pub(crate) fn decode(bytes: &[u8], max_pixels: u64) -> Option<Decoded> {
    let mut reader = ImageReader::new(Cursor::new(bytes)).with_guessed_format().ok()?;
    let format = reader.format()?;
    let mut limits = Limits::default();
    limits.max_alloc = Some(MEMORY);
    reader.limits(limits);
    let mut decoder = reader.into_decoder().ok()?;
    let (width, height) = decoder.dimensions();
    if u64::from(width) * u64::from(height) > max_pixels {
        return None;
    }
    // Phones store their pictures lying on the side and say so in EXIF.
    let orientation = decoder.orientation().unwrap_or(Orientation::NoTransforms);
    let share = BUDGET.take(cost(decoder.total_bytes(), format, orientation), PATIENCE)?;
    let mut image = DynamicImage::from_decoder(decoder).ok()?;
    image.apply_orientation(orientation);
    let upright = orientation == Orientation::NoTransforms;
    Some(Decoded { image, format, upright, _share: share })
}

/// Bytes that decoding takes at its worst moment, where the pixels alone take `pixels`.
fn cost(pixels: u64, format: ImageFormat, orientation: Orientation) -> u64 {
    // Whole pictures that decoders keep beside their result: coefficients of a progressive JPEG, a canvas with opacity.
    let beside = if format == ImageFormat::Jpeg {
        pixels.saturating_mul(2)
    } else if matches!(format, ImageFormat::WebP | ImageFormat::Gif) {
        pixels.saturating_mul(4) / 3
    } else {
        0
    };
    let turned = match orientation {
        Orientation::Rotate90
        | Orientation::Rotate270
        | Orientation::Rotate90FlipH
        | Orientation::Rotate270FlipH => pixels,
        Orientation::NoTransforms
        | Orientation::Rotate180
        | Orientation::FlipHorizontal
        | Orientation::FlipVertical => 0,
    };
    // The decoder has let go of its own when the picture is turned.
    pixels.saturating_add(beside.max(turned))
}

struct Budget {
    taken: Mutex<u64>,
    freed: Condvar,
}

impl Budget {
    /// `None`: it is more than there is, or was not free in time.
    fn take(&'static self, bytes: u64, patience: Duration) -> Option<Share> {
        if bytes > MEMORY {
            return None;
        }
        let full = |taken: &mut u64| *taken + bytes > MEMORY;
        let waited = self.freed.wait_timeout_while(self.lock(), patience, full);
        let (mut taken, result) = waited.unwrap_or_else(PoisonError::into_inner);
        if result.timed_out() {
            return None;
        }
        *taken += bytes;
        Some(Share { budget: self, bytes })
    }

    fn lock(&self) -> MutexGuard<'_, u64> {
        self.taken.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Memory that is given back when the picture is dropped.
struct Share {
    budget: &'static Budget,
    bytes: u64,
}

impl std::fmt::Debug for Share {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} bytes", self.bytes)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        *self.budget.lock() -= self.bytes;
        self.budget.freed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    const GIB: u64 = 1024 * 1024 * 1024;

    fn budget() -> &'static Budget {
        Box::leak(Box::new(Budget { taken: Mutex::new(0), freed: Condvar::new() }))
    }

    #[test]
    fn what_is_decoded_at_once_stays_within_the_memory() {
        let budget = budget();
        let (now, most) = (AtomicU64::new(0), AtomicU64::new(0));
        std::thread::scope(|scope| {
            for number in 0..12 {
                let (now, most) = (&now, &most);
                scope.spawn(move || {
                    let bytes = MEMORY / 5 * (number % 3 + 1);
                    let share = budget.take(bytes, Duration::from_secs(100)).unwrap();
                    most.fetch_max(
                        now.fetch_add(bytes, Ordering::SeqCst) + bytes,
                        Ordering::SeqCst,
                    );
                    std::thread::yield_now();
                    now.fetch_sub(bytes, Ordering::SeqCst);
                    drop(share);
                });
            }
        });
        assert!(most.into_inner() <= MEMORY);
        assert_eq!(*budget.lock(), 0, "everything was given back");
    }

    #[test]
    fn nobody_waits_for_ever_and_nobody_takes_more_than_there_is() {
        let budget = budget();
        assert!(budget.take(MEMORY + 1, Duration::MAX).is_none());
        let all = budget.take(MEMORY, Duration::ZERO).unwrap();
        assert!(budget.take(1, Duration::ZERO).is_none());
        drop(all);
        assert!(budget.take(1, Duration::ZERO).is_some());
    }

    #[test]
    fn a_picture_costs_what_its_decoder_takes() {
        let upright = Orientation::NoTransforms;
        // 49 megapixels of 16 bits in four colours, and a photograph of a phone.
        assert_eq!(cost(49_000_000 * 8, ImageFormat::Png, upright), 392_000_000);
        let photograph = 49_000_000 * 3;
        for orientation in [upright, Orientation::Rotate90] {
            assert!((photograph..=MEMORY).contains(&cost(
                photograph,
                ImageFormat::Jpeg,
                orientation
            )));
        }
        assert_eq!(cost(10, ImageFormat::Bmp, Orientation::Rotate270), 20);
        assert!(cost(u64::MAX, ImageFormat::Gif, upright) > GIB);
    }
}
