//! How loud something is, as a person sees it.

use bytes::Bytes;

/// Below this everything looks like silence.
const QUIETEST: f32 = -54.0;

/// The largest distance from zero.
pub(super) fn peak(pcm: &Bytes) -> u16 {
    let (samples, _) = pcm.as_chunks::<2>();
    samples.iter().map(|pair| i16::from_le_bytes(*pair).unsigned_abs()).fold(0, u16::max)
}

/// A bar of this width; loudness is heard as a logarithm, so it is drawn as one.
pub(super) fn bar(peak: u16, width: usize) -> String {
    let decibels = 20.0 * (f32::from(peak.max(1)) / 32_768.0).log10();
    let share = (1.0 - decibels / QUIETEST).clamp(0.0, 1.0);
    let full = (share * width as f32).round() as usize;
    format!("{}{}", "#".repeat(full), "-".repeat(width - full))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_as_wide_as_asked_and_grow_with_the_sound() {
        assert_eq!(bar(0, 10), "----------");
        assert_eq!(bar(u16::MAX, 10), "##########");
        assert_eq!(bar(1_460, 10), "#####-----");
        let widths: Vec<_> =
            [0, 100, 1_000, 10_000, 32_768].map(|peak| bar(peak, 20).matches('#').count()).into();
        assert!(widths.is_sorted_by(|a, b| a < b), "{widths:?}");
    }

    #[test]
    fn the_loudest_sample_is_the_peak() {
        let pcm = [3_i16, i16::MIN, 5].iter().flat_map(|sample| sample.to_le_bytes()).collect();
        assert_eq!(peak(&pcm), 32_768);
        assert_eq!(peak(&Bytes::new()), 0);
    }
}
