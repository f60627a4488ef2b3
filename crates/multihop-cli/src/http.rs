//! An HTTP server for the pages of one user. It answers one GET request per connection.
//!
//! Connections are limited in number, time and memory ([`clients`]), and every answer forbids other pages to embed or
//! read it.

mod clients;

use std::io::{self, ErrorKind, Read, Write};
use std::net::{IpAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::time::{Duration, Instant};

use clients::Place;
pub(crate) use clients::{Clients, Limits};

/// A request that the server answers.
pub(crate) struct Request {
    /// Path of the request; `None` if the request is not a GET request.
    pub(crate) path: Option<String>,
    /// The `Host` field; `None` unless there is exactly one.
    host: Option<String>,
}

/// The answer to a request: a head, followed by the content.
pub(crate) struct Reply<'a> {
    stream: &'a TcpStream,
    /// Longest duration of one write, or of all writes if `deadline` is set.
    patience: Duration,
    /// The end of all writes; `None` in a stream, where each write has its own deadline.
    deadline: Option<Instant>,
}

/// Answers requests until the process ends, each connection on its own thread.
pub(crate) fn serve<F>(listener: &TcpListener, clients: &Arc<Clients>, answer: F)
where
    F: Fn(&Request, &mut Reply<'_>) -> io::Result<()> + Send + Sync + 'static,
{
    let answer = Arc::new(answer);
    for stream in listener.incoming() {
        let Ok(stream) = stream else {
            // For example, too many files are open: a later accept may succeed.
            std::thread::sleep(ACCEPT_RETRY_INTERVAL);
            continue;
        };
        // The client may have closed the connection.
        let Ok(Some(place)) = clients.admit(&stream) else { continue };
        let answer = Arc::clone(&answer);
        let work = move || drop(converse(&stream, &place, &*answer));
        // Without a thread the connection is closed.
        let _ = std::thread::Builder::new().spawn(work);
    }
}

fn converse(
    stream: &TcpStream,
    place: &Place,
    answer: &dyn Fn(&Request, &mut Reply<'_>) -> io::Result<()>,
) -> io::Result<()> {
    let limits = place.limits();
    let request = read_request(stream, Instant::now() + limits.request)?;
    place.set_answering();
    let deadline = Some(Instant::now() + limits.answer);
    let mut reply = Reply { stream, patience: limits.answer, deadline };
    if request.host.as_deref().is_some_and(is_address) {
        return answer(&request, &mut reply);
    }
    reply.begin("403 Forbidden", "text/plain")?;
    reply.write_all(b"open this page at its IP address or at localhost")
}

/// Reads the head of a request, which must be complete at the deadline.
fn read_request(mut stream: &TcpStream, deadline: Instant) -> io::Result<Request> {
    let mut request = Vec::new();
    while !request.windows(4).any(|end| end == b"\r\n\r\n") {
        stream.set_read_timeout(Some(time_left(deadline)?))?;
        let mut part = [0; 1024];
        let length = stream.read(&mut part)?;
        request.extend_from_slice(&part[..length]);
        if length == 0 || request.len() > MAX_REQUEST_LENGTH {
            return Err(ErrorKind::InvalidData.into());
        }
    }
    let request = String::from_utf8_lossy(&request);
    let mut lines = request.split("\r\n");
    let mut words = lines.next().unwrap_or_default().split(' ');
    let path = if words.next() == Some("GET") { words.next().map(str::to_owned) } else { None };
    let fields = lines.filter_map(|line| line.split_once(':'));
    let mut hosts = fields.filter(|(name, _)| name.eq_ignore_ascii_case("host"));
    let (host, second) = (hosts.next(), hosts.next());
    let host = host.filter(|_| second.is_none()).map(|(_, value)| value.trim().to_owned());
    Ok(Request { path, host })
}

/// Whether a `Host` field contains an address instead of a name. A foreign page can give its own name the
/// address of this server (DNS rebinding), and could then read the answers.
fn is_address(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name == "localhost" || name.parse::<IpAddr>().is_ok()
}

impl Reply<'_> {
    /// Sends the head; the content follows.
    pub(crate) fn begin(&mut self, status: &str, kind: &str) -> io::Result<()> {
        // A page has its own policy for its resources, with hashes of its scripts; `frame-ancestors` is valid
        // only in this header.
        let policy = if kind.starts_with("text/html") { PAGE_POLICY } else { DATA_POLICY };
        write!(
            self,
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Security-Policy: {policy}\r\n{SECURITY_FIELDS}\
             Cache-Control: no-store\r\nConnection: close\r\n\r\n"
        )
    }

    /// Gives each write a separate deadline, for content that grows while it is sent.
    pub(crate) fn set_endless(&mut self) {
        self.deadline = None;
    }
}

impl Write for Reply<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let left = self.deadline.map_or(Ok(self.patience), time_left)?;
        self.stream.set_write_timeout(Some(left))?;
        self.stream.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The remaining time until a deadline; an error if it has passed.
fn time_left(deadline: Instant) -> io::Result<Duration> {
    let left = deadline.saturating_duration_since(Instant::now());
    if left.is_zero() { Err(ErrorKind::TimedOut.into()) } else { Ok(left) }
}

const PAGE_POLICY: &str = "frame-ancestors 'none'; base-uri 'none'; form-action 'none'; object-src 'none'";
const DATA_POLICY: &str = "default-src 'none'; frame-ancestors 'none'";
const SECURITY_FIELDS: &str = "X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
    Cross-Origin-Opener-Policy: same-origin\r\nCross-Origin-Resource-Policy: same-origin\r\n";
const ACCEPT_RETRY_INTERVAL: Duration = Duration::from_millis(100);
/// Bytes of a request's head.
const MAX_REQUEST_LENGTH: usize = 16 << 10;

#[cfg(test)]
mod tests {
    use std::io::ErrorKind::{BrokenPipe, ConnectionReset};
    use std::net::{Ipv4Addr, SocketAddr};
    use std::thread;

    use socket2::{Domain, Socket, Type};

    use super::*;

    /// A server on the loopback interface that answers `/long` with an endless text, and other paths with
    /// their name.
    fn server(limits: Limits) -> SocketAddr {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let answer = |request: &Request, reply: &mut Reply<'_>| {
            let path = request.path.as_deref().unwrap_or("no GET");
            reply.begin("200 OK", if path == "/page" { "text/html; charset=utf-8" } else { "text/plain" })?;
            if path == "/long" {
                loop {
                    reply.write_all(&[b'x'; 1 << 16])?;
                }
            }
            reply.write_all(path.as_bytes())
        };
        thread::spawn(move || serve(&listener, &Arc::new(Clients::new(limits)), answer));
        address
    }

    fn ask(address: SocketAddr, path: &str) -> TcpStream {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        stream.write_all(format!("GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes()).unwrap();
        stream
    }

    fn content(mut stream: &TcpStream) -> String {
        let mut text = String::new();
        stream.read_to_string(&mut text).unwrap();
        text.split_once("\r\n\r\n").unwrap().1.to_owned()
    }

    /// Waits until the server closes a connection.
    fn ends(mut stream: &TcpStream) {
        stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
        let mut buffer = [0; 1 << 16];
        loop {
            match stream.read(&mut buffer) {
                Ok(0) => return,
                Ok(_) => {}
                Err(error) if error.kind() == ConnectionReset => return,
                Err(error) => panic!("{error}"),
            }
        }
    }

    #[test]
    fn silent_clients_do_not_keep_others_waiting() {
        let address = server(Limits::default());
        let silent: Vec<_> = (0..200).map(|_| TcpStream::connect(address).unwrap()).collect();
        assert_eq!(content(&ask(address, "/now")), "/now");
        drop(silent);
    }

    #[test]
    fn clients_that_read_nothing_do_not_keep_others_waiting() {
        let address = server(Limits::default());
        let slow: Vec<_> = (0..200).map(|_| ask(address, "/long")).collect();
        assert_eq!(content(&ask(address, "/now")), "/now");
        drop(slow);
    }

    #[test]
    fn a_crowded_address_displaces_its_own_connections() {
        let address = server(Limits::default());
        let other = Socket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        other.bind(&SocketAddr::from(([127, 0, 0, 2], 0)).into()).unwrap();
        other.connect(&address.into()).unwrap();
        let mut other = TcpStream::from(other);
        let crowd: Vec<_> = (0..200).map(|_| TcpStream::connect(address).unwrap()).collect();
        ends(&crowd[0]);
        other.write_all(format!("GET /other HTTP/1.1\r\nHost: {address}\r\n\r\n").as_bytes()).unwrap();
        assert_eq!(content(&other), "/other");
    }

    #[test]
    fn a_request_that_arrives_byte_by_byte_ends_at_its_deadline() {
        let limits = Limits { request: Duration::from_millis(200), ..Limits::default() };
        let mut stream = TcpStream::connect(server(limits)).unwrap();
        let begun = Instant::now();
        loop {
            match stream.write_all(b"x") {
                Err(error) if matches!(error.kind(), BrokenPipe | ConnectionReset) => break,
                done => done.unwrap(),
            }
            assert!(begun.elapsed() < Duration::from_secs(60), "it does not end");
            thread::sleep(Duration::from_millis(20));
        }
    }

    #[test]
    fn an_answer_that_is_read_slowly_ends_at_its_deadline() {
        let limits = Limits { answer: Duration::from_millis(200), ..Limits::default() };
        ends(&ask(server(limits), "/long"));
    }

    #[test]
    fn no_other_page_can_embed_or_read_an_answer() {
        let address = server(Limits::default());
        let head = |path| {
            let mut text = String::new();
            ask(address, path).read_to_string(&mut text).unwrap();
            text.split_once("\r\n\r\n").unwrap().0.to_lowercase()
        };
        for path in ["/page", "/status"] {
            let head = head(path);
            for field in [
                "x-content-type-options: nosniff",
                "referrer-policy: no-referrer",
                "cross-origin-opener-policy: same-origin",
                "cross-origin-resource-policy: same-origin",
                "frame-ancestors 'none'",
            ] {
                assert!(head.contains(field), "{path}: {field}: {head}");
            }
        }
        assert!(head("/status").contains("default-src 'none'"));
    }

    #[test]
    fn a_request_must_name_one_host_by_its_address() {
        let address = server(Limits::default());
        let status = |hosts: &str| {
            let mut stream = TcpStream::connect(address).unwrap();
            stream.write_all(format!("GET / HTTP/1.1\r\n{hosts}\r\n").as_bytes()).unwrap();
            let mut text = String::new();
            stream.read_to_string(&mut text).unwrap();
            text.lines().next().unwrap().to_owned()
        };
        assert_eq!(status("Host: 10.0.0.1\r\n"), "HTTP/1.1 200 OK");
        for hosts in ["", "Host: evil.example\r\n", "Host: 10.0.0.1\r\nHost: evil.example\r\n"] {
            assert_eq!(status(hosts), "HTTP/1.1 403 Forbidden", "{hosts:?}");
        }
    }

    #[test]
    fn a_page_is_asked_for_by_an_address() {
        for host in ["10.0.0.1", "10.0.0.1:8698", "localhost:8698", "localhost", "[::1]:8698", "[fd00::1]"] {
            assert!(is_address(host), "{host}");
        }
        for host in
            ["", "evil.example", "evil.example:8698", "localhost.evil.example", "10.0.0.1.evil.example:80"]
        {
            assert!(!is_address(host), "{host}");
        }
    }
}
