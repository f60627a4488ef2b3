//! Powers in captures, as tshark reads them, compared with those that follow from the propagation model by
//! hand.

use crate::capture::{Capture, NO_ANALYSIS, tshark_is_missing};
use crate::support::ran;

/// Two-ray power at a distance above 86 m, dBm: 24.5 dBm and antennas at 1.5 m.
fn two_ray_dbm(metres: f64) -> f64 {
    24.5 + 20.0 * 2.25_f64.log10() - 40.0 * metres.log10()
}

/// A scenario with one datagram in 100 ms over 200 m.
fn one_hop(radio: &str) -> String {
    format!(
        "duration = 2.0\nwarmup = 0.5\n{radio}[mac]\narp = \"oracle\"\n[topology]\nkind = \"chain\"\nhops = 1\n\
         [[flow]]\napp = \"cbr\"\nrate_kbps = 40.0\nsize = 500\n"
    )
}

/// Signal, noise and comment of the received and of the transmitted frames at node 1.
fn powers(capture: &Capture) -> (Vec<[String; 3]>, Vec<[String; 3]>) {
    let fields = ["radiotap.dbm_antsignal", "radiotap.dbm_antnoise", "frame.comment"];
    let at = |filter: &str| {
        let rows =
            capture.read(&format!("frame.interface_name == \"node1\" && {filter}"), NO_ANALYSIS, &fields);
        assert!(!rows.is_empty(), "{filter}");
        rows.into_iter().map(|row| <[String; 3]>::try_from(row).unwrap()).collect()
    };
    (at("wlan.ra == 02:00:00:00:00:01"), at("wlan.ra != 02:00:00:00:00:01"))
}

#[test]
fn a_received_frame_has_the_power_of_the_two_ray_model() {
    if tshark_is_missing() {
        return;
    }
    // -60.50 dBm; the threshold model has no noise.
    let expected = format!("{:.0}", two_ray_dbm(200.0));
    let (received, sent) = powers(&Capture::of(ran(&one_hop("")), "power-threshold"));
    assert!(received.iter().all(|row| *row == [&expected, "", ""]), "{received:?}");
    assert!(sent.iter().all(|row| *row == ["", "", ""]), "{sent:?}");
    // The power is that of a 5.18 GHz carrier at 100 m in free space; the scenario gives the noise floor.
    let radio = "[radio]\nmodel = \"sinr\"\ntx_power_dbm = 20.0\nnoise_floor_dbm = -90.0\nsensitivity_dbm = -85.0\n\
                 path_loss = { kind = \"log-distance\", exponent = 2.0, reference_db = 46.7 }\n";
    let (received, _) = powers(&Capture::of(ran(&one_hop(radio)), "power-sinr"));
    let expected = format!("{:.0}", 20.0 - 46.7 - 20.0 * 200_f64.log10());
    assert!(received.iter().all(|row| *row == [&expected, "-90", ""]), "{received:?}");
}

#[test]
fn the_noise_of_a_received_frame_includes_interference_and_the_comment_names_its_source() {
    if tshark_is_missing() {
        return;
    }
    // Node 2 is 600 m from node 0 and does not sense it; at node 1 it is 12 dB weaker.
    let scenario = "duration = 3.0\nwarmup = 0.5\n[radio]\nmodel = \"sinr\"\nnoise_floor_dbm = -100.0\nrate = \"1M\"\n\
                    [mac]\narp = \"oracle\"\nrts_threshold = \"off\"\n[topology]\nkind = \"list\"\n\
                    positions = [[0, 0], [200, 0], [600, 0], [800, 0]]\n\
                    [[flow]]\nfrom = 0\nto = 1\napp = \"cbr\"\nrate_kbps = 2000.0\nsize = 1000\n\
                    [[flow]]\nfrom = 2\nto = 3\napp = \"cbr\"\nrate_kbps = 2000.0\nsize = 1000\n";
    let (received, _) = powers(&Capture::of(ran(scenario), "power-interference"));
    let (signal, other) = (two_ray_dbm(200.0), two_ray_dbm(400.0));
    let disturbance = 10.0 * (10_f64.powf(-10.0) + 10_f64.powf(other / 10.0)).log10();
    let comment = format!(
        "strongest interference: data of node2 at {other:.1} dBm, SINR {:.1} dB",
        signal - disturbance
    );
    let expected = [format!("{signal:.0}"), format!("{disturbance:.0}"), comment];
    assert!(received.contains(&expected), "{expected:?} is not in {received:?}");
    assert!(received.iter().all(|row| row[0] == expected[0]), "{received:?}");
}
