//! What a conversation holds while it waits.

use super::*;
use crate::provider::live::remote::connection::availability::Proof;
use crate::provider::live::remote::tests::remote;

#[tokio::test(start_paused = true)]
async fn pictures_that_wait_behind_another_are_bounded_by_what_they_weigh() {
    let (outputs, _output) = mpsc::channel(4);
    let mut conversation = Conversation::new(remote(), Speaker::default(), outputs, &[]).unwrap();
    let picture = || LiveInput::Image(Bytes::from(vec![0; MOST_BEHIND / 2]));
    for number in 0..3 {
        assert!(conversation.has_room(), "{number}");
        conversation.on_input(picture(), Instant::now());
    }
    assert!(!conversation.has_room());
}

#[tokio::test(start_paused = true)]
async fn a_model_that_rests_for_long_is_not_said_to_work_soon() {
    let remote = remote();
    let (outputs, _output) = mpsc::channel(4);
    let mut permit = remote.client.availability.permit("first").unwrap();
    permit.report_outage(Duration::from_secs(600), Proof::Ready);
    let refused = Conversation::new(remote, Speaker::default(), outputs, &[]);
    assert!(refused.unwrap_err().contains("in 10 minutes"));
}
