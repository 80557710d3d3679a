//! Reads the configuration, binds, serves, and maps the outcome to an exit code.

use std::process::ExitCode;

use anstream::eprintln;
use anyhow::Context;
use service_kit::{Admin, Binding, Listeners, Serving, arguments, shutdown_signal, telemetry};

use crate::app::App;
use crate::config::{Arguments, Config};
use crate::routes;

/// Runs the service until a signal ends it; returns the exit code.
pub fn run() -> ExitCode {
    let config = match arguments::parse::<Arguments>().check() {
        Ok(config) => config,
        Err(error) => {
            eprintln!("qr-service: {error}");
            return ExitCode::from(arguments::USAGE);
        }
    };
    let runtime = config.threads.runtime().context("cannot start the runtime");
    match runtime.and_then(|runtime| runtime.block_on(bind_and_serve(config))) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("qr-service: {error:#}");
            ExitCode::FAILURE
        }
    }
}

async fn bind_and_serve(config: Config) -> anyhow::Result<()> {
    let public =
        Binding { addresses: &config.addr, variable: "QR_ADDR", takes_over: config.takes_over };
    let admin = (config.admin_addr, "QR_ADMIN_ADDR");
    let listeners = Listeners::bind_for(config.threads, public, admin).await?;
    let _logging = telemetry::init("qr-service", config.log_level)?;
    let (addr, admin_addr) = (listeners.addr()?, listeners.admin_addr()?);
    let shutdown = shutdown_signal()?;
    tracing::info!(%addr, %admin_addr, engine = %config.engine, "listening");

    let app = App::new(config.engine, config.access_log, &config.serving.connections);
    let admin = Admin::new(|| app.metrics.encode()).with_protobuf(|| app.metrics.encode_protobuf());
    #[cfg(not(feature = "api"))]
    let (routes, has_host) = (routes::router(app), false);
    #[cfg(feature = "api")]
    let (routes, has_host) = {
        let api = qr_api::start(&config.api).context("cannot start the API's threads")?;
        let has_host = api.host.is_some();
        (routes::router_with(app, api), has_host)
    };
    let shortcut = routes::shortcut(app, has_host);
    let serving = Serving { shortcut, ..config.serving };
    service_kit::serve(listeners, &serving, routes, admin, shutdown, async {}).await
}
