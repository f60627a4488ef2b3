//! Checks of the channels of a flow.

use crate::application::{App, DATAGRAM, MessageChannel};
use crate::document::Fault;
use crate::faults::Faults;
use crate::model::{Protocol, Transport};
use crate::read::settings::Keyed;
use crate::tables::FlowTransport;

/// The channels of a flow, with a name for each.
pub(super) fn channels(
    table: &FlowTransport,
    app: &App,
    transport: Option<&Transport>,
    path: &str,
    faults: &mut Faults<'_>,
) -> Option<Vec<MessageChannel>> {
    let before = faults.len();
    let count = table.channel.len();
    let path = format!("{path}.channel");
    match app {
        App::Messages if count == 0 => {
            faults.push(Fault::at_key(&path, "is missing, required with app = \"messages\""));
        }
        App::Messages if count > MAX_CHANNELS => {
            let message = format!("found {count} channels, allowed: 1 to {MAX_CHANNELS}");
            faults.push(Fault::at_key(&path, message));
        }
        App::Messages => {}
        _ if count > 0 => {
            let message = format!("found under app {:?}, allowed: only with app = \"messages\"", app.name());
            faults.push(Fault::at_key(&path, message));
        }
        _ => return Some(Vec::new()),
    }
    let is_udp = transport.is_some_and(|transport| matches!(transport.protocol, Protocol::Udp));
    let mut channels: Vec<MessageChannel> = Vec::with_capacity(count);
    for (number, Keyed(channel)) in table.channel.iter().enumerate() {
        let name = if channel.name.is_empty() { number.to_string() } else { channel.name.clone() };
        let mut refuse = |key: &str, message: String| {
            faults.push(Fault::at_key(format!("{path}.{number}.{key}"), message));
        };
        if !name.bytes().all(|byte| byte.is_ascii_graphic()) {
            refuse("name", format!("found {name:?}, allowed: up to 32 visible ASCII characters"));
        } else if channels.iter().any(|other| other.name == name) {
            refuse("name", format!("found {name:?}, allowed: a name that no other channel has"));
        }
        if is_udp && !DATAGRAM.contains(&channel.size) {
            refuse("size", format!("found {}, allowed under udp: 1 to {}", channel.size, DATAGRAM.end()));
        }
        if is_udp && channel.interval.as_nanos() == 0 {
            refuse("interval", "found 0, allowed under udp: more than 0".to_owned());
        }
        channels.push(MessageChannel { name, ..channel.clone() });
    }
    (faults.len() == before).then_some(channels)
}

/// Checks that a flow whose packets have the DSCP of their channel has channels.
pub(super) fn dscp(
    is_set: bool,
    app: &App,
    transport: Option<&Transport>,
    path: &str,
    faults: &mut Faults<'_>,
) {
    let has_channels = matches!(app, App::Messages)
        && transport.is_none_or(|transport| matches!(transport.protocol, Protocol::Mesh { .. }));
    if is_set && !has_channels {
        let message = "found true, allowed: only with app = \"messages\" and transport = \"mesh\"";
        faults.push(Fault::at_key(format!("{path}.dscp"), message));
    }
}

/// Largest number of channels of a flow: a peer of mesh accepts no more by default.
const MAX_CHANNELS: usize = 64;
