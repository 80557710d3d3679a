//! The program: settings, listeners and routes.

use std::net::{SocketAddr, ToSocketAddrs};
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::Context;
use axum::Router;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use clap::Parser;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use rustix::system::uname;
use service_kit::arguments::{self, Usage, check_listeners};
use service_kit::metrics::{ProcessCollector, encode};
use service_kit::{Admin, Listener, Serving, serve, shutdown_signal, telemetry};
use tokio::runtime::Builder;
use tokio::sync::watch;

use super::ask::{AdminListener, given};
use super::homes::{Answers, Homes, Side};
use super::share::{self, InForce};
use super::stranded::{self, Counters};
use crate::target;

/// Tells nginx which side a key of the relay belongs to.
#[derive(Parser, Clone, Debug)]
#[command(name = "relay-home", version)]
struct Arguments {
    /// Address that nginx asks
    #[arg(long, env = "HOME_ADDR", default_value = "127.0.0.1:42092", value_name = "IP:PORT")]
    addr: SocketAddr,

    /// Address of the admin listener: health and metrics
    #[arg(long, env = "HOME_ADMIN_ADDR", default_value = "127.0.0.1:42093")]
    #[arg(value_name = "IP:PORT")]
    admin_addr: SocketAddr,

    /// File whose first line is the new side's share in percent; relay-home reads it ten times a second
    #[arg(long, env = "HOME_SHARE_FILE", value_name = "FILE")]
    share_file: PathBuf,

    /// Admin listener of the old side, which tells whether it holds a key
    #[arg(long, env = "HOME_OLD_ADMIN_ADDR", default_value = "127.0.0.1:3001")]
    #[arg(value_name = "HOST:PORT", value_parser = resolved)]
    old_admin_addr: SocketAddr,

    /// Admin listener of the new side, which tells whether it holds a key
    #[arg(long, env = "HOME_NEW_ADMIN_ADDR", default_value = "127.0.0.1:42091")]
    #[arg(value_name = "HOST:PORT", value_parser = resolved)]
    new_admin_addr: SocketAddr,

    /// Admin listeners of the other homes, separated by commas, which tell the sides that they gave. An entry with this
    /// machine's host name and admin port is skipped
    #[arg(long, env = "HOME_OTHERS", value_name = "HOST:PORT,...", value_delimiter = ',')]
    #[arg(value_parser = other)]
    others: Vec<Other>,

    /// How long to go on answering after a signal, until nginx no longer asks here
    #[arg(long, env = "HOME_SHUTDOWN_DELAY", default_value = "0s", value_name = "TIME")]
    #[arg(value_parser = arguments::time)]
    shutdown_delay: Duration,
}

/// How long the other homes can still ask once nginx no longer can; at most the shutdown delay.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// Resolves a name once, as nginx does for its servers: a Kubernetes Service keeps its address.
fn resolved(text: &str) -> Result<SocketAddr, String> {
    let mut found = text.to_socket_addrs().map_err(|error| error.to_string())?;
    found.next().ok_or_else(|| "the name has no address".to_owned())
}

/// The admin listener of a home.
#[derive(Clone, Debug)]
struct Other {
    name: String,
    addr: SocketAddr,
}

fn other(text: &str) -> Result<Other, String> {
    Ok(Other { name: text.to_owned(), addr: resolved(text)? })
}

/// Returns the addresses of `all` but this home's own: all pods of a StatefulSet have the same list.
fn without_own(all: Vec<Other>, admin: SocketAddr) -> Vec<SocketAddr> {
    let own = format!("{}:{}", uname().nodename().to_string_lossy(), admin.port());
    all.into_iter().filter(|other| other.name != own).map(|other| other.addr).collect()
}

/// The state that all requests share.
struct Home {
    homes: Mutex<Homes>,
    in_force: watch::Receiver<InForce>,
    old: AdminListener,
    new: AdminListener,
    others: Vec<SocketAddr>,
    asked: Counter,
    leases: Gauge,
}

/// Runs the program until a signal ends it; returns the exit code.
pub fn run() -> ExitCode {
    let outcome = start(arguments::parse()).map(|()| ExitCode::SUCCESS);
    arguments::exit_code("relay-home", outcome, 1)
}

fn start(arguments: Arguments) -> anyhow::Result<()> {
    check_listeners("HOME_", &[arguments.addr.into()], arguments.admin_addr).map_err(Usage)?;
    let in_force = share::read(&arguments.share_file)
        .map_err(|error| Usage(format!("--share-file (HOME_SHARE_FILE): {error:#}")))?;
    let runtime = Builder::new_current_thread().enable_all().build();
    runtime.context("cannot start the runtime")?.block_on(bind_and_serve(arguments, in_force))
}

