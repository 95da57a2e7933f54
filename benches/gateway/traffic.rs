//! Audio packets through both servers, as fast as they go.

use crate::client::frame;
use crate::report::{Of, Report, Row, Target, median, ratio};
use crate::server::{Home, Server};
use crate::side::Side;
use crate::{Plan, wire};
use std::sync::Arc;

/// Sessions that talk at the same time, and packets of each that are on their way.
const SESSIONS: usize = 50;
const WINDOW: usize = 4;

pub(crate) async fn flat_out(plan: &Plan, report: &mut Report) {
    compare(plan, report, &wire::quiet_audio(), false).await;
    compare(plan, report, &wire::plain_audio(), true).await;
}

/// `plain`: as existing clients send it, which comes back at another rate and with half as many bytes more.
async fn compare(plan: &Plan, report: &mut Report, text: &str, plain: bool) {
    let home = Home::new();
    let mut echo = Side::new(Server::echo(), SESSIONS).await;
    let mut gateway = Side::new(Server::gateway(&home), SESSIONS).await;
    let packet: Arc<[u8]> = frame(text).into();
    let each = plan.packets / SESSIONS;
    let (mut raw, mut ours) = (Vec::new(), Vec::new());
    // The first round opens the models and fills the caches.
    for round in 0..=plan.rounds {
        let (theirs, own) = (
            echo.flat_out(&packet, each, WINDOW).await,
            gateway.flat_out(&packet, each, WINDOW).await,
        );
        if round > 0 {
            raw.push(theirs);
            ours.push(own);
        }
    }
    let ((raw_cpu, raw_speed), (cpu, speed)): ((Vec<_>, Vec<_>), (Vec<_>, Vec<_>)) =
        (raw.into_iter().unzip(), ours.into_iter().unzip());
    let rate = if plain { 16 } else { 24 };
    let how = format!(
        "{} bytes of text with {} bytes of PCM at {rate} kHz, {SESSIONS} sessions flat out, {WINDOW} packets of each on their way, median of {} rounds of {}",
        text.len(),
        wire::PCM_BYTES,
        plan.rounds,
        plan.packets
    );
    report.add(&Row {
        what: if plain {
            "CPU per 16 kHz audio packet"
        } else {
            "CPU per audio packet, in and out"
        },
        unit: "us",
        gateway: median(cpu.clone()),
        against: Some(("echo", median(raw_cpu.clone()))),
        result: Of::Ratio(ratio(&cpu, &raw_cpu)),
        targets: if plain {
            vec![Target::AtMost(2.0)]
        } else {
            vec![Target::AtMost(1.6), Target::AtMost(1.3)]
        },
        how: how.clone(),
    });
    if plain {
        return;
    }
    report.add(&Row {
        what: "packets per second flat out",
        unit: "/s",
        gateway: median(speed.clone()),
        against: Some(("echo", median(raw_speed.clone()))),
        result: Of::Ratio(ratio(&speed, &raw_speed)),
        targets: vec![Target::AtLeast(0.6), Target::AtLeast(0.75)],
        how: format!("packets that went in and came back, of all sessions together; {how}"),
    });
}
