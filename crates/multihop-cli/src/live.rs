//! `--live`: the page of a run while it goes on, from a server on the loopback interface.
//!
//! The page simulates the run itself. It needs what enters the run, and how far the run has come: the recording, which the
//! server reads from its file while it grows. A slow page delays neither the run nor other pages.

use std::fs::File;
use std::io::{self, BufWriter, Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::ops::ControlFlow;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration as WallTime;

use anyhow::Context;
use multihop_core::{Duration, Instant};
use multihop_net::Token;
use multihop_scenario::{Request, Scenario};
use multihop_sim::live::{Recording, identity};
use serde_json::json;

use crate::http::{self, Clients, Limits, Reply, Request as HttpRequest};
use crate::page;

/// A server that has an address and does not answer yet.
pub(crate) struct LivePage {
    listener: TcpListener,
    shared: Arc<Shared>,
}

/// A server that answers.
pub(crate) struct Serving(Arc<Shared>);

struct Shared {
    page: String,
    /// The recording, which grows.
    recording: PathBuf,
    address: SocketAddr,
    /// The first part of every path; who does not know it is refused.
    token: String,
    is_over: AtomicBool,
    clients: Arc<Clients>,
    /// Connections that have asked for the recording.
    readers: AtomicUsize,
}

impl LivePage {
    /// Takes a port of the loopback interface.
    pub(crate) fn bind(request: &Request, recording: PathBuf) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot serve the live page")?;
        let address = listener.local_addr().context("cannot serve the live page")?;
        let page = page::filled(&json!({ "runs": [{ "request": request }], "live": true }))?;
        // The page of a file connects to nothing; this one reads the recording.
        let page = page.replacen("worker-src blob:", "worker-src blob:; connect-src 'self'", 1);
        let token = Token::generate().context("cannot make a token")?.to_string();
        let clients = Arc::new(Clients::new(Limits::default()));
        let (is_over, readers) = Default::default();
        let shared = Shared { page, recording, address, token, is_over, clients, readers };
        Ok(Self { listener, shared: Arc::new(shared) })
    }

    /// Where the page is.
    pub(crate) fn address(&self) -> String {
        format!("http://{}/{}/", self.shared.address, self.shared.token)
    }

    /// Begins to answer.
    pub(crate) fn serve(self) -> Serving {
        let Self { listener, shared } = self;
        let serving = Serving(Arc::clone(&shared));
        std::thread::spawn(move || {
            let clients = Arc::clone(&shared.clients);
            http::serve(&listener, &clients, move |request, reply| shared.answer(request, reply));
        });
        serving
    }
}

impl Serving {
    /// Waits until a page is open; `Break` of `control` ends the wait.
    pub(crate) fn wait(&self, mut control: impl FnMut() -> ControlFlow<()>) {
        while self.0.readers.load(Ordering::Acquire) == 0 && control().is_continue() {
            sleep(STEP);
        }
    }

    /// The recording is complete: waits until open pages have all of it, or until they are too slow.
    pub(crate) fn finish(self) {
        self.0.is_over.store(true, Ordering::Release);
        for _ in 0..LAST_STEPS {
            if self.0.clients.is_empty() {
                break;
            }
            sleep(STEP);
        }
    }
}

impl Shared {
    fn answer(&self, request: &HttpRequest, reply: &mut Reply<'_>) -> io::Result<()> {
        let path = request.path.as_deref();
        let name = path.and_then(|path| path.strip_prefix('/')?.strip_prefix(self.token.as_str()));
        match name {
            Some("/") => {
                reply.begin("200 OK", "text/html; charset=utf-8")?;
                reply.write_all(self.page.as_bytes())
            }
            Some("/recording") => {
                reply.begin("200 OK", "application/octet-stream")?;
                self.stream(reply)
            }
            _ => reply.begin("404 Not Found", "text/plain"),
        }
    }

    /// Sends the recording as it grows.
    fn stream(&self, reply: &mut Reply<'_>) -> io::Result<()> {
        reply.set_endless();
        let mut file = File::open(&self.recording)?;
        self.readers.fetch_add(1, Ordering::AcqRel);
        let mut buffer = vec![0; 1 << 16];
        loop {
            // Asked before reading, so that nothing is left when it is over.
            let is_over = self.is_over.load(Ordering::Acquire);
            match file.read(&mut buffer)? {
                0 if is_over => return Ok(()),
                0 => sleep(STEP),
                length => reply.write_all(&buffer[..length])?,
            }
        }
    }
}

/// Between looks at a file or flag.
const STEP: WallTime = WallTime::from_millis(50);
/// How many of them a page has to read the end of the recording.
const LAST_STEPS: usize = 100;

/// A file for a recording that nobody keeps; deleted when it is dropped.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// A new file in the folder for temporary files.
    pub(crate) fn new() -> anyhow::Result<(Self, Box<dyn Write + Send>)> {
        let path = std::env::temp_dir().join(format!("multihop-{}.rec", Token::generate()?));
        let cannot = || format!("cannot create {}", path.display());
        let file = multihop_net::own::create(&path, 0o600).with_context(cannot)?;
        Ok((Self(path), Box::new(BufWriter::new(file))))
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.clone()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left there is deleted with the other temporary files.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// A run in virtual time that pages follow: its recording says only how far it has come.
pub(crate) struct Followed {
    recording: Recording,
    serving: Serving,
    duration: Duration,
    _file: Scratch,
}

impl Followed {
    /// Waits until a page is open.
    pub(crate) fn begin(
        request: &Request,
        scenario: &Scenario,
        control: impl FnMut() -> ControlFlow<()>,
    ) -> anyhow::Result<Self> {
        let identity = identity(&request.source(), &request.overrides, scenario)?;
        let (file, out) = Scratch::new()?;
        let mut recording = Recording::new(out, &identity, request)?;
        recording.passed(Instant::ZERO)?;
        let page = LivePage::bind(request, file.path())?;
        invite(&page);
        let serving = page.serve();
        serving.wait(control);
        Ok(Self { recording, serving, duration: scenario.duration, _file: file })
    }

    /// The run has come this far.
    pub(crate) fn passed(&mut self, share: f64) {
        let passed = Duration::from_secs_f64(self.duration.as_secs_f64() * share).min(self.duration);
        // A page that cannot follow is no reason to end the run.
        let _ = self.recording.passed(Instant::ZERO + passed);
    }

    /// The run has ended.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        self.recording.finish(Instant::ZERO + self.duration)?;
        self.serving.finish();
        Ok(())
    }
}

/// Says where the page is.
pub(crate) fn invite(page: &LivePage) {
    eprintln!("open {} in a browser: the run begins then", page.address());
}
