#!/usr/bin/env bash
# Run the Rust tests of the crates with unsafe code under AddressSanitizer, which needs a nightly toolchain:
# rustup toolchain install nightly. The standard library itself is not instrumented.
set -euo pipefail
cd "$(dirname "$0")/.."

# multihop-wasm runs in a browser only.
mapfile -t crates < <(grep -rlE --include=*.rs '\bunsafe \{|\bunsafe (impl|fn|extern)' crates/*/src |
    cut -d/ -f2 | sort -u | grep -v multihop-wasm)

if ! rustc +nightly --version >/dev/null 2>&1; then
    echo "skipped: no nightly toolchain, which AddressSanitizer needs: rustup toolchain install nightly"
    exit
fi
host=$(rustc +nightly --version --verbose | sed -n 's/^host: //p')
echo "AddressSanitizer: ${crates[*]}"
# With --target, the flags do not apply to build scripts and procedural macros.
export RUSTFLAGS="-Zsanitizer=address" CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-target}/sanitize"
run() {
    cargo +nightly test --locked --quiet --target "$host" --lib --bins --tests "${crates[@]/#/--package=}" "$@"
}
run --no-run
# The tests of libtpa compile C programs, which need the sanitizer as well.
wrappers=$(mktemp -d)
trap 'rm -r "$wrappers"' EXIT
printf '#!/bin/sh\nexec %s -fsanitize=address "$@"\n' "$(command -v cc)" >"$wrappers/cc"
chmod +x "$wrappers/cc"
PATH="$wrappers:$PATH" run
