//! The service from its parts.

use std::future::Future;
use std::sync::Arc;

use service_kit::{Admin, Listeners};

use crate::app::{self, App};
use crate::config::Config;

/// Serves until `shutdown` resolves, and drains.
pub async fn run(config: Config, listeners: Listeners, shutdown: impl Future<Output = ()>) {
    let app = App::new(config.engine, config.max_in_flight, config.access_log);
    let (text, protobuf) = (Arc::clone(&app), Arc::clone(&app));
    let admin = Admin::new(move || text.metrics.encode())
        .with_protobuf(move || protobuf.metrics.encode_protobuf());
    let routes = app::router(app);
    service_kit::serve(listeners, &config.serving, routes, admin, shutdown, async {}).await;
}
