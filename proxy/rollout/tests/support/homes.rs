//! Homes of a route of sessions, and nginx with such a route.

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

use rollout::Route;
use service_kit::testing::serve;

use super::{Place, routes};

/// A home that answers with the share file, or with the content at which it was frozen. It listens until the test ends.
pub(crate) struct Home {
    pub(crate) addr: SocketAddr,
    pub(crate) file: Arc<Mutex<PathBuf>>,
    frozen: Arc<Mutex<Option<String>>>,
}

impl Home {
    pub(crate) fn start() -> Self {
        let (file, frozen) =
            (Arc::<Mutex<PathBuf>>::default(), Arc::<Mutex<Option<String>>>::default());
        let (read, kept) = (Arc::clone(&file), Arc::clone(&frozen));
        let addr = serve(move |asked| {
            let now = || fs::read_to_string(&*read.lock().unwrap()).unwrap();
            let text = kept.lock().unwrap().clone().unwrap_or_else(now);
            asked.answer(format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{text}", text.len()))
        });
        Home { addr, file, frozen }
    }

    /// From now on it answers with the present content.
    pub(crate) fn freeze(&self) {
        let text = fs::read_to_string(&*self.file.lock().unwrap()).unwrap();
        *self.frozen.lock().unwrap() = Some(text);
    }

    pub(crate) fn thaw(&self) {
        *self.frozen.lock().unwrap() = None;
    }
}

/// An address at which nobody listens.
pub(crate) fn nobody() -> SocketAddr {
    service_kit::free_address().unwrap()
}

/// A place with the routes `qrcode` and `relay`, and homes at these admin addresses.
pub(crate) fn place(homes: &[SocketAddr]) -> Place {
    let nobody = nobody();
    let listed: Vec<String> = homes
        .iter()
        .map(|home| format!("{{ url = \"http://{nobody}\", admin = \"http://{home}\" }}"))
        .collect();
    let text = format!(
        "path = \"/p/*\"\njudge = \"session\"\nhomes = [{}]\nold.url = \"http://{nobody}\"\n\
         new.url = \"http://{nobody}\"\n",
        listed.join(", ")
    );
    Place::with(&[routes().remove(0), Route::parse("relay", &text).unwrap()])
}
