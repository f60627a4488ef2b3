#!/bin/sh
# Run the compiler, and let it compile some programs of tests without optimisation, which would take longer than it
# saves: unit tests of all crates except multihop-route, and tests/it of the scenarios and the simulator. The crates
# that these tests call keep their level. Cargo has no such setting; it runs this as RUSTC_WORKSPACE_WRAPPER.
case " $* " in
*" --crate-name multihop_route "*) ;;
*" --crate-name multihop_"*" --test "*) set -- "$@" -Copt-level=0 ;;
*" crates/multihop-scenario/tests/it/"*" --test "* | *" crates/multihop-sim/tests/it/"*" --test "*)
    set -- "$@" -Copt-level=0
    ;;
esac
exec "$@"
