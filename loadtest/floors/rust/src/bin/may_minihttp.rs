//! may_minihttp: a coroutine per connection. It has no timeouts, no listener options, and a head of its own.
//!
//! Documented: its example. Tuned: small stacks and a pool of coroutines, as its entry at TechEmpower.

use std::io;

use floors_rust::{BODY, PATH, arguments};
use may_minihttp::{HttpServer, HttpService, Request, Response};

#[derive(Clone)]
struct Floor;

impl HttpService for Floor {
    fn call(&mut self, request: Request, response: &mut Response) -> io::Result<()> {
        if request.path() != PATH {
            response.status_code(404, "Not Found");
            return Ok(());
        }
        response.header("Content-Type: image/png").body(BODY);
        Ok(())
    }
}

fn main() -> anyhow::Result<()> {
    let arguments = arguments()?;
    anyhow::ensure!(!arguments.timeouts, "may_minihttp has no timeouts");
    may::config().set_workers(arguments.cores);
    if arguments.tuned {
        may::config().set_pool_capacity(1000).set_stack_size(0x1000);
    }
    let server = HttpServer(Floor).start(arguments.addr)?;
    server.join().map_err(|_| anyhow::anyhow!("the server panicked"))
}
