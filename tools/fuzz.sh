#!/usr/bin/env bash
# Fuzz the parsers on stable Rust, each target for a given time.
#
#   tools/fuzz.sh                 all targets, 5 s each
#   tools/fuzz.sh 60 tcp udp      these, 60 s each
#
# The corpus is kept in fuzz/corpus, crashing inputs in fuzz/artifacts.
set -euo pipefail
cd "$(dirname "$0")/.."

main() {
    local seconds=${1:-5}
    [[ $seconds =~ ^[1-9][0-9]*$ ]] || fail "'$seconds' seconds for each target, allowed: 1 or more"
    local all
    all=$(cd fuzz/targets && basename -s .rs -- *.rs)
    local targets=("${@:2}")
    [[ ${#targets[@]} -gt 0 ]] || mapfile -t targets <<<"$all"
    for target in "${targets[@]}"; do
        grep -qx -- "$target" <<<"$all" || fail "no target '$target', allowed: ${all//$'\n'/ }"
    done
    if ! command -v "${CXX:-c++}" >/dev/null; then
        echo "skipped: no C++ compiler (${CXX:-c++}), which libFuzzer needs"
        return
    fi
    build "${targets[@]}"
    export -f run
    export TRIPLE
    # Each on a processor of its own.
    printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c 'run "$@"' run {} "$seconds"
}

# As cargo-fuzz does, but without nightly: coverage comes from LLVM's own pass. With --target, the flags do not apply to
# build scripts.
build() {
    local flags=(
        -Cpasses=sancov-module
        -Cllvm-args=-sanitizer-coverage-level=4
        -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
        -Cllvm-args=-sanitizer-coverage-pc-table
        -Cllvm-args=-sanitizer-coverage-trace-compares
        --cfg fuzzing
        -Ccodegen-units=1
    )
    RUSTFLAGS="${flags[*]}" cargo build --quiet --release --locked --manifest-path fuzz/Cargo.toml \
        --target "$TRIPLE" "${@/#/--bin=}"
}

run() {
    local target=$1 seconds=$2
    local program="${CARGO_TARGET_DIR:-fuzz/target}/$TRIPLE/release/$target"
    local artifacts="fuzz/artifacts/$target/" corpus="fuzz/corpus/$target"
    mkdir -p "$artifacts" "$corpus"
    local seeds=()
    [[ $target == scenario ]] && seeds=(scenarios)
    [[ -d fuzz/seeds/$target ]] && seeds=("fuzz/seeds/$target")
    local log
    if log=$(RUST_BACKTRACE=0 "$program" -max_total_time="$seconds" -timeout=10 -print_final_stats=1 \
        -artifact_prefix="$artifacts" "$corpus" "${seeds[@]}" 2>&1); then
        echo "$target: $(sed -n 's/^stat::number_of_executed_units: *//p' <<<"$log") inputs, no crash"
        return
    fi
    local input
    input=$(sed -n 's/.*Test unit written to //p' <<<"$log" | tail -1)
    tail -n 40 <<<"$log"
    if [[ -z $input ]]; then
        echo "$target: stopped without a crashing input, see above"
    else
        echo "$target: CRASHED on the input in $input"
        echo "reproduce with: $program $input"
    fi
    return 1
}

fail() {
    echo "fuzz.sh: $1" >&2
    exit 2
}

TRIPLE=$(rustc -vV | sed -n 's/^host: //p')
main "$@"
