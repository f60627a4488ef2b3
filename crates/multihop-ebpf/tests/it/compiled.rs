//! Checks that the compiled file belongs to the source.

use std::fs;
use std::path::Path;
use std::process::Command;

/// With which the file in the repository has been compiled.
const COMPILER: &str = "clang version 14.";

#[test]
fn the_compiled_programs_are_those_of_the_source() {
    let Some(version) = output_of("clang", &["--version"]) else {
        crate::skip("clang is missing: apt-get install clang llvm libbpf-dev");
        return;
    };
    if !version.contains(COMPILER) {
        crate::skip(format!("the programs are compiled by {COMPILER}, this is another clang"));
        return;
    }
    if !Path::new("/usr/include/bpf/bpf_helpers.h").exists()
        || output_of("llvm-strip", &["--version"]).is_none()
    {
        crate::skip("libbpf-dev or llvm is missing: apt-get install llvm libbpf-dev");
        return;
    }
    let programs = Path::new(env!("CARGO_MANIFEST_DIR")).join("bpf");
    let rebuilt = std::env::temp_dir().join(format!("multihop-cc-{}.o", std::process::id()));
    let status = Command::new("sh").arg(programs.join("build.sh")).arg(&rebuilt).status().unwrap();
    let found = fs::read(&rebuilt);
    let _ = fs::remove_file(&rebuilt);
    assert!(status.success());
    let same = fs::read(programs.join("multihop_cc.bpf.o")).unwrap() == found.unwrap();
    assert!(
        same,
        "the source has changed: crates/multihop-ebpf/bpf/build.sh crates/multihop-ebpf/bpf/multihop_cc.bpf.o"
    );
}

fn output_of(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).into_owned())
}
