#!/bin/sh
# Compiles the programs: build.sh OUTPUT. Needs clang, llvm-strip and the headers of libbpf (clang, llvm, libbpf-dev).
set -eu
output=$(realpath "$1")
cd "$(dirname "$0")"
clang -O2 -g -Wall -Werror -target bpf -mcpu=v3 -fdebug-compilation-dir=. \
    -I"/usr/include/$(cc -dumpmachine)" -c multihop_cc.bpf.c -o "$output"
# What remains is BTF, by which the loader fits the programs to the kernel.
llvm-strip -g "$output"
