//! Files of qlog through the public API; `python/tests/test_qlog.py` tests their contents.

use std::io;

use multihop_sim::{Outputs, run, unattended};

use super::support::scenario;

#[test]
fn every_flow_needs_a_file() {
    let scenario = scenario(
        "duration = 2.0\n[topology]\nkind = \"chain\"\nhops = 1\n[[flow]]\ntransport = \"newreno\"\n\
         [[flow]]\nfrom = 1\nto = 0\ntransport = \"newreno\"\n",
    );
    let result = |files: usize| {
        let qlog = (0..files).map(|_| Box::new(io::sink()) as Box<_>).collect();
        run(&scenario, Outputs { qlog, ..Outputs::default() }, &mut unattended)
    };
    assert!(result(0).is_ok() && result(2).is_ok());
    let message = result(1).unwrap_err().to_string();
    assert!(message.ends_with("found 1 files of qlog, allowed: 2, one for each flow"), "{message}");
}
