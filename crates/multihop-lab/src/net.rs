//! Networks that run, and their nodes.

use std::fmt;
use std::path::Path;
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Value, json};

use crate::Error;
use crate::link::Link;

/// A network that runs. Its drop ends all programs and the network.
#[derive(Debug)]
pub struct Net {
    pub(crate) link: Link,
    limits: Option<Limits>,
    pub(crate) stations: Vec<Station>,
}

/// Largest lateness of a network whose results are valid.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// Lateness of 99% of the events and packets.
    pub(crate) late: Duration,
    /// Share of the time that the network may lose because it is late.
    pub(crate) lost: f64,
}

/// Name and addresses of a node.
#[derive(Debug, Deserialize)]
pub(crate) struct Station {
    name: String,
    address: String,
    address6: String,
}

impl Station {
    /// Replaces the number of this node in braces by its address.
    pub(crate) fn fill(&self, line: &str, number: usize) -> String {
        let line = line.replace(&format!("{{{number}}}"), &self.address);
        line.replace(&format!("{{{number}:6}}"), &self.address6)
    }
}

impl Net {
    pub(crate) fn new(mut link: Link, limits: Option<Limits>) -> Result<Self, Error> {
        let stations = serde_json::from_value(link.stations.take()).map_err(unreadable)?;
        Ok(Self { link, limits, stations })
    }

    /// The node or host with this number.
    ///
    /// # Panics
    ///
    /// If the network has fewer nodes.
    pub fn node(&self, number: usize) -> Node<'_> {
        let count = self.stations.len();
        assert!(number < count, "found node {number}, allowed: 0 to {}", count - 1);
        Node { net: self, number }
    }

    /// Number of nodes and hosts.
    pub fn nodes(&self) -> usize {
        self.stations.len()
    }

    /// Puts a wall between two nodes, which then neither hear nor sense each other.
    pub fn cut(&self, a: usize, b: usize) -> Result<(), Error> {
        self.change("cut", json!({"link": [a, b]}))
    }

    /// Removes the wall between two nodes.
    pub fn mend(&self, a: usize, b: usize) -> Result<(), Error> {
        self.change("mend", json!({"link": [a, b]}))
    }

    /// Moves a node to a place, in metres. Static routes remain.
    pub fn move_to(&self, node: usize, place: [f64; 2]) -> Result<(), Error> {
        self.change("move", json!({"node": node, "to": place}))
    }

    /// Loses this share of the frames on all links, at random. The MAC transmits a lost frame again.
    pub fn lossy(&self, chance: f64) -> Result<(), Error> {
        self.change("loss", json!({"chance": chance}))
    }

    /// Loses this share of the packets on a link in both directions; only a transport repeats them.
    pub fn lossy_link(&self, a: usize, b: usize, chance: f64) -> Result<(), Error> {
        self.change("loss", json!({"chance": chance, "of": "packets", "link": [a, b]}))
    }

    /// Silences the radio of a node, and stops its programs.
    pub fn freeze(&self, node: usize) -> Result<(), Error> {
        self.change("freeze", json!({"node": node}))
    }

    /// Lets a frozen node go on: its radio and its programs.
    pub fn thaw(&self, node: usize) -> Result<(), Error> {
        self.change("thaw", json!({"node": node}))
    }

    /// Writes all frames from now on into a file (pcapng).
    pub fn capture(&self, file: impl AsRef<Path>) -> Result<(), Error> {
        let file = std::path::absolute(file).map_err(unreadable)?;
        self.change("capture", json!({"file": file}))
    }

    /// Counters of the radio and the queue of a node, since the start.
    pub fn counters(&self, node: usize) -> Result<Counters, Error> {
        serde_json::from_value(self.link.ask("counters", json!({"node": node}))?).map_err(unreadable)
    }

    /// Virtual time since the start.
    pub fn time(&self) -> Result<Duration, Error> {
        let status = self.link.ask("status", json!({}))?;
        Ok(Duration::from_secs_f64(status["time"].as_f64().unwrap_or_default()))
    }

    /// Ends programs and network. Fails with [`Error::NotValid`] if the network was too late for real time; the result
    /// is that of `multihop emulate --json`.
    pub fn close(mut self) -> Result<Value, Error> {
        let result = self.link.end()?;
        let reasons = self.limits.map_or_else(Vec::new, |limits| limits.exceeded(&result["emulation"]));
        if reasons.is_empty() { Ok(result) } else { Err(Error::NotValid(reasons.join("; "))) }
    }

    fn change(&self, what: &str, keys: Value) -> Result<(), Error> {
        self.link.ask(what, keys).map(drop)
    }
}

