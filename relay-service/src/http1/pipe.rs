//! Pipes in the kernel: bytes go through them from socket to socket without being copied.

use std::io;
use std::os::fd::OwnedFd;
use std::sync::{Arc, Mutex, PoisonError};

use rustix::pipe::{
    PipeFlags, SpliceFlags, fcntl_getpipe_size, fcntl_setpipe_size, pipe_with, splice, tee,
};
use tokio::net::TcpStream;

use crate::transfer::Piece;

/// Most pipes at once. Each takes two file descriptors.
pub(crate) const MAX_PIPES: usize = 1024;
/// So many have room for more bytes, which halves the processor time a byte: as many as Linux grants a user who
/// is not root (`fs.pipe-max-size`). Together they stay within `fs.pipe-user-pages-soft`, 64 MiB.
const MAX_LARGE_PIPES: usize = 48;
const LARGE_BYTES: usize = 1024 * 1024;
/// Empty pipes that are kept for the next stream.
const MAX_SPARE: usize = 64;
/// What Linux gives a pipe. A user who has too many gets smaller ones; copying is better than these.
const LEAST_BYTES: usize = 64 * 1024;
const FLAGS: SpliceFlags = SpliceFlags::NONBLOCK.union(SpliceFlags::MOVE);

/// All pipes of the process.
#[derive(Clone)]
pub(crate) struct Pipes(Arc<Mutex<Spare>>);

struct Spare {
    empty: Vec<Ends>,
    /// Pipes that exist.
    open: usize,
    large: usize,
    most: usize,
}

struct Ends {
    read: OwnedFd,
    write: OwnedFd,
    capacity: usize,
}

impl Pipes {
    /// So many pipes at most; without any, everything is copied.
    pub(crate) fn new(most: usize) -> Self {
        Pipes(Arc::new(Mutex::new(Spare { empty: Vec::new(), open: 0, large: 0, most })))
    }

    /// An empty pipe; `None` if there are too many, or the system refuses.
    pub(crate) fn take(&self) -> Option<Pipe> {
        let ends = {
            let mut spare = self.spare();
            match spare.empty.pop() {
                Some(ends) => ends,
                None if spare.open >= spare.most => return None,
                None => {
                    let ends = open(spare.large < MAX_LARGE_PIPES)?;
                    spare.open += 1;
                    spare.large += usize::from(ends.is_large());
                    ends
                }
            }
        };
        Some(Pipe { ends: Some(ends), held: 0, pipes: self.clone() })
    }

    fn has_one(&self) -> bool {
        let spare = self.spare();
        !spare.empty.is_empty() || spare.open < spare.most
    }

    fn spare(&self) -> std::sync::MutexGuard<'_, Spare> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Ends {
    fn is_large(&self) -> bool {
        self.capacity > LEAST_BYTES
    }
}

fn open(is_large: bool) -> Option<Ends> {
    let (read, write) = pipe_with(PipeFlags::CLOEXEC | PipeFlags::NONBLOCK).ok()?;
    if is_large {
        // Refused to a user who has many, whose pipe stays as it is.
        let _ = fcntl_setpipe_size(&write, LARGE_BYTES);
    }
    let capacity = fcntl_getpipe_size(&write).ok()?;
    (capacity >= LEAST_BYTES).then_some(Ends { read, write, capacity })
}

/// A pipe, and how many bytes are in it. Dropped with bytes in it, it is closed, else kept.
pub(crate) struct Pipe {
    /// There until it is dropped.
    ends: Option<Ends>,
    held: usize,
    pipes: Pipes,
}

impl Pipe {
    /// Whether it has no bytes.
    pub(crate) fn is_empty(&self) -> bool {
        self.held == 0
    }

    /// Bytes that may fit into it.
    pub(crate) fn room(&self) -> usize {
        self.ends.as_ref().map_or(0, |ends| ends.capacity.saturating_sub(self.held))
    }

    /// Moves up to `most` bytes from a socket into the pipe. 0 is the stream's end.
    ///
    /// # Errors
    /// Those of splice(2); `WouldBlock` if the socket has none, or a pipe that is not empty is full.
    pub(crate) fn fill(&mut self, from: &TcpStream, most: u64) -> io::Result<usize> {
        let ends = self.ends()?;
        let most = usize::try_from(most).unwrap_or(usize::MAX).min(self.room());
        let count = splice(from, None, &ends.write, None, most, FLAGS)?;
        self.held += count;
        Ok(count)
    }

