//! A server for the pages of one person: it answers GET requests, one for each connection, and is bounded in everything.

use std::io::{self, ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// What a request asks for.
pub(crate) struct Asked {
    /// The path; `None` if it is not a GET request.
    pub(crate) path: Option<String>,
    /// The server's name and port as the browser knows them.
    pub(crate) host: Option<String>,
}

/// How many connections there are now.
#[derive(Clone, Default)]
pub(crate) struct Connections(Arc<AtomicUsize>);

impl Connections {
    /// Whether there are none.
    pub(crate) fn are_over(&self) -> bool {
        self.0.load(Ordering::Acquire) == 0
    }
}

/// Answers until the process ends, each connection on a thread of its own.
pub(crate) fn serve<F>(listener: &TcpListener, connections: &Connections, answer: F)
where
    F: Fn(&Asked, &mut TcpStream) -> io::Result<()> + Send + Sync + 'static,
{
    let answer = Arc::new(answer);
    for stream in listener.incoming() {
        let Ok(mut stream) = stream else {
            // Such as too many open files: the next moment may be better.
            std::thread::sleep(PAUSE);
            continue;
        };
        if connections.0.fetch_add(1, Ordering::AcqRel) >= MOST_CONNECTIONS {
            connections.0.fetch_sub(1, Ordering::AcqRel);
            continue;
        }
        let (answer, connections) = (Arc::clone(&answer), connections.clone());
        std::thread::spawn(move || {
            // A page that has been closed needs no answer.
            let _ = asked(&mut stream).and_then(|asked| answer(&asked, &mut stream));
            connections.0.fetch_sub(1, Ordering::AcqRel);
        });
    }
}

/// Reads a request.
fn asked(stream: &mut TcpStream) -> io::Result<Asked> {
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let (began, mut request) = (Instant::now(), Vec::new());
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        let mut part = [0; 1024];
        let length = stream.read(&mut part)?;
        request.extend_from_slice(&part[..length]);
        if length == 0 || request.len() > LONGEST_REQUEST || began.elapsed() > PATIENCE {
            return Err(ErrorKind::InvalidData.into());
        }
    }
    let request = String::from_utf8_lossy(&request);
    let mut lines = request.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let path = if words.next() == Some("GET") { words.next().map(str::to_owned) } else { None };
    let mut fields = lines.filter_map(|line| line.split_once(':'));
    let host = fields.find(|(name, _)| name.eq_ignore_ascii_case("host"));
    Ok(Asked { path, host: host.map(|(_, value)| value.trim().to_owned()) })
}

/// Begins an answer; its content follows.
pub(crate) fn head(stream: &mut TcpStream, status: &str, kind: &str) -> io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nCache-Control: no-store\r\nReferrer-Policy: no-referrer\r\n\
         X-Content-Type-Options: nosniff\r\nConnection: close\r\n\r\n"
    )
}

/// How long a page may take for a request, or to accept more.
const PATIENCE: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(100);
const LONGEST_REQUEST: usize = 16 << 10;
const MOST_CONNECTIONS: usize = 16;
