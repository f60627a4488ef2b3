//! Voice, web pages and video over small networks: what their users notice.

use multihop_sim::results::{ApplicationResult, FlowResult, VideoResult, VoiceResult, WebResult};

use crate::support::result;

fn flows(seconds: f64, hops: u32, head: &str, flows: &str) -> Vec<FlowResult> {
    let topology = format!("[topology]\nkind = \"chain\"\nhops = {hops}\n");
    result(&format!("duration = {seconds:?}\n{head}\n{topology}{flows}")).flows
}

fn voice(flow: &FlowResult) -> &VoiceResult {
    match flow.application.as_ref() {
        Some(ApplicationResult::Voice(result)) => result,
        other => panic!("{other:?}"),
    }
}

fn web(flow: &FlowResult) -> &WebResult {
    match flow.application.as_ref() {
        Some(ApplicationResult::Web(result)) => result,
        other => panic!("{other:?}"),
    }
}

fn video(flow: &FlowResult) -> &VideoResult {
    match flow.application.as_ref() {
        Some(ApplicationResult::Video(result)) => result,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_call_over_a_free_network_has_the_rating_of_its_codec() {
    for (codec, impairment, ear_ms) in [("g711", 0.0, 80.0), ("g729", 11.0, 85.0)] {
        let call = format!("[[flow]]\napp = \"voice\"\ncodec = \"{codec}\"\nspeech = \"continuous\"\n");
        let flow = &flows(10.0, 2, "", &call)[0];
        let voice = voice(flow);
        assert_eq!((voice.lost, voice.late), (Some(0.0), 0), "{codec}");
        assert!((voice.mouth_to_ear_ms - ear_ms).abs() < 1e-9, "{codec}: {}", voice.mouth_to_ear_ms);
        let expected = 94.2 - 0.024 * ear_ms - impairment;
        assert!((voice.r_factor.unwrap() - expected).abs() < 1e-9, "{codec}: {:?}", voice.r_factor);
        // There is a packet each 20 ms. Those of the last playout delay are not judged.
        assert!((495..=500).contains(&voice.packets), "{codec}: {}", voice.packets);
        assert_eq!(flow.transport, "udp");
    }
}

#[test]
fn a_call_suffers_from_a_greedy_flow_and_from_a_short_playout_delay() {
    let call = |keys: &str, more: &str| {
        let call = format!("[[flow]]\napp = \"voice\"\nspeech = \"continuous\"\n{keys}{more}");
        voice(&flows(20.0, 3, "", &call)[0]).mos.unwrap()
    };
    let greedy = "[[flow]]\nfrom = 0\nto = 3\ntransport = \"newreno\"\n";
    let with_pair = "from = 0\nto = 3\n";
    let (free, shared) = (call(with_pair, ""), call(with_pair, greedy));
    assert!(free > 4.2 && shared < free - 0.5, "{free} alone, {shared} beside NewReno");
    let hasty = call("from = 0\nto = 3\nplayout_delay = 0.001\n", "");
    assert!(hasty < 2.0, "{hasty}: three hops take more than a millisecond");
}

#[test]
fn talk_spurts_need_the_share_of_speech_of_p59() {
    let sent = |speech: &str| {
        let call = format!("[[flow]]\napp = \"voice\"\ncodec = \"g729\"\nspeech = \"{speech}\"\n");
        voice(&flows(300.0, 1, "", &call)[0]).packets as f64
    };
    let share = sent("spurts") / sent("continuous");
    // 0.39 of the time; some 115 spurts in 300 s.
    assert!((0.3..0.48).contains(&share), "{share}");
}

#[test]
fn pages_take_longer_over_more_hops() {
    let load = |hops| {
        let pages = "[[flow]]\napp = \"web\"\nreading = 1.0\ntransport = \"newreno\"\n";
        let flow = &flows(300.0, hops, "", pages)[0];
        let web = web(flow);
        assert!(web.pages > 20 && web.unfinished_pages <= 1, "{web:?}");
        web.page_load_ms.unwrap().p50
    };
    let (near, far) = (load(1), load(4));
    assert!(far > 1.5 * near, "{near} ms over one hop, {far} ms over four");
}

#[test]
fn a_video_plays_without_stalls_only_if_the_network_carries_its_rate() {
    let play = |rate: u32| {
        let text = format!("[[flow]]\napp = \"video\"\nrate_kbps = {rate}\ntransport = \"newreno\"\n");
        flows(60.0, 2, "", &text).remove(0)
    };
    let slow = play(200);
    let found = video(&slow);
    assert_eq!((found.stalls, found.stalled_seconds), (0, 0.0));
    let startup = found.startup_seconds.unwrap();
    assert!((found.played_seconds + startup - 60.0).abs() < 1e-6, "{found:?}");
    // At most the content of the buffer is fetched before it is played.
    assert!(found.segments as f64 * 2.0 <= found.played_seconds + 30.0 + 1e-6, "{found:?}");
    let fast = play(2000);
    let found = video(&fast);
    assert!(found.stalls >= 3 && found.stalled_seconds > 20.0, "{found:?}");
    assert!(found.startup_seconds.unwrap() > 2.0 * startup);
    // All of the capacity is used.
    assert!(
        fast.goodput_kbps > 400.0 && fast.goodput_kbps > 2.0 * slow.goodput_kbps,
        "{}",
        fast.goodput_kbps
    );
}

#[test]
fn applications_end_at_their_stop_and_do_not_count_the_warm_up() {
    let text = "[[flow]]\napp = \"voice\"\nspeech = \"continuous\"\nstop = 6.0\n[[flow]]\nfrom = 1\nto = 0\napp = \"video\"\n\
                rate_kbps = 100.0\ntransport = \"newreno\"\nstop = 8.0\n";
    let flows = flows(10.0, 1, "warmup = 4.0", text);
    assert_eq!((flows[0].stop, flows[1].stop), (6.0, 8.0));
    assert!((97..=100).contains(&voice(&flows[0]).packets), "{:?}", voice(&flows[0]));
    assert!((video(&flows[1]).played_seconds - 4.0).abs() < 1e-6, "{:?}", video(&flows[1]));
}
