//! One file to every node (`app = "spread"`).

use crate::support::result;

const STRIP: &str =
    "[topology]\nkind = \"list\"\npositions = [[0, 0], [200, 0], [200, 100], [400, 0], [400, 100]]\n";

#[test]
fn a_file_reaches_every_node_over_two_lossy_hops() {
    let flow = "[[flow]]\nfrom = 0\nto = 3\napp = \"spread\"\nbytes = 50000\nexpect = 4\n";
    let radio = "[radio]\nframe_loss = 0.2\n";
    let result = result(&format!("duration = 30.0\n{STRIP}{radio}{flow}"));
    let flow = &result.flows[0];
    let spread = flow.spread.as_ref().expect("a flow of spread");
    assert_eq!((flow.app.as_str(), flow.transport.as_str(), spread.complete), ("spread", "udp", 4));
    assert_eq!(spread.node_s[0], None, "the source");
    let last = spread.node_s.iter().flatten().copied().fold(0.0, f64::max);
    assert_eq!(spread.all_s, Some(last));
    assert!((flow.stop - flow.start - last).abs() < 1e-6, "{flow:?}");
    // Common results are those of node 3.
    let at = spread.node_s[3].expect("node 3 has the file");
    assert!(at <= last && (flow.goodput_kbps - 400.0 / last).abs() < 0.1, "{flow:?}");
    // 40 symbols, and one of the manifest.
    assert_eq!(spread.frames["content"], 41);
    assert!(spread.frames["relay"] >= 20 && spread.frames["repair"] > 0, "{spread:?}");
    let frames: u64 = spread.frames.values().sum();
    assert_eq!(result.mac.frames["broadcast"], frames);
    let airtime = result.mac.airtime_share * result.sim_seconds;
    assert!((airtime - spread.airtime_s).abs() < 1e-6 * airtime, "{airtime} {spread:?}");
}

#[test]
fn broadcasts_of_a_file_share_the_queue_with_other_traffic() {
    let flows = "[[flow]]\nfrom = 0\nto = 3\napp = \"spread\"\nbytes = 10000\n\
                 [[flow]]\nfrom = 1\nto = 0\ntransport = \"newreno\"\n";
    let result = result(&format!("duration = 30.0\n{STRIP}{flows}"));
    assert_eq!(result.flows[0].spread.as_ref().map(|spread| spread.complete), Some(4));
    assert!(result.flows[1].goodput_kbps > 100.0, "{:?}", result.flows[1]);
}

#[test]
fn a_node_out_of_reach_gets_nothing() {
    let far = "[topology]\nkind = \"list\"\npositions = [[0, 0], [200, 0], [9000, 0]]\n";
    let flow = "[[flow]]\nfrom = 0\nto = 1\napp = \"spread\"\nbytes = 10000\n";
    let result = result(&format!("duration = 20.0\n{far}{flow}"));
    let spread = result.flows[0].spread.clone().expect("a flow of spread");
    assert_eq!((spread.complete, spread.all_s, spread.node_s[2]), (1, None, None));
    assert!((result.flows[0].stop - 20.0).abs() < 1e-6);
}
