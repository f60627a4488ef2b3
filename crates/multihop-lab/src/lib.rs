//! Tests of programs on an emulated wireless mesh.
//!
//! A test makes a network, starts programs at its nodes and breaks it. Each node has a network stack of this kernel, the
//! radio is simulated, and time is real time. When the network is dropped, everything in it ends.
//!
//! ```no_run
//! use std::time::Duration;
//! use multihop_lab::Lab;
//!
//! let net = Lab::chain(4).phy("802.11g").start()?;
//! let server = net.node(4).command("iperf3 -s -1").listens(5201).start()?;
//! net.node(0).run("iperf3 -c {4} -t 2", Duration::from_secs(30))?;
//! assert_eq!(server.wait(Duration::from_secs(10))?, Some(0));
//!
//! net.cut(2, 3)?;
//! assert!(net.node(0).run("ping -c 1 -W 1 {4}", Duration::from_secs(10)).is_err());
//! net.mend(2, 3)?;
//! net.lossy(0.1)?;
//! net.node(0).run("ping -c 20 -i 0.05 node4", Duration::from_secs(30))?;
//! assert!(net.counters(1)?.retries() > 0);
//! net.close()?;
//! # Ok::<(), multihop_lab::Error>(())
//! ```
//!
//! * [`Lab`] describes a network: a row, a grid, or a scenario of multihop, with keys of scenarios.
//! * [`Net`] is a network that runs, [`Node`] one of its nodes, [`Program`] a program there.
//! * [`Net::close`] reports whether the network kept up with real time. If it did not, numbers and timeouts mean nothing.
//!
//! The crate is a client of `multihop emulate --control`. It runs the command that the environment variable `MULTIHOP`
//! names, or `multihop` on the search path. It needs Linux with user namespaces, or root.
//!
//! In command lines `{4}` is the IPv4 address of node 4, and `{4:6}` its IPv6 address. The nodes also have the names
//! `node0`, `node1`, ... in the hosts file of the programs.

mod lab;
mod link;
mod net;
mod program;

pub use lab::Lab;
pub use net::{Counters, LinkCounters, Net, Node};
pub use program::{Command, Program};

/// Why a network or a program did not do what the test expects.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The machine does not allow emulations; the text names what to allow.
    #[error("this machine allows no emulation: {0}")]
    Unavailable(String),
    /// The emulation refuses a request, or has ended.
    #[error("{0}")]
    Refused(String),
    /// A program ended with an error or not in time; the text has its last lines.
    #[error("{0}")]
    Program(String),
    /// The network was too late for real time.
    #[error("not valid: the emulation was too late for real time: {0}")]
    NotValid(String),
}
