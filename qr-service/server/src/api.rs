//! Settings of the routes below `/v1/`.

use crate::v1::{Service, Settings};
use clap::{Args, value_parser};
use http::HeaderValue;
use service_kit::arguments::threads;

/// The most workers by default; further processors are left to `/qrcode`.
const MOST_WORKERS: usize = 4;

// clap takes a `Vec` or an `Option` for an argument that may be repeated or left out, unless their path is written out.
#[derive(Args, Clone, Debug)]
pub(crate) struct ApiArguments {
    /// Threads for slow work of /v1/, such as shapes and decoding; 0 means one for each processor, at most 4
    #[arg(long, env = "QR_API_WORKERS", default_value_t = 0, value_name = "COUNT", value_parser = value_parser!(u16).range(..=64))]
    api_workers: u16,

    /// Most requests of /v1/ that wait for these threads; further ones are answered 503
    #[arg(long, env = "QR_API_QUEUE", default_value_t = 64, value_name = "COUNT", value_parser = value_parser!(u16).range(1..=1024))]
    api_queue: u16,

    /// Web pages that may read answers of /v1/ (CORS): * for all, one origin such as https://example.com, or none
    #[arg(long, env = "QR_CORS_ORIGIN", default_value = "*", value_name = "ORIGIN", value_parser = origin)]
    cors_origin: std::option::Option<HeaderValue>,

    /// Other services whose URLs are answered in their way: goqr, quickchart, google, with commas between them, or none
    #[arg(long, env = "QR_COMPAT", default_value = "none", value_name = "NAMES", value_parser = services)]
    compat: std::vec::Vec<Service>,

    /// Host name on which every path is a text to encode, as on qrcode.show, or none
    #[arg(long, env = "QR_SHOW_HOST", default_value = "none", value_name = "NAME", value_parser = host)]
    show_host: std::option::Option<String>,
}

fn services(text: &str) -> Result<Vec<Service>, &'static str> {
    let mut services = Vec::new();
    for name in text.split(',').map(str::trim).filter(|_| text != "none") {
        let service = name.parse::<Service>();
        let service =
            service.map_err(|_| "use goqr, quickchart or google, with commas between them")?;
        if services.contains(&service) {
            return Err("name each service once");
        }
        services.push(service);
    }
    Ok(services)
}

fn host(text: &str) -> Result<Option<String>, &'static str> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-');
    match text {
        "none" => Ok(None),
        text if !text.is_empty() && text.chars().all(is_name) => Ok(Some(text.to_owned())),
        _ => Err("use none, or a host name without a port, such as qr.example.com"),
    }
}

fn origin(text: &str) -> Result<Option<HeaderValue>, &'static str> {
    const USE: &str = "use *, none, or an origin such as https://example.com";
    let is_origin = |text: &str| {
        let host = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        host.is_some_and(|host| !host.is_empty() && !host.contains(['/', ' ', ',']))
    };
    match text {
        "none" => Ok(None),
        text if text == "*" || is_origin(text) => {
            HeaderValue::from_str(text).map(Some).map_err(|_| USE)
        }
        _ => Err(USE),
    }
}

impl ApiArguments {
    pub(crate) fn settings(self) -> Settings {
        Settings {
            workers: match self.api_workers {
                0 => threads(0).min(MOST_WORKERS),
                count => count.into(),
            },
            queue: self.api_queue.into(),
            cors_origin: self.cors_origin,
            compat: self.compat,
            show_host: self.show_host,
        }
    }
}
