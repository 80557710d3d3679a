//! The file of a Unix socket, from the bind to the end.
//!
//! A socket's file outlives a process that is killed, and the file of a running one can be replaced unseen. So a
//! service asks who listens before it takes a path, makes its socket ready under another name, and renames it: at
//! every moment the path leads to one that listens. All of that happens under a lock of the folder, or two services
//! that start together would both find nobody.

use std::ffi::OsString;
use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::UnixListener as StdUnixListener;
use std::path::{Path, PathBuf};

use socket2::{Domain, SockAddr, Socket, Type};

use super::listener::BACKLOG;
use crate::SocketPath;

/// The user and the group of the service may connect.
const MODE: u32 = 0o660;

/// A socket's file, which is removed with this value if it is still the same. Drop it before the socket.
pub(super) struct SocketFile {
    path: PathBuf,
    /// Device and inode, which no other file has while the socket is open.
    identity: (u64, u64),
}

/// Listens on a path. What a crash left there is replaced, and with `takes_over` also the socket of a running
/// service, which keeps the connections that it has or that wait for it.
///
/// # Errors
/// If somebody else listens there, something other than a socket is there, or the system refuses.
pub(super) fn listen(
    at: &SocketPath,
    takes_over: bool,
) -> io::Result<(SocketFile, StdUnixListener)> {
    let path = at.path();
    let _locked = lock_folder(path)?;
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) => return Err(error),
        Ok(file) if !file.file_type().is_socket() => {
            let what = "there is a file that is no socket";
            return Err(io::Error::new(ErrorKind::AlreadyExists, what));
        }
        Ok(_) if !takes_over && is_served(path)? => {
            return Err(io::Error::new(ErrorKind::AddrInUse, "another process listens there"));
        }
        Ok(_) => {}
    }
    let mut fresh = OsString::from(path);
    fresh.push("~");
    match fs::remove_file(&fresh) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SockAddr::unix(&fresh)?)?;
    let identity = identity(&fs::symlink_metadata(&fresh)?);
    fs::set_permissions(&fresh, Permissions::from_mode(MODE))?;
    socket.listen(BACKLOG.into())?;
    fs::rename(&fresh, path)?;
    // Only now: dropped after a failure, it would wait for the lock that is held here.
    Ok((SocketFile { path: path.to_owned(), identity }, socket.into()))
}

/// Whether a process listens. Connecting does not wait: if its queue is full, somebody listens too.
fn is_served(path: &Path) -> io::Result<bool> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    socket.set_nonblocking(true)?;
    match socket.connect(&SockAddr::unix(path)?) {
        Ok(()) => Ok(true),
        Err(error) => match error.kind() {
            ErrorKind::WouldBlock => Ok(true),
            ErrorKind::ConnectionRefused => Ok(false),
            _ => Err(error),
        },
    }
}

fn lock_folder(path: &Path) -> io::Result<File> {
    let folder = File::open(path.parent().unwrap_or(Path::new("/")))?;
    folder.lock()?;
    Ok(folder)
}

fn identity(file: &Metadata) -> (u64, u64) {
    (file.dev(), file.ino())
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // If this fails, the next start finds a socket without a listener.
        let Ok(_locked) = lock_folder(&self.path) else { return };
        let is_ours = |file: Metadata| identity(&file) == self.identity;
        if fs::symlink_metadata(&self.path).is_ok_and(is_ours) {
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use tempfile::TempDir;

    use super::*;

    fn socket_in(folder: &TempDir) -> SocketPath {
        format!("unix:{}/a.sock", folder.path().display()).parse().unwrap()
    }

    #[test]
    fn the_file_has_its_mode_and_goes_with_the_socket() {
        let folder = TempDir::new().unwrap();
        let at = socket_in(&folder);
        let (file, listener) = listen(&at, false).unwrap();
        let mode = fs::metadata(at.path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o660);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "no other file");
        drop((file, listener));
        assert!(!at.path().exists());
    }

    #[test]
    fn what_a_crash_left_is_replaced_and_what_is_in_use_is_not() {
        let folder = TempDir::new().unwrap();
        let at = socket_in(&folder);
        let (file, listener) = listen(&at, false).unwrap();
        let error = listen(&at, false).err().unwrap();
        assert_eq!(error.kind(), ErrorKind::AddrInUse);
        UnixStream::connect(at.path()).unwrap();
        // As a process that is killed.
        std::mem::forget(file);
        drop(listener);
        assert!(at.path().exists());
        let _listens = listen(&at, false).unwrap();
        UnixStream::connect(at.path()).unwrap();
    }

    #[test]
    fn a_full_queue_is_somebody_who_listens() {
        let folder = TempDir::new().unwrap();
        let at = socket_in(&folder);
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
        socket.bind(&SockAddr::unix(at.path()).unwrap()).unwrap();
        socket.listen(0).unwrap();
        let _queued = UnixStream::connect(at.path()).unwrap();
        assert_eq!(listen(&at, false).err().unwrap().kind(), ErrorKind::AddrInUse);
    }

    #[test]
    fn a_file_that_is_no_socket_stays() {
        let folder = TempDir::new().unwrap();
        let at = socket_in(&folder);
        fs::write(at.path(), "mine").unwrap();
        for takes_over in [false, true] {
            let error = listen(&at, takes_over).err().unwrap();
            assert_eq!(error.kind(), ErrorKind::AlreadyExists);
        }
        assert_eq!(fs::read_to_string(at.path()).unwrap(), "mine");
    }

    #[test]
    fn who_is_taken_over_keeps_its_queue_and_leaves_the_file() {
        let folder = TempDir::new().unwrap();
        let at = socket_in(&folder);
        let (old_file, old) = listen(&at, false).unwrap();
        let _queued = UnixStream::connect(at.path()).unwrap();
        let (_new_file, new) = listen(&at, true).unwrap();
        drop(old_file);
        let _second = UnixStream::connect(at.path()).unwrap();
        assert!(old.accept().is_ok());
        assert_eq!(old.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
        assert!(new.accept().is_ok());
    }

    #[test]
    fn of_several_that_start_at_once_one_gets_the_path() {
        let folder = TempDir::new().unwrap();
        let at = socket_in(&folder);
        for _ in 0..20 {
            let bound: Vec<_> = std::thread::scope(|scope| {
                let starts: Vec<_> = (0..8).map(|_| scope.spawn(|| listen(&at, false))).collect();
                starts.into_iter().filter_map(|it| it.join().unwrap().ok()).collect()
            });
            assert_eq!(bound.len(), 1);
        }
    }
}
