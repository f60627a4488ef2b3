#!/usr/bin/env bash
# Fuzz the parsers on stable Rust, each target for a given time.
#
#   tools/fuzz.sh                 all targets, 5 s each
#   tools/fuzz.sh 60 tcp udp      these, 60 s each
#   tools/fuzz.sh seeds tcp udp   add the smallest inputs of their corpus that reach further code to their seeds
#
# A run of all targets builds one program with all of them. A run of named targets builds a program for each: it takes
# longer to build and reads more inputs per second, because libFuzzer reads the counters of all code after each input.
#
# Seeds are messages of simulated networks (multihop run --pcap), small files and sequences of operations.
# Every run begins with all seeds of the target, fuzz/seeds, and with its corpus, which is kept in fuzz/corpus. Crashing
# inputs are kept in fuzz/artifacts.
set -euo pipefail
cd "$(dirname "$0")/.."

main() {
    local seconds=${1:-5}
    [[ $seconds =~ ^([1-9][0-9]*|seeds)$ ]] || fail "'$seconds' seconds for each target, allowed: 1 or more, or seeds"
    local all
    all=$(cd fuzz/targets && basename -s .rs -- *.rs)
    local targets=("${@:2}")
    for target in "${targets[@]}"; do
        grep -qx -- "$target" <<<"$all" || fail "no target '$target', allowed: ${all//$'\n'/ }"
    done
    if ! command -v "${CXX:-c++}" >/dev/null; then
        echo "skipped: no C++ compiler (${CXX:-c++}), which libFuzzer needs"
        return
    fi
    local programs="${CARGO_TARGET_DIR:-fuzz/target}/$TRIPLE/release"
    local program="$programs/multihop-fuzz"
    if [[ ${#targets[@]} -eq 0 ]]; then
        mapfile -t targets <<<"$all"
        build --all-features
    else
        for target in "${targets[@]}"; do
            build "--features=$target"
            cp "$program" "$programs/$target"
        done
        program="$programs/{}"
    fi
    export -f run merge
    local step=(run {} "$program" "$seconds")
    [[ $seconds == seeds ]] && step=(merge {} "$program")
    # Each on a processor of its own.
    printf '%s\n' "${targets[@]}" | xargs -P "$(nproc)" -I{} bash -c '"$@"' bash "${step[@]}"
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
        --target "$TRIPLE" "$@"
}

run() {
    local target=$1 program=$2 seconds=$3
    local artifacts="fuzz/artifacts/$target/" corpus="fuzz/corpus/$target"
    mkdir -p "$artifacts" "$corpus"
    local seeds=("fuzz/seeds/$target")
    [[ $target == scenario ]] && seeds+=(scenarios)
    local log
    if log=$(FUZZ_TARGET=$target RUST_BACKTRACE=0 "$program" -max_total_time="$seconds" -timeout=10 -print_final_stats=1 \
        -artifact_prefix="$artifacts" "$corpus" "${seeds[@]}" 2>&1); then
        local inputs read
        inputs=$(sed -n 's/^stat::number_of_executed_units: *//p' <<<"$log")
        read=$(sed -n 's/^INFO: seed corpus: files: \([0-9]*\).*/\1/p' <<<"$log")
        echo "$target: $inputs inputs, $read of them from seeds and corpus, no crash"
        return
    fi
    local input
    input=$(sed -n 's/.*Test unit written to //p' <<<"$log" | tail -1)
    tail -n 40 <<<"$log"
    if [[ -z $input ]]; then
        echo "$target: stopped without a crashing input, see above"
    else
        echo "$target: CRASHED on the input in $input"
        echo "reproduce with: FUZZ_TARGET=$target $program $input"
    fi
    return 1
}

merge() {
    local target=$1 program=$2
    mkdir -p "fuzz/seeds/$target"
    # Further code, not further counts of loops: a few kilobytes for each target.
    FUZZ_TARGET=$target "$program" -merge=1 -use_counters=0 -max_len=1024 \
        "fuzz/seeds/$target" "fuzz/corpus/$target" 2>&1 | sed -n "s/^MERGE-OUTER: \([0-9]* new files\).*/$target: \1/p"
}

fail() {
    echo "fuzz.sh: $1" >&2
    exit 2
}

TRIPLE=$(rustc -vV | sed -n 's/^host: //p')
main "$@"