async fn bind_and_serve(arguments: Arguments, in_force: InForce) -> anyhow::Result<()> {
    let admin_listener = Listener::bind(arguments.admin_addr, "HOME_ADMIN_ADDR")?;
    let public = Listener::bind(arguments.addr, "HOME_ADDR")?;
    let _logging = telemetry::init("relay-home", tracing::Level::INFO)?;
    let shutdown = shutdown_signal()?;
    tracing::info!(addr = %public.addr, admin_addr = %admin_listener.addr, "listening");

    let (moves, in_force) = watch::channel(in_force);
    tokio::spawn(share::follow(arguments.share_file, moves));
    let mut registry = Registry::default();
    let (asked, leases) = (Counter::default(), Gauge::default());
    registry.register("home_requests", "Keys that nginx has asked for", asked.clone());
    registry.register("home_leases", "Keys that were asked for a moment ago", leases.clone());
    let stranded = Counters::default();
    stranded.register(&mut registry);
    tokio::spawn(stranded::watch(arguments.old_admin_addr, arguments.new_admin_addr, stranded));
    registry.register_collector(Box::new(ProcessCollector));
    let home = Arc::new(Home {
        homes: Mutex::default(),
        in_force: in_force.clone(),
        old: AdminListener::new(arguments.old_admin_addr),
        new: AdminListener::new(arguments.new_admin_addr),
        others: without_own(arguments.others, arguments.admin_addr),
        asked,
        leases,
    });
    tokio::spawn(forget_old(Arc::clone(&home)));
    let serving = Serving { shutdown_delay: arguments.shutdown_delay, ..Serving::near(4096) };
    let routes = Router::new().fallback(tell).with_state(Arc::clone(&home));
    let shown = async move || in_force.borrow().text.clone();
    let admin = Admin::new(move || encode(&registry))
        // `ramp` asks which version of the share file is in force.
        .with(Router::new().route("/share", get(shown)))
        // Another home asks which side this one gave.
        .with(Router::new().route("/given", get(tell_given)).with_state(home));
    // Until the keys given last have reached their sides, the other homes must be able to ask.
    let last = arguments.shutdown_delay.min(LAST_WORDS);
    let last_words = async move { tokio::time::sleep(last).await };
    serve((vec![public], admin_listener), &serving, routes, admin, shutdown, last_words).await;
    Ok(())
}

/// Answers 200 with `old` or `new`, the side given for the key in `X-Key` a moment ago, or 404 if there is none.
async fn tell_given(State(home): State<Arc<Home>>, headers: HeaderMap) -> Response {
    let key = headers.get("x-key").and_then(|key| key.to_str().ok()).unwrap_or_default();
    match home.homes().given(key, Instant::now()) {
        Some(side) => <&str>::from(side).into_response(),
        None => StatusCode::NOT_FOUND.into_response(),
    }
}

/// Answers 204 with the side in `X-Home`. `X-Key` has the request's URI, `X-Route-Arm` the client's choice of a side;
/// `X-Route-Stopped` means that the route is stopped.
async fn tell(State(home): State<Arc<Home>>, headers: HeaderMap) -> Response {
    home.asked.inc();
    let uri = headers.get("x-key").and_then(|uri| uri.to_str().ok()).unwrap_or_default();
    let path = uri.split(['?', '#']).next().unwrap_or_default();
    // Either side refuses a path without a key.
    let side = match target::key(path) {
        Some(key) if headers.contains_key("x-route-stopped") => home.side_while_stopped(&key).await,
        // Either side refuses it, so it needs no lease.
        Some(key) if key.len() > target::MAX_KEY_BYTES => home.in_force.borrow().share.side(&key),
        Some(key) => home.side(&key, choice(&headers)).await,
        None => Side::Old,
    };
    (StatusCode::NO_CONTENT, [("x-home", <&str>::from(side))]).into_response()
}

fn choice(headers: &HeaderMap) -> Option<Side> {
    headers.get("x-route-arm")?.to_str().ok()?.parse().ok()
}

impl Home {
    async fn side(&self, key: &str, choice: Option<Side>) -> Side {
        if let Some(side) = self.homes().leased(key, Instant::now()) {
            return side;
        }
        let (old, new) = tokio::join!(self.old.ask(key), self.new.ask(key));
        // Asked last: while a side that goes away is slow to answer, another home may decide.
        let given = given(&self.others, key).await;
        let share = self.in_force.borrow().share;
        self.homes().give(key, Answers { old, new, given }, (choice, share), Instant::now())
    }

    /// While the route is stopped, a key that waits on the new side, or is on its way there, still meets its other
    /// half. Every other key goes to the old side, whatever the share, the client or the old side says.
    async fn side_while_stopped(&self, key: &str) -> Side {
        let leased = self.homes().given(key, Instant::now());
        if let Some(side) = leased {
            return side;
        }
        if self.new.holds_while_stopped(key).await {
            return Side::New;
        }
        given(&self.others, key).await.unwrap_or(Side::Old)
    }

    fn homes(&self) -> std::sync::MutexGuard<'_, Homes> {
        self.homes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

async fn forget_old(home: Arc<Home>) {
    loop {
        tokio::time::sleep(Duration::from_secs(1)).await;
        let left = home.homes().forget_old(Instant::now());
        home.leases.set(left as i64);
    }
}

#[cfg(test)]
mod tests;
