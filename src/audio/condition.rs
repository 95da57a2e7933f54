//! What can be wrong with a piece of PCM16 by itself: there is nothing in it, or more than fits.

/// Nobody hears this: 60 dB below what fits.
const SILENCE: u16 = 32;
/// A voice may touch the limit; cut off is what stays there.
const STAYS: usize = 3;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Condition {
    Fine,
    Silent,
    /// The microphone is too loud: its peaks are cut off.
    Clipped,
}

/// One pass without a branch over the samples; only what reaches the limit is looked at again, and that seldom to its
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

/// Silence is within it. Lowest and highest are each one instruction for many samples on every machine, the distance
/// from zero is not.
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
