//! hyper on monoio, a runtime per core on io_uring.
//!
//! Documented: its example of a server with hyper. Tuned: a larger ring, without a timer if there are no timeouts.

use floors_rust::{Arguments, HEAD_TIMEOUT, answer, arguments, on_each_core};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use monoio::io::IntoPollIo;
use monoio::net::TcpListener;
use monoio::{IoUringDriver, RuntimeBuilder};
use monoio_compat::hyper::{MonoioIo, MonoioTimer};

/// Entries of the ring; the default is 1024.
const ENTRIES: u32 = 4096;

fn main() -> anyhow::Result<()> {
    on_each_core(arguments()?, |arguments, listener| {
        let mut runtime = RuntimeBuilder::<IoUringDriver>::new();
        if arguments.tuned {
            runtime = runtime.with_entries(ENTRIES);
        }
        if arguments.tuned && !arguments.timeouts {
            return runtime.build()?.block_on(serve(arguments, listener));
        }
        runtime.enable_timer().build()?.block_on(serve(arguments, listener))
    })
}

async fn serve(arguments: Arguments, listener: std::net::TcpListener) -> anyhow::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    let mut http = http1::Builder::new();
    if arguments.timeouts {
        http.timer(MonoioTimer).header_read_timeout(HEAD_TIMEOUT);
    }
    if arguments.tuned {
        http.pipeline_flush(true);
    }
    loop {
        let (stream, _) = listener.accept().await?;
        if arguments.tuned {
            stream.set_nodelay(true)?;
        }
        let stream = MonoioIo::new(stream.into_poll_io()?);
        monoio::spawn(http.serve_connection(stream, service_fn(answer)));
    }
}
