//! The two files under a clock that waits for nobody.

use super::*;
use crate::talk::playout::Generation;
use tempfile::TempDir;

const SECOND: Duration = Duration::from_secs(1);

struct Bench {
    dir: TempDir,
    speaker: Arc<Speaker>,
}

impl Bench {
    fn new() -> Self {
        Self { dir: tempfile::tempdir().unwrap(), speaker: Arc::default() }
    }

    fn files(&self, tail: Duration) -> Files {
        Files {
            input: self.dir.path().join("in.wav"),
            output: self.dir.path().join("out.wav"),
            tail,
        }
    }

    fn record(&self, spec: WavSpec, samples: impl IntoIterator<Item = i32>) {
        let mut file = WavWriter::create(self.dir.path().join("in.wav"), spec).unwrap();
        samples.into_iter().for_each(|sample| file.write_sample(sample).unwrap());
        file.finalize().unwrap();
    }

    fn heard(&self) -> Vec<i16> {
        let file = WavReader::open(self.dir.path().join("out.wav")).unwrap();
        assert_eq!(file.spec(), OUTPUT);
        file.into_samples().map(Result::unwrap).collect()
    }
}

async fn everything(device: &mut Device) -> Vec<Captured> {
    device.begin.take().unwrap().send(()).unwrap();
    let mut found = Vec::new();
    while let Some(captured) = device.captured.recv().await {
        found.push(captured);
    }
    found
}

fn samples(captured: &[Captured]) -> Vec<i16> {
    let pieces = captured.iter().filter_map(|captured| match captured {
        Captured::Sound(pcm) => Some(pcm),
        Captured::Begun | Captured::Lost(_) | Captured::Over => None,
    });
    pieces.flat_map(|pcm| pcm.as_chunks::<2>().0).map(|pair| i16::from_le_bytes(*pair)).collect()
}

#[tokio::test(start_paused = true)]
async fn the_microphone_is_the_file_in_real_time_and_then_silence() {
    let bench = Bench::new();
    bench.record(OUTPUT, 1..=24_000);
    let mut device = open(&bench.files(SECOND), Arc::clone(&bench.speaker)).unwrap();
    let began = tokio::time::Instant::now();
    let captured = everything(&mut device).await;
    device.ended.await.unwrap().unwrap();
    let took = began.elapsed();
    // The first step is taken at once.
    assert!((2 * SECOND - STEP..2 * SECOND + 5 * STEP).contains(&took), "{took:?}");
    let heard = samples(&captured);
    let expected: Vec<i16> = (1..=24_000).collect();
    assert_eq!(heard[..24_000], expected);
    assert!(heard[24_000..].iter().all(|sample| *sample == 0));
    assert_eq!(captured.iter().filter(|captured| **captured == Captured::Over).count(), 1);
    // Nothing was said, and that was written down.
    assert!(bench.heard().iter().all(|sample| *sample == 0));
    assert!(bench.heard().len() >= 48_000);
}

#[tokio::test(start_paused = true)]
async fn the_other_file_is_what_the_speaker_played_and_it_is_waited_for() {
    let bench = Bench::new();
    bench.record(OUTPUT, [0; 2_400]);
    let mut device = open(&bench.files(SECOND), Arc::clone(&bench.speaker)).unwrap();
    let loud: Bytes = std::iter::repeat_n(5_000_i16.to_le_bytes(), 48_000).flatten().collect();
    let generation = Generation { life: 0, number: 1 };
    bench.speaker.with(|playout| playout.push(generation, loud));
    everything(&mut device).await;
    device.ended.await.unwrap().unwrap();
    let heard = bench.heard();
    assert_eq!(heard.iter().filter(|sample| **sample == 5_000).count(), 48_000 - 192);
    assert!(heard.len() > 48_000 + 24_000, "the tail begins after the last sound");
    assert_eq!(bench.speaker.with(|playout| playout.progress().unwrap().played), 48_000);
}

#[tokio::test(start_paused = true)]
async fn every_usual_form_becomes_mono_of_16_bits() {
    for (channels, bits, format, rate) in [
        (2, 16, SampleFormat::Int, 24_000),
        (1, 24, SampleFormat::Int, 48_000),
        (1, 8, SampleFormat::Int, 16_000),
        (2, 32, SampleFormat::Int, 44_100),
    ] {
        let bench = Bench::new();
        let spec =
            WavSpec { channels, sample_rate: rate, bits_per_sample: bits, sample_format: format };
        let level = 1_i32 << (bits - 3);
        bench.record(spec, std::iter::repeat_n(level, (rate * u32::from(channels)) as usize));
        let mut device = open(&bench.files(SECOND / 10), Arc::clone(&bench.speaker)).unwrap();
        let heard = samples(&everything(&mut device).await);
        // The edges belong to the filter.
        assert!(heard[2_000..22_000].iter().all(|sample| (sample - 8_192).abs() < 40), "{spec:?}");
        assert_eq!(heard.iter().filter(|sample| **sample > 4_096).count(), 24_000, "{spec:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stop_ends_it_with_a_readable_file() {
    let bench = Bench::new();
    bench.record(OUTPUT, std::iter::repeat_n(1, 240_000));
    let mut device = open(&bench.files(SECOND), Arc::clone(&bench.speaker)).unwrap();
    device.begin.take().unwrap().send(()).unwrap();
    tokio::time::sleep(SECOND).await;
    device.stop.cancel();
    device.ended.await.unwrap().unwrap();
    let heard = bench.heard().len();
    assert!((24_000..=24_240).contains(&heard), "{heard}");
}

#[tokio::test]
async fn files_that_cannot_be_used_are_named() {
    let bench = Bench::new();
    let told = open(&bench.files(SECOND), Arc::default()).unwrap_err();
    assert!(told.to_string().contains("in.wav"), "{told}");
    assert_eq!(told.exit_code(), 2);
    bench.record(WavSpec { sample_rate: 96_000, ..OUTPUT }, [0; 10]);
    let told = open(&bench.files(SECOND), Arc::default()).unwrap_err().to_string();
    assert!(told.contains("96000 Hz is not supported"), "{told}");
    bench.record(OUTPUT, [0; 10]);
    let files = Files { output: "/nonexistent/out.wav".into(), ..bench.files(SECOND) };
    let told = open(&files, Arc::default()).unwrap_err().to_string();
    assert!(told.contains("/nonexistent/out.wav"), "{told}");
}
