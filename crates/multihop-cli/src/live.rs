//! `--live`: the page of a run in progress, from a server on the loopback interface. The page simulates the
//! run itself. For this it needs the recording of everything that enters the run, with the run's progress;
//! the server reads the recording from its growing file. A slow page delays neither the run nor other pages.

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
use multihop_sandbox::{Needs, Sandbox};
use multihop_scenario::{Request, Scenario};
use multihop_sim::live::{Recording, identity};
use serde_json::json;

use crate::http::{self, Clients, Limits, Reply, Request as HttpRequest};
use crate::page;
use crate::terminal::note;

/// HTTP server that is bound to its address and does not answer requests yet.
pub(crate) struct LivePage {
    listener: TcpListener,
    shared: Arc<Shared>,
}

/// Server that answers requests of open pages.
pub(crate) struct Serving(Arc<Shared>);

struct Shared {
    page: String,
    /// Path of the growing recording.
    recording: PathBuf,
    address: SocketAddr,
    /// Secret first component of every path (a random token). Requests without it are refused.
    token: String,
    is_over: AtomicBool,
    clients: Arc<Clients>,
    /// Number of connections that read the recording.
    readers: AtomicUsize,
}

impl LivePage {
    /// Binds a port of the loopback interface.
    pub(crate) fn bind(request: &Request, recording: PathBuf) -> anyhow::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("cannot serve the live page")?;
        let address = listener.local_addr().context("cannot serve the live page")?;
        let page = page::filled(&json!({ "runs": [{ "request": request }], "live": true }))?;
        // The page of a file connects to no server; this page reads the recording.
        let page = page.replacen("worker-src blob:", "worker-src blob:; connect-src 'self'", 1);
        let token = secret().context("cannot make a token")?;
        let clients = Arc::new(Clients::new(Limits::default()));
        let (is_over, readers) = Default::default();
        let shared = Shared { page, recording, address, token, is_over, clients, readers };
        Ok(Self { listener, shared: Arc::new(shared) })
    }

    /// URL of the page, with the token.
    pub(crate) fn address(&self) -> String {
        format!("http://{}/{}/", self.shared.address, self.shared.token)
    }

    /// Starts to answer requests in a thread.
    pub(crate) fn serve(self) -> Serving {
        let Self { listener, shared } = self;
        let serving = Serving(Arc::clone(&shared));
        let work = move || {
            // The server's threads read only the recording.
            let needs = Needs { read: vec![shared.recording.clone()], ..Needs::default() };
            if let Err(error) = Sandbox::prepare(needs).and_then(|sandbox| sandbox.enter()) {
                note(format_args!("cannot drop the rights of the live page's server: {error}"));
            }
            let clients = Arc::clone(&shared.clients);
            http::serve(&listener, &clients, move |request, reply| shared.answer(request, reply));
        };
        if let Err(error) = std::thread::Builder::new().name(THREAD.to_owned()).spawn(work) {
            note(format_args!("cannot serve the live page: {error}"));
        }
        serving
    }
}

impl Serving {
    /// Waits until a page is open; stops waiting when `control` returns `Break`.
    pub(crate) fn wait(&self, mut control: impl FnMut() -> ControlFlow<()>) {
        while self.0.readers.load(Ordering::Acquire) == 0 && control().is_continue() {
            sleep(STEP);
        }
    }

    /// Ends the recording: waits until open pages have received all of it, except for pages that are too
    /// slow.
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
            // The flag is read before the file, so that no data is missed at the end.
            let is_over = self.is_over.load(Ordering::Acquire);
            match file.read(&mut buffer)? {
                0 if is_over => return Ok(()),
                0 => sleep(STEP),
                length => reply.write_all(&buffer[..length])?,
            }
        }
    }
}

/// The name of the thread that accepts connections.
const THREAD: &str = "live page";
/// Interval between two checks of a file or flag.
const STEP: WallTime = WallTime::from_millis(50);
/// Number of checks for which the end of a recording waits for open pages that still read it.
const LAST_STEPS: usize = 100;

/// Random secret of 128 bits, in hexadecimal digits.
fn secret() -> Result<String, getrandom::Error> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(format!("{:032x}", u128::from_ne_bytes(bytes)))
}

/// Temporary file for a recording that the user does not keep; deleted when this value is dropped.
pub(crate) struct Scratch(PathBuf);

impl Scratch {
    /// A new file in the folder for temporary files.
    pub(crate) fn new() -> anyhow::Result<(Self, Box<dyn Write + Send>)> {
        let path = std::env::temp_dir().join(format!("multihop-{}.rec", secret()?));
        let cannot = || format!("cannot create {}", path.display());
        let file = multihop_disk::own::create(&path, 0o600).with_context(cannot)?;
        Ok((Self(path), Box::new(BufWriter::new(file))))
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.0.clone()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // Files that are left there are deleted with the other temporary files.
        let _ = std::fs::remove_file(&self.0);
    }
}

/// Run in virtual time, which pages follow by the progress in its recording.
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

    /// Reports the share of the run that has passed.
    pub(crate) fn passed(&mut self, share: f64) {
        let passed = Duration::from_secs_f64(self.duration.as_secs_f64() * share).min(self.duration);
        // A failing recording is no reason to end the run.
        let _ = self.recording.passed(Instant::ZERO + passed);
    }

    /// Ends the recording when the run has ended.
    pub(crate) fn finish(self) -> anyhow::Result<()> {
        self.recording.finish(Instant::ZERO + self.duration)?;
        self.serving.finish();
        Ok(())
    }
}

/// Prints the address of the page.
pub(crate) fn invite(page: &LivePage) {
    eprintln!("open {} in a browser to begin the run", page.address());
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::fs;
    use std::net::TcpStream;

    use super::*;

    #[test]
    fn the_server_of_a_recording_reads_it_without_any_right() {
        let (file, mut out) = Scratch::new().unwrap();
        out.write_all(b"what has happened").unwrap();
        out.flush().unwrap();
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let clients = Arc::new(Clients::new(Limits::default()));
        let (is_over, readers) = (AtomicBool::new(true), AtomicUsize::new(0));
        let (page, recording, token) = (String::new(), file.path(), "token".to_owned());
        let shared = Arc::new(Shared { page, recording, address, token, is_over, clients, readers });
        let _serving = LivePage { listener, shared }.serve();
        let mut stream = TcpStream::connect(address).unwrap();
        write!(stream, "GET /token/recording HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        assert!(text.ends_with("\r\n\r\nwhat has happened"), "{text}");
        let tasks = fs::read_dir("/proc/self/task").unwrap().map(|task| task.unwrap().path());
        let name = |task: &PathBuf| fs::read_to_string(task.join("comm")).unwrap_or_default();
        let server = { tasks }.find(|task| name(task).trim() == THREAD).unwrap();
        let status = fs::read_to_string(server.join("status")).unwrap();
        for line in
            ["CapEff:\t0000000000000000", "CapPrm:\t0000000000000000", "NoNewPrivs:\t1", "Seccomp:\t2"]
        {
            assert!(status.lines().any(|found| found == line), "{line}: {status}");
        }
    }
}
