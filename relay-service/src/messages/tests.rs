use std::future::poll_fn;

use super::*;

/// The bytes that a client gets for these messages; an empty one is a probe.
async fn body(messages: &[&'static str]) -> String {
    let (sender, mut written) = Messages::new();
    for message in messages {
        sender.0.try_send(Bytes::from_static(message.as_bytes())).unwrap();
    }
    drop(sender);
    let mut all = Vec::new();
    while let Some(bytes) = poll_fn(|context| written.poll(context)).await {
        all.extend_from_slice(&bytes);
    }
    String::from_utf8(all).unwrap()
}

#[tokio::test]
async fn probes_are_bytes_of_the_message_that_follows() {
    let came = "[INFO] A receiver was connected.\n";
    let starts = "[INFO] Start sending to 2 receiver(s)!\n";
    for probes in [0, 1, 7, 31, 32, 33, 100] {
        let some = vec![""; probes];
        let messages = [&some[..], &[came], &some, &[came, starts]].concat();
        assert_eq!(body(&messages).await, [came, came, starts].concat(), "{probes}");
    }
    let alone = body(&[""; 100]).await;
    assert_eq!(alone, came.trim_end(), "the message is not whole before somebody came");
}

#[tokio::test]
async fn an_error_after_probes_has_a_line_of_its_own() {
    let error = "[ERROR] Too late.\n";
    assert_eq!(body(&["", error]).await, error);
    assert_eq!(body(&["", "", error]).await, "[I\n[ERROR] Too late.\n");
}
