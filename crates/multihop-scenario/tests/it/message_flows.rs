//! Channels of `app = "messages"`.

use multihop_core::Duration;
use multihop_scenario::{App, MessageChannel};

use super::{load, refused};

/// A chain with a flow of messages over a transport, and these channels.
fn flow(transport: &str, channels: &str) -> String {
    format!(
        "duration = 10.0\n[topology]\nkind = \"chain\"\nhops = 4\n[[flow]]\napp = \"messages\"\n\
         transport = \"{transport}\"\n{channels}"
    )
}

#[test]
fn channels_have_names_and_defaults() {
    let text = flow(
        "mesh",
        "[[flow.channel]]\nsize = 100\n[[flow.channel]]\nname = \"gps\"\nsize = 20\n\
        interval = 0.1\ndeadline = 0.2\npriority = 0\nordered = false\n",
    );
    let scenario = load(&text);
    assert_eq!(scenario.flows[0].app, App::Messages);
    let first = MessageChannel { name: "0".into(), size: 100, ..MessageChannel::default() };
    let second = MessageChannel {
        name: "gps".into(),
        size: 20,
        interval: Duration::from_millis(100),
        deadline: Some(Duration::from_millis(200)),
        priority: 0,
        ordered: false,
    };
    assert_eq!(scenario.flows[0].channels, [first.clone(), second]);
    assert_eq!((first.priority, first.ordered, first.deadline), (3, true, None));
}

#[test]
fn wrong_channels_are_refused_with_the_reason() {
    let problem = |transport: &str, channels: &str| {
        let text = refused(&flow(transport, channels));
        text.split_once(": ").map(|(_, problem)| problem.to_owned()).unwrap()
    };
    assert_eq!(problem("mesh", ""), "flow.0.channel: is missing, required with app = \"messages\"");
    let one = "[[flow.channel]]\nsize = 100\n";
    assert_eq!(
        problem("mesh", &format!("{one}name = \"1\"\n{one}")),
        "flow.0.channel.1.name: found \"1\", allowed: a name that no other channel has"
    );
    assert_eq!(
        problem("mesh", &format!("{one}name = \"two words\"\n")),
        "flow.0.channel.0.name: found \"two words\", allowed: up to 32 visible ASCII characters"
    );
    assert_eq!(
        problem("udp", "[[flow.channel]]\nsize = 2201\ninterval = 1.0\n"),
        "flow.0.channel.0.size: found 2201, allowed under udp: 1 to 2200"
    );
    assert_eq!(problem("udp", one), "flow.0.channel.0.interval: found 0, allowed under udp: more than 0");
    assert_eq!(problem("mesh", &one.repeat(65)), "flow.0.channel: found 65 channels, allowed: 1 to 64");
    assert_eq!(
        problem("newreno", &format!("dscp = true\n{one}")),
        "flow.0.dscp: found true, allowed: only with app = \"messages\" and transport = \"mesh\""
    );
    let text = format!(
        "duration = 10.0\n[topology]\nkind = \"chain\"\nhops = 4\n[[flow]]\ntransport = \"mesh\"\n{one}"
    );
    assert!(
        refused(&text)
            .contains("flow.0.channel: found under app \"ftp\", allowed: only with app = \"messages\"")
    );
}
