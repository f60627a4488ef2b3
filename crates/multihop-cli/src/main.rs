//! Binary of the command `multihop`.

fn main() {
    std::process::exit(multihop_cli::main(std::env::args_os().collect()));
}
