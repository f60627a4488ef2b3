//! Implements `multihop route status --page`: a page with the state of the daemon. The server changes
//! nothing, and serves only the page and the JSON document.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use anyhow::Context;
use multihop_route::{Family, status};
use multihop_sandbox::{Needs, Sandbox};

use super::route_status::no_daemon;
use crate::http::{self, Clients, Limits, Reply, Request};
use crate::output;

/// Text of the page; empty if the command was built without it.
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
    let sandbox = Sandbox::prepare(Needs { abstract_sockets: true, ..Needs::default() });
    sandbox.and_then(|sandbox| sandbox.enter()).context("cannot drop rights")?;
    let clients = Arc::new(Clients::new(Limits::default()));
    http::serve(&listener, &clients, move |request, reply| answer(request, reply, family));
    Ok(())
}

fn answer(request: &Request, reply: &mut Reply<'_>, family: Family) -> io::Result<()> {
    match request.path.as_deref() {
        Some("/") => {
            reply.begin("200 OK", "text/html; charset=utf-8")?;
            reply.write_all(PAGE.as_bytes())
        }
        Some("/status") => match status(family) {
            Ok(text) => {
                reply.begin("200 OK", "application/json")?;
                reply.write_all(text.as_bytes())
            }
            Err(_) => {
                reply.begin("503 Service Unavailable", "text/plain")?;
                reply.write_all(no_daemon(family).as_bytes())
            }
        },
        _ => reply.begin("404 Not Found", "text/plain"),
    }
}
