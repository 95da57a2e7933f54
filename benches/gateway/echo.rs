//! The yardstick: axum, a WebSocket with the gateway's buffer sizes, and every text sent back as it came.

use axum::Router;
use axum::extract::ws::{Message, WebSocketUpgrade};
use axum::routing::any;

pub(crate) fn serve() {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("listening on http://{}/", listener.local_addr().unwrap());
        let app = Router::new().route("/{*path}", any(upgrade));
        let listener = axum::serve::ListenerExt::tap_io(listener, |stream| {
            let _ = stream.set_nodelay(true);
        });
        axum::serve(listener, app).await.unwrap();
    });
}

async fn upgrade(upgrade: WebSocketUpgrade) -> axum::response::Response {
    upgrade.read_buffer_size(8 * 1024).write_buffer_size(16 * 1024).on_upgrade(
        async |mut socket| {
            while let Some(Ok(message)) = socket.recv().await {
                if matches!(message, Message::Text(_)) && socket.send(message).await.is_err() {
                    return;
                }
            }
        },
    )
}
