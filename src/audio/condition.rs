//! Detects PCM16 chunks that are silent or clipped.

/// Levels up to this count as silence: 60 dB below full scale.
const SILENCE: u16 = 32;
/// So many samples in a row at the limit count as clipping; a loud voice may touch the limit for less.
const STAYS: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    Fine,
    Silent,
    /// The microphone is too loud: its peaks are cut off.
    Clipped,
}

/// One pass without branches over the samples. Only chunks that reach the limit are scanned again, and rarely to the
/// end.
pub fn condition(pcm: &[u8]) -> Condition {
    let (samples, _) = pcm.as_chunks::<2>();
    let (lowest, highest) = range(samples);
    if lowest.unsigned_abs().max(highest.unsigned_abs()) <= SILENCE {
        Condition::Silent
    } else if (lowest == i16::MIN || highest == i16::MAX) && stays_at_the_limit(samples) {
        Condition::Clipped
    } else {
        Condition::Fine
    }
}

/// Minimum and maximum, including zero. Both compile to one SIMD instruction for many samples on every machine; the
/// absolute value does not.
fn range(samples: &[[u8; 2]]) -> (i16, i16) {
    samples
        .iter()
        .map(|sample| i16::from_le_bytes(*sample))
        .fold((0, 0), |(lowest, highest), sample| (sample.min(lowest), sample.max(highest)))
}

fn stays_at_the_limit(samples: &[[u8; 2]]) -> bool {
    let limit = |sample: &[u8; 2]| matches!(i16::from_le_bytes(*sample), i16::MIN | i16::MAX);
    samples.windows(STAYS).any(|window| window.iter().all(limit))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(samples: &[i16], expected: Condition) {
        let pcm: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        assert_eq!(condition(&pcm), expected, "{samples:?}");
    }

    #[test]
    fn noise_that_nobody_hears_is_silence() {
        check(&[], Condition::Silent);
        check(&[0; 480], Condition::Silent);
        check(&[32, -32, 1].repeat(100), Condition::Silent);
        check(&[0, 0, 33], Condition::Fine);
        check(&[0, -33, 0], Condition::Fine);
    }

    #[test]
    fn what_stays_at_the_limit_is_cut_off() {
        check(&[0, i16::MAX, i16::MAX, i16::MAX, 0], Condition::Clipped);
        check(&[0, i16::MIN, i16::MIN, i16::MIN], Condition::Clipped);
        check(&[i16::MAX, i16::MAX, i16::MIN, 5], Condition::Clipped);
        check(&[0, i16::MAX, i16::MAX, 0, i16::MAX], Condition::Fine);
        check(&[i16::MAX - 1; 9], Condition::Fine);
    }
}