impl Limits {
    /// The limits that an emulation has exceeded.
    fn exceeded(self, emulation: &Value) -> Vec<String> {
        let limit = 1e3 * self.late.as_secs_f64();
        let late = [("events", "wakeups_late_ms"), ("packets", "deliveries_late_ms")];
        let late = late.into_iter().filter_map(|(what, key)| {
            let found = emulation[key]["p99"].as_f64().filter(|found| *found > limit)?;
            Some(format!("99% of the {what} were up to {found:.1} ms late, allowed: {limit} ms"))
        });
        let lost = emulation["lost_share"].as_f64().filter(|lost| *lost > self.lost);
        let lost = lost
            .map(|lost| format!("{:.1}% of the time was lost, allowed: {}%", 1e2 * lost, 1e2 * self.lost));
        late.chain(lost).collect()
    }
}

/// A node or host, whose programs see only its network.
#[derive(Clone, Copy, Debug)]
pub struct Node<'a> {
    pub(crate) net: &'a Net,
    pub(crate) number: usize,
}

impl<'a> Node<'a> {
    /// Name of the node in the hosts file of the programs.
    pub fn name(&self) -> &'a str {
        &self.net.stations[self.number].name
    }

    /// IPv4 address of the node inside the network.
    pub fn address(&self) -> &'a str {
        &self.net.stations[self.number].address
    }

    /// IPv6 address of the node inside the network.
    pub fn address6(&self) -> &'a str {
        &self.net.stations[self.number].address6
    }
}

/// Counters of a node since the start of the network.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct Counters {
    /// Packets in the interface queues now.
    pub queue: u64,
    /// Largest length of an interface queue so far.
    pub longest_queue: u64,
    /// Packets that entered the interface queues, dropped ones included.
    pub queued: u64,
    /// Packets dropped because a queue was full, or by its active queue management.
    pub queue_drops: u64,
    /// Unicast transmissions to each neighbour.
    pub links: Vec<LinkCounters>,
}

/// Counters of the transmissions from a node to a neighbour.
#[derive(Clone, Debug, Deserialize)]
#[non_exhaustive]
pub struct LinkCounters {
    /// Number of the neighbour.
    pub to: usize,
    /// Packets that the neighbour acknowledged.
    pub delivered: u64,
    /// Packets dropped at the MAC's retry limit.
    pub dropped: u64,
    /// Data frames transmitted, retries included.
    pub frames: u64,
    /// Retries for packets that were delivered or given up.
    pub retries: u64,
}

impl Counters {
    /// Retries to all neighbours.
    pub fn retries(&self) -> u64 {
        self.links.iter().map(|link| link.retries).sum()
    }

    /// Packets that the neighbours acknowledged.
    pub fn delivered(&self) -> u64 {
        self.links.iter().map(|link| link.delivered).sum()
    }
}

pub(crate) fn unreadable(error: impl fmt::Display) -> Error {
    Error::Refused(format!("the command is of another version: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_late_network_is_not_valid() {
        let limits = Limits { late: Duration::from_millis(5), lost: 0.01 };
        let late = |events: f64, lost: f64| json!({"wakeups_late_ms": {"p99": events}, "deliveries_late_ms": null, "lost_share": lost});
        assert_eq!(limits.exceeded(&late(5.0, 0.01)), Vec::<String>::new());
        assert_eq!(
            limits.exceeded(&late(5.1, 0.03)),
            [
                "99% of the events were up to 5.1 ms late, allowed: 5 ms",
                "3.0% of the time was lost, allowed: 1%"
            ]
        );
    }
}
