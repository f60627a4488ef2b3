//! The command `multihop` with user-defined protocols.
//!
//!     cargo run --release -p multihop-cli --example my_protocols -- run examples/my_protocols.toml
//!
//! Scenarios name the protocols like built-in ones; `sweep`, `check` and `schema` know them as well. The transport
//! also runs over real sockets, between two such programs:
//!
//!     my_protocols recv --to inbox --transport stop-and-wait
//!     my_protocols send FILE HOST --transport stop-and-wait --token ...
//!
//! docs/extending.md explains the parts.

#[path = "dsdv.rs"]
mod dsdv;

#[path = "fractional_window.rs"]
mod fractional_window;

#[expect(dead_code, reason = "another program, of which this one uses only the protocol")]
#[path = "greedy.rs"]
mod greedy;

#[expect(dead_code, reason = "another program, of which this one uses only the protocol")]
#[path = "stop_and_wait.rs"]
mod stop_and_wait;

#[path = "twice.rs"]
mod twice;

use multihop_scenario::Extensions;

fn main() {
    std::process::exit(multihop_cli::main_with(std::env::args_os().collect(), &extensions()));
}

/// The protocols of this program.
pub(crate) fn extensions() -> Extensions {
    Extensions::default()
        .transport::<stop_and_wait::StopAndWait>(stop_and_wait::STOP_AND_WAIT)
        .transport::<twice::Twice>(twice::TWICE)
        .congestion::<fractional_window::FractionalWindow>(fractional_window::FRACTIONAL_WINDOW)
        .routing::<greedy::GreedyConfig>(greedy::GREEDY)
        .routing::<dsdv::Dsdv>(dsdv::DSDV)
}