    /// Moves bytes into a socket.
    ///
    /// # Errors
    /// Those of splice(2); `WouldBlock` if the socket has no room.
    pub(crate) fn drain(&mut self, to: &TcpStream) -> io::Result<usize> {
        let count = splice(&self.ends()?.read, None, to, None, self.held, FLAGS)?;
        self.held -= count.min(self.held);
        Ok(count)
    }

    /// Takes all its bytes out.
    fn copy(&mut self) -> io::Result<Vec<u8>> {
        let mut bytes = vec![0; self.held];
        let mut from = 0;
        while self.held > 0 {
            let count = rustix::io::read(&self.ends()?.read, &mut bytes[from..])?;
            from += count;
            self.held -= count.min(self.held);
        }
        Ok(bytes)
    }

    /// Puts all its bytes into another pipe, too, which is empty.
    ///
    /// # Errors
    /// Those of tee(2), or if they do not fit.
    fn share(&self, with: &mut Pipe) -> io::Result<()> {
        let count = tee(&self.ends()?.read, &with.ends()?.write, self.held, FLAGS)?;
        with.held += count;
        if count == self.held { Ok(()) } else { Err(io::ErrorKind::StorageFull.into()) }
    }

    fn ends(&self) -> io::Result<&Ends> {
        self.ends.as_ref().ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

impl Drop for Pipe {
    fn drop(&mut self) {
        let Some(ends) = self.ends.take() else { return };
        let mut spare = self.pipes.spare();
        if self.held == 0 && spare.empty.len() < MAX_SPARE {
            spare.empty.push(ends);
        } else {
            spare.open -= 1;
            spare.large -= usize::from(ends.is_large());
        }
    }
}

/// Where a transfer has its pipe, while it needs one.
#[derive(Default)]
pub(crate) struct Slot {
    pipes: Option<Pipes>,
    pipe: Option<Pipe>,
}

impl Slot {
    /// A slot that takes a pipe when there is use for one; the default has none.
    pub(crate) fn new(pipes: &Pipes) -> Self {
        Slot { pipes: Some(pipes.clone()), pipe: None }
    }

    /// Whether it has a pipe, or may take one.
    pub(crate) fn is_open(&self) -> bool {
        self.pipe.is_some() || self.pipes.as_ref().is_some_and(Pipes::has_one)
    }

    /// A pipe to fill, which is empty.
    pub(crate) fn get(&mut self) -> Option<&mut Pipe> {
        if self.pipe.is_none() {
            self.pipe = self.pipes.as_ref()?.take();
        }
        self.pipe.as_mut()
    }

    /// The pipe with bytes in it.
    pub(crate) fn held(&mut self) -> Option<&mut Pipe> {
        self.pipe.as_mut().filter(|pipe| !pipe.is_empty())
    }

    /// Gives the pipe back: the sender pauses.
    pub(crate) fn release(&mut self) {
        self.pipe = None;
    }

    /// Drops what a receiver that has left has not taken.
    pub(crate) fn settle(&mut self) {
        if self.held().is_some() {
            self.pipe = None;
        }
    }

    /// The piece with what is in the pipe copied into it.
    ///
    /// # Errors
    /// If the pipe cannot be read.
    pub(crate) fn copy(&mut self, piece: &Piece) -> io::Result<Piece> {
        let copied = self.pipe.as_mut().map_or(Ok(Vec::new()), Pipe::copy)?;
        Ok(Piece { bytes: [&piece.bytes[..], &copied].concat().into(), piped: 0 })
    }

    /// Puts what is in the pipe into `with`, too; it is filled with an empty pipe if it has none.
    ///
    /// # Errors
    /// If there are too many pipes, or the bytes do not fit.
    pub(crate) fn share(&mut self, with: &mut Option<Pipe>) -> io::Result<()> {
        if with.as_ref().is_none_or(|pipe| !pipe.is_empty()) {
            *with = self.pipes.as_ref().and_then(Pipes::take);
        }
        let (Some(pipe), Some(with)) = (&self.pipe, with) else {
            return Err(io::ErrorKind::QuotaExceeded.into());
        };
        pipe.share(with)
    }
}
