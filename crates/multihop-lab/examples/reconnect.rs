//! A program that must survive a broken link: `ping` over four hops.
//!
//! Run it with the command `multihop` on the search path: `cargo run -p multihop-lab --example reconnect`.
#![expect(clippy::print_stdout, reason = "an example for people")]

use std::time::Duration;

use multihop_lab::{Error, Lab};

fn main() -> Result<(), Error> {
    let limit = Duration::from_secs(20);
    let net = Lab::chain(4).phy("802.11g").any_lateness().start()?;
    let ping = |count| net.node(0).run(&format!("ping -c {count} -i 0.2 -W 1 node4"), limit);
    print!("{}", ping(3)?);
    net.cut(2, 3)?;
    println!("cut: {}", ping(1).is_err());
    net.mend(2, 3)?;
    net.lossy(0.2)?;
    ping(10)?;
    println!("retries of node 1: {}", net.counters(1)?.retries());
    net.close()?;
    Ok(())
}
