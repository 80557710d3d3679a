//! `carve render`, `check` and `schema`, which read, check and describe route files.

use std::fs;
use std::path::{Path, PathBuf};

use anstream::println;
use anyhow::{Context, ensure};
use clap::Args;
use route::render::{self, Upstreams};
use route::{BaseUrl, CarveFile, Network, Route, RouteFile, SideUrl, schema};
use serde_json::{Value, json};

use crate::place::Place;

#[derive(Args, Debug)]
#[command(
    after_help = "Examples:\n  carve check proxy/routes\n  carve check /etc/routes --gateway"
)]
pub(crate) struct Check {
    /// The folder of route files (NAME.toml)
    #[arg(default_value = "proxy/routes", value_name = "FOLDER")]
    routes: PathBuf,
    /// Print the routes as JSON
    #[arg(long)]
    json: bool,
    /// Ask the cluster, too, whether its gateways can move the traffic of each route with a [gateway]
    #[arg(long)]
    gateway: bool,
    #[command(flatten)]
    place: Place,
}

impl Check {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let (_, routes) = route::load(&self.routes)?;
        let cluster = if self.gateway { Some(self.place.cluster()?) } else { None };
        let warnings = |route: &Route| {
            let mut warnings = route.warnings();
            if let (Some(cluster), Some(_)) = (&cluster, &route.file.gateway) {
                let lacks = cluster.lacks(&self.routes, &route.name);
                warnings.extend(lacks.with_context(|| route.name.clone())?);
            }
            anyhow::Ok(warnings)
        };
        if self.json {
            let said = |route: &Route| {
                let mut said = json!({ "route": route.name, "path": route.file.path.to_string() });
                if !route.file.hosts.is_empty() {
                    said["hosts"] = json!(route.file.hosts);
                }
                let warnings = warnings(route)?;
                if !warnings.is_empty() {
                    said["warnings"] = warnings.into();
                }
                anyhow::Ok(said)
            };
            let all = routes.iter().map(said).collect::<anyhow::Result<Vec<Value>>>()?;
            println!("{}", Value::from(all));
            return Ok(());
        }
        for route in routes {
            println!("{:<20} {}", route.name, route.where_it_is());
            for warning in warnings(&route)? {
                println!("  warning: {warning}");
            }
        }
        Ok(())
    }
}

#[derive(Args, Debug)]
#[command(after_help = "Example:\n  carve schema route.schema.json")]
pub(crate) struct Schema {
    /// The file to write: the schema of carve.toml if the name is carve.schema.json, else the schema of route files
    file: PathBuf,
    /// Write nothing; fail if the file would change
    #[arg(long)]
    check: bool,
}

impl Schema {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let is_of_carve = self.file.file_name().is_some_and(|name| name == "carve.schema.json");
        let schema = if is_of_carve { schema::<CarveFile>() } else { schema::<RouteFile>() };
        place(&self.file, &schema?, self.check)
    }
}

#[derive(Args, Debug)]
#[command(
    after_help = "Example:\n  carve render --routes routes --to nginx --old http://old:80 --new http://new:80"
)]
pub(crate) struct Render {
    /// The folder of route files (NAME.toml)
    #[arg(long, default_value = "proxy/routes", value_name = "FOLDER")]
    routes: PathBuf,
    /// The folder to write to
    #[arg(long, value_name = "FOLDER")]
    to: PathBuf,
    /// Write only these files. NAME.toml is the route file itself, with the addresses of --address
    #[arg(long, value_name = "FILE,FILE...", value_delimiter = ',')]
    only: Vec<String>,
    /// Replace an address in the route files; may be given several times
    #[arg(long, value_name = "HOST:PORT=HOST:PORT", value_parser = replacement)]
    address: Vec<(String, String)>,
    /// Write nothing; fail if a file would change
    #[arg(long)]
    check: bool,
    /// The app: the old side of the routes, and the server of every other path
    #[arg(long, default_value = "http://127.0.0.1:3000", value_name = "URL")]
    old: SideUrl,
    /// The new side of the routes
    #[arg(long, default_value = "http://127.0.0.1:42069", value_name = "URL")]
    new: SideUrl,
    /// The shadow
    #[arg(long, default_value = "http://127.0.0.1:42080", value_name = "URL")]
    shadow: BaseUrl,
    /// Prometheus
    #[arg(long, default_value = "http://127.0.0.1:9090", value_name = "URL")]
    prometheus: BaseUrl,
    /// A side's URL whose name nginx resolves again while it runs, so that each pod of a headless Service is a
    /// server of its own; may be given several times. Needs nginx 1.27.3
    #[arg(long = "resolve", value_name = "URL")]
    resolved: Vec<BaseUrl>,
    /// Load balancers in front of nginx, as addresses or networks, instead of those in carve.toml
    #[arg(long, value_name = "NETWORK,...", value_delimiter = ',')]
    trusted_proxies: Vec<Network>,
}

impl Render {
    pub(crate) fn run(self) -> anyhow::Result<()> {
        let (mut carve, mut routes) = route::load(&self.routes)?;
        if !self.trusted_proxies.is_empty() {
            carve.front.trusted_proxies = self.trusted_proxies;
        }
        for (here, there) in &self.address {
            ensure!(
                routes.iter().any(|route| route.text.contains(here)),
                "--address {here}: no route file contains this address"
            );
            for route in &mut routes {
                *route = Route::parse(&route.name, &route.text.replace(here, there))?;
            }
        }
        route::settle(&carve, &mut routes)?;
        let Render { old, new, shadow, prometheus, resolved, to, only, check, .. } = self;
        for url in &resolved {
            let is_it = |side: &SideUrl| side.tcp() == Some(url);
            let of_hosts = carve.hosts.iter().map(|host| &host.app);
            let of_routes = routes.iter().filter(|route| !route.is_session());
            let of_routes = of_routes.flat_map(|it| [&it.file.old.url, &it.file.new.url]).flatten();
            let mut sides = [&old, &new].into_iter().chain(of_hosts).chain(of_routes);
            ensure!(sides.any(is_it), "--resolve {url}: no side has this URL");
        }
        let files = render::all(
            &carve,
            &routes,
            &Upstreams { old, new, shadow, prometheus, resolved, addresses: Default::default() },
        );
        let mut files: Vec<_> =
            files.into_iter().map(|(name, text)| (name.to_owned(), text)).collect();
        if !only.is_empty() {
            files.retain(|(name, _)| only.iter().any(|only| only == name));
            files.extend(routes.iter().filter_map(|route| {
                let name = format!("{}.toml", route.name);
                only.contains(&name).then(|| (name, render::route_file(route)))
            }));
            ensure!(
                files.len() == only.len(),
                "--only {}: render writes no such file",
                only.join(",")
            );
        }
        files.iter().try_for_each(|(name, text)| place(&to.join(name), text, check))
    }
}

/// Parses `FROM=TO` into the address to replace and its replacement.
fn replacement(text: &str) -> Result<(String, String), String> {
    let (here, there) = text.split_once('=').ok_or("it must have the form HOST:PORT=HOST:PORT")?;
    Ok((here.to_owned(), there.to_owned()))
}

/// Writes a file if its text changes; with `check`, fails instead.
fn place(file: &Path, text: &str, check: bool) -> anyhow::Result<()> {
    let shown = file.display();
    if fs::read_to_string(file).is_ok_and(|there| there == text) {
        return Ok(());
    }
    ensure!(!check, "{shown} does not match the route files; `make generate` writes it");
    fs::write(file, text).with_context(|| shown.to_string())
}
