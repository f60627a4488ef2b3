//! `multihop perf`.

use super::*;

#[test]
fn perf_prints_lines_or_json() {
    let folder = Folder::new("perf");
    let mut server = Running::new(&folder, &["perf", "--listen", "127.0.0.1:0", "--plain"]);
    let to = server.address();
    let args = ["perf", &to, "--plain", "--bytes", "2M", "--interval", "0.01"];
    let said = Running::new(&folder, &args).succeeds().stdout;
    for part in ["2000000 bytes in ", " Mb/s", "retransmitted: ", "CPU seconds per GB", "rtt ", "cwnd "] {
        assert!(said.contains(part), "{said}");
    }
    let args = ["perf", &to, "--plain", "--time", "0.2", "--reverse", "--json"];
    let said = Running::new(&folder, &args).succeeds().stdout;
    let document: serde_json::Value = serde_json::from_str(&said).unwrap();
    assert_eq!((&document["direction"], &document["security"]), (&"reverse".into(), &"plain".into()));
    assert_eq!(document["sender"]["bytes"], document["receiver"]["bytes"]);
    assert!(document["goodput_kbps"].as_f64().unwrap() > 0.0);
    assert!(document["receiver"]["cpu_seconds_per_gb"].as_f64().unwrap() > 0.0);
    assert!(server.line().contains(": 2000000 bytes in "));
}
