//! `multihop route status --page`: the state of the daemon in a page, from a server that asks the daemon as
//! `multihop route status` does. It changes nothing, and serves the page and the JSON document only.

use std::io::{self, Write};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};

use anyhow::Context;
use multihop_route::{Family, status};

use super::route::no_daemon;
use crate::http::{self, Asked, Connections, head};
use crate::output;

/// The page; empty if the command was built without it.
const PAGE: &str = include_str!(concat!(env!("OUT_DIR"), "/routes.html"));

/// Serves until the process is killed.
pub(crate) fn serve(address: SocketAddr, family: Family) -> anyhow::Result<()> {
    if PAGE.is_empty() {
        anyhow::bail!(
            "this command was built without its pages; make build includes them where Node 20 is installed"
        );
    }
    let listener =
        TcpListener::bind(address).with_context(|| format!("cannot serve the page at {address}"))?;
    let address = listener.local_addr().with_context(|| format!("cannot serve the page at {address}"))?;
    output::line(format_args!("open http://{address}/ in a browser; Ctrl-C ends the page"))?;
    http::serve(&listener, &Connections::default(), move |asked, stream| answer(asked, stream, family));
    Ok(())
}

fn answer(asked: &Asked, stream: &mut TcpStream, family: Family) -> io::Result<()> {
    if !asked.host.as_deref().is_some_and(is_address) {
        head(stream, "403 Forbidden", "text/plain")?;
        return stream.write_all(b"open this page by its address");
    }
    match asked.path.as_deref() {
        Some("/") => {
            head(stream, "200 OK", "text/html; charset=utf-8")?;
            stream.write_all(PAGE.as_bytes())
        }
        Some("/status") => match status(family) {
            Ok(text) => {
                head(stream, "200 OK", "application/json")?;
                stream.write_all(text.as_bytes())
            }
            Err(_) => {
                head(stream, "503 Service Unavailable", "text/plain")?;
                stream.write_all(no_daemon(family).as_bytes())
            }
        },
        _ => head(stream, "404 Not Found", "text/plain"),
    }
}

/// Whether a browser was told an address and no name: a foreign page can give its own name the address of this server,
/// and would then read what the server says.
fn is_address(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        _ => host,
    };
    let name = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    name == "localhost" || name.parse::<IpAddr>().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

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
