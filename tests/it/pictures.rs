//! Large pictures: many of them at once cost no more memory than one.

use crate::process::Process;
use crate::support::{BODY, CHANNEL, Client, Home, KIND};
use serde_json::{Value, json};
use std::iter::once;

/// 49 megapixels of 16 bits, four colours each: 392 MB when they are decoded.
const SIDE: u32 = 7_000;
const UPLOADS: usize = 12;
/// What the gateway itself takes, what waits in it, and what all decoders may take together.
const MOST_KIB: u64 = 850 * 1024;

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_large_pictures_at_once_take_the_memory_of_one() {
    let home = Home::new();
    let process = Process::start(&home, "");
    let bytes = blank_png(SIDE);
    assert!(bytes.len() < 4 * 1024 * 1024, "{}", bytes.len());
    let body = base64_simd::STANDARD.encode_to_string(&bytes);
    let uploads: Vec<_> = (0..UPLOADS)
        .map(|number| {
            let (body, addr) = (body.clone(), process.addr);
            tokio::spawn(async move {
                let mut input = Client::open(addr, "input", None).await;
                let mut pane = Client::open(addr, "1", Some(input.session())).await;
                let name = format!("{number}.png");
                let packet =
                    json!({CHANNEL: "1", KIND: "input_file", BODY: body, "ファイル名": name});
                input.send(&packet).await;
                // Heartbeats come meanwhile: a busy machine may take long for this.
                loop {
                    let packet = pane.next_of_any_kind().await;
                    if packet[KIND] == "input_file" {
                        break packet;
                    }
                }
            })
        })
        .collect();
    let mut with_thumbnail = 0;
    for upload in uploads {
        let told: Value = upload.await.unwrap();
        assert!(told["ファイル名"].as_str().is_some_and(|name| name.ends_with(".png")), "{told}");
        with_thumbnail += usize::from(told["サムネイル画像"].is_string());
    }
    let most = process.memory("VmHWM");
    assert!(most < MOST_KIB, "{most} KiB, {with_thumbnail} thumbnails");
    assert!(with_thumbnail > 0, "one at a time is decoded");
}

/// A PNG of nothing but zeros, made without the memory that its pixels would take.
fn blank_png(side: u32) -> Vec<u8> {
    let header = [&side.to_be_bytes()[..], &side.to_be_bytes(), &[16, 6, 0, 0, 0]].concat();
    // Each line begins with the number of its filter.
    let zeros = u64::from(side) * (1 + 8 * u64::from(side));
    let mut png = b"\x89PNG\r\n\x1a\n".to_vec();
    for (kind, data) in [(b"IHDR", header), (b"IDAT", zlib_zeros(zeros)), (b"IEND", Vec::new())] {
        let body = [&kind[..], &data].concat();
        png.extend(u32::try_from(data.len()).unwrap().to_be_bytes());
        png.extend(&body);
        png.extend(crc(&body).to_be_bytes());
    }
    png
}

/// Fixed codes: one zero, and then "the last byte again, 258 times" as often as it fits.
fn zlib_zeros(count: u64) -> Vec<u8> {
    const ZERO: (u32, u32) = (0b0000_1100, 8);
    const AGAIN: (u32, u32) = (0b1010_0011, 8 + 5);
    const END: (u32, u32) = (0, 7);
    let (again, rest) = ((count - 1) / 258, (count - 1) % 258);
    let times = |code, count: u64| std::iter::repeat_n(code, usize::try_from(count).unwrap());
    // The last block, with fixed codes.
    let codes =
        once((0b011, 3)).chain(once(ZERO)).chain(times(AGAIN, again)).chain(times(ZERO, rest));
    let mut stream = vec![0x78, 0x9c];
    let (mut bits, mut filled) = (0_u64, 0);
    for (code, length) in codes.chain(once(END)).chain(once((0, 7))) {
        bits |= u64::from(code) << filled;
        filled += length;
        while filled >= 8 {
            stream.push(u8::try_from(bits & 0xff).unwrap());
            bits >>= 8;
            filled -= 8;
        }
    }
    let sum = u32::try_from(count % 65_521).unwrap() << 16 | 1;
    stream.extend(sum.to_be_bytes());
    stream
}

fn crc(bytes: &[u8]) -> u32 {
    !bytes.iter().fold(u32::MAX, |crc, byte| {
        (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
            (crc >> 1) ^ (0xedb8_8320 & (crc & 1).wrapping_neg())
        })
    })
}

#[test]
fn the_test_picture_can_be_decoded() {
    let png = blank_png(40);
    let decoded = image::load_from_memory(&png).unwrap();
    assert_eq!((decoded.width(), decoded.height()), (40, 40));
    assert_eq!(decoded.color(), image::ColorType::Rgba16);
}
