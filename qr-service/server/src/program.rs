//! Reads the configuration, binds, serves, and maps the outcome to an exit code.

use std::process::ExitCode;

use anyhow::Context;
use service_kit::{Admin, Listener, Serving, arguments, shutdown_signal, telemetry};
use tokio::runtime::Builder;

use crate::app::App;
use crate::config::Arguments;
use crate::routes;

/// Runs the service until a signal ends it; returns the exit code.
pub fn run() -> ExitCode {
    let outcome = start(arguments::parse()).map(|()| ExitCode::SUCCESS);
    arguments::exit_code("qr-service", outcome, 1)
}

fn start(arguments: Arguments) -> anyhow::Result<()> {
    let serving = arguments.serving()?;
    let threads = arguments::threads(arguments.worker_threads.into());
    let runtime = Builder::new_multi_thread().worker_threads(threads).enable_all().build();
    runtime.context("cannot start the runtime")?.block_on(bind_and_serve(arguments, serving))
}

async fn bind_and_serve(config: Arguments, serving: Serving) -> anyhow::Result<()> {
    let admin_listener = Listener::bind(config.admin_addr, "QR_ADMIN_ADDR")?;
    let public = config.addr.into_iter().map(|addr| Listener::bind(addr, "QR_ADDR"));
    let public = public.collect::<Result<Vec<_>, _>>()?;
    let _logging = telemetry::init("qr-service", config.log_level)?;
    let shutdown = shutdown_signal()?;
    let addr = public.iter().map(|it| it.addr.to_string()).collect::<Vec<_>>().join(",");
    let admin_addr = &admin_listener.addr;
    tracing::info!(%addr, %admin_addr, engine = %config.engine, "listening");

    let app = App::new(config.engine, config.access_log, &serving.connections);
    let admin = Admin::new(|| app.metrics.encode());
    #[cfg(not(feature = "api"))]
    let routes = routes::router(app);
    #[cfg(feature = "api")]
    let routes = {
        let api =
            crate::v1::start(&config.api.settings()).context("cannot start the API's threads")?;
        routes::router(app, api)
    };
    let listeners = (public, admin_listener);
    service_kit::serve(listeners, &serving, routes, admin, shutdown, async {}).await;
    Ok(())
}
