//! The command `multihop` with the transports `quinn` and `noq`.
//!
//!     cargo run --release -p multihop-quic -- run scenario.toml --set flow.0.transport=quinn

use multihop_scenario::Extensions;

fn main() {
    let extensions = multihop_quic::register(Extensions::default());
    std::process::exit(multihop_cli::main_with(std::env::args_os().collect(), &extensions));
}
