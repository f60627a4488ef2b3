//! Transfers over streams of every kind.

mod bad_peers;
mod existing;
mod shared_folders;
mod sharing;
mod transfers;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};
use std::time::Duration;

use multihop_apps::files::{Error, Options, Sources, Summary, Target, receive, send};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncWrite, DuplexStream, ReadBuf, duplex};

use crate::run;

/// Two folders, one to send from and one to receive into.
struct Pair {
    from: TempDir,
    to: TempDir,
}

impl Pair {
    fn new() -> Self {
        Self { from: TempDir::new().unwrap(), to: TempDir::new().unwrap() }
    }

    fn write(&self, name: &str, contents: impl AsRef<[u8]>) {
        let path = self.from.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, contents).unwrap();
    }

    fn sources(&self, names: &[&str]) -> Sources {
        let mut sources = Sources::new();
        names.iter().for_each(|name| sources.add(&self.from.path().join(name)).unwrap());
        sources
    }

    fn target(&self) -> Target {
        Target::Folder(self.to.path().to_owned())
    }

    /// Sends over a stream that is cut after this many bytes of the sender; returns both results.
    fn transfer_cut(&self, names: &[&str], options: Options, bytes: usize) -> [Result<Summary, Error>; 2] {
        let (near, far) = duplex(BUFFER);
        let near = Cut { inner: Some(near), left: Arc::new(AtomicUsize::new(bytes)) };
        both(near, far, self.sources(names), self.target(), options)
    }

    fn transfer(&self, names: &[&str], options: Options) -> [Result<Summary, Error>; 2] {
        self.transfer_cut(names, options, usize::MAX)
    }

    /// Attempts a transfer that must be refused; returns the receiver's reason, which the sender must get,
    /// too.
    fn refused(&self, names: &[&str]) -> String {
        match self.transfer(names, QUICK) {
            [Err(Error::There(told)), Err(Error::Here(reason))] if told == reason => reason,
            other => panic!("{other:?}"),
        }
    }
}

fn both<A, B>(
    near: A,
    far: B,
    sources: Sources,
    target: Target,
    options: Options,
) -> [Result<Summary, Error>; 2]
where
    A: AsyncRead + AsyncWrite + Send,
    B: AsyncRead + AsyncWrite + Send + 'static,
{
    run(async {
        let receiver = tokio::spawn(async move { receive(far, target, options, &mut |_| ()).await });
        let sent = send(near, sources, options, &mut |_| ()).await;
        [sent, receiver.await.unwrap()]
    })
}

/// The contents of a folder by path: the bytes of a file and whether it is executable. A folder has no bytes.
type Tree = BTreeMap<OsString, (Option<Vec<u8>>, bool)>;

/// Everything below a folder.
fn tree(root: &Path) -> Tree {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for child in fs::read_dir(&folder).unwrap() {
            let path = child.unwrap().path();
            let kind = fs::symlink_metadata(&path).unwrap();
            let name = path.strip_prefix(root).unwrap().as_os_str().to_owned();
            if kind.is_dir() {
                found.insert(name, (None, false));
                folders.push(path);
            } else {
                let executable = kind.permissions().mode() & 0o100 != 0;
                found.insert(name, (Some(fs::read(&path).unwrap()), executable));
            }
        }
    }
    found
}

/// Names of unfinished files.
fn unfinished(root: &Path) -> Vec<OsString> {
    let is = |name: &OsString| name.as_bytes().starts_with(b".multihop-");
    tree(root).into_keys().filter(|name| is(&Path::new(name).file_name().unwrap().to_owned())).collect()
}

/// Waits until a file below a folder has these contents, which shows that its receiver has begun to write it.
async fn until_there_is(root: &Path, contents: &str) {
    while !tree(root).values().any(|(found, _)| found.as_deref() == Some(contents.as_bytes())) {
        tokio::task::yield_now().await;
    }
}

/// Random bytes, without repetitions.
fn noise(length: usize, seed: u8) -> Vec<u8> {
    let mut bytes = vec![0; length];
    blake3::Hasher::new_keyed(&[seed; 32]).finalize_xof().fill(&mut bytes);
    bytes
}

/// A stream that breaks after this many bytes written.
struct Cut {
    inner: Option<DuplexStream>,
    left: Arc<AtomicUsize>,
}

impl AsyncRead for Cut {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        match &mut self.get_mut().inner {
            Some(inner) => Pin::new(inner).poll_read(cx, buf),
            None => Poll::Ready(Err(std::io::ErrorKind::ConnectionReset.into())),
        }
    }
}

impl AsyncWrite for Cut {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, data: &[u8]) -> Poll<std::io::Result<usize>> {
        let this = self.get_mut();
        let left = this.left.load(Ordering::Relaxed);
        let Some(inner) = this.inner.as_mut().filter(|_| left > 0) else {
            this.inner = None;
            return Poll::Ready(Err(std::io::ErrorKind::ConnectionReset.into()));
        };
        let result = Pin::new(inner).poll_write(cx, &data[..data.len().min(left)]);
        if let Poll::Ready(Ok(n)) = &result {
            this.left.store(left - n, Ordering::Relaxed);
        }
        result
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        match &mut self.get_mut().inner {
            Some(inner) => Pin::new(inner).poll_flush(cx),
            None => Poll::Ready(Err(std::io::ErrorKind::ConnectionReset.into())),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        match &mut self.get_mut().inner {
            Some(inner) => Pin::new(inner).poll_shutdown(cx),
            None => Poll::Ready(Err(std::io::ErrorKind::ConnectionReset.into())),
        }
    }
}

const BUFFER: usize = 8 * 1024;
const QUICK: Options = Options { overwrite: false, patience: Duration::from_secs(20) };
const OVERWRITE: Options = Options { overwrite: true, ..QUICK };
