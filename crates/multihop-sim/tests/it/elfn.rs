//! TCP with explicit link failure notification (ELFN), from the node at the link failure to the probes of the sender.

use multihop_core::DropReason;

use crate::notices::chain;
use crate::support::{Event, Ran, events, ran};

/// A chain of three hops whose node 2 is away from second 33 to second 77. With this seed, the first lost segment is the
/// one that the notification names.
fn broken(routing: &str, transport: &str) -> Ran {
    let series = "[record]\nevery = 0\nwhat = [\"state\"]\n";
    let text = "seed = 5\n".to_owned() + &chain(routing).replace("\"newreno\"", transport) + series;
    ran(&text)
}

/// The times at which the sender first entered stand-by, and left it.
fn standby(ran: &Ran) -> (f64, f64) {
    let states: Vec<(f64, f64)> = ran
        .record
        .lines()
        .filter(|line| line.contains(",state,"))
        .map(|line| {
            let (at, rest) = line.split_once(',').unwrap();
            (at.parse().unwrap(), rest.rsplit_once(',').unwrap().1.parse().unwrap())
        })
        .collect();
    let at = states.iter().position(|&(_, state)| state == STAND_BY).unwrap();
    (states[at].0, states[at + 1].0)
}

/// The number that represents stand-by in the series.
const STAND_BY: f64 = 6.0;

/// The first notification of this kind at the sender.
fn news<'a>(ran: &'a Ran, kind: &str) -> Event<'a> {
    events(&ran.trace).find(|event| (event.what, event.kind, event.node) == ("r", kind, 0)).unwrap()
}

/// Data segments that the sender transmits during stand-by, with their times.
fn probes(ran: &Ran) -> Vec<(f64, u64)> {
    let (from, to) = standby(ran);
    events(&ran.trace)
        .filter(|event| (event.what, event.kind, event.node) == ("s", "tcp", 0))
        .filter(|event| from < event.at && event.at < to)
        .map(|event| (event.at, event.number.parse().unwrap()))
        .collect()
}

/// The first data segment that met the link failure.
fn victim(ran: &Ran, reason: DropReason) -> Event<'_> {
    let lost = |event: &Event<'_>| (event.what, event.kind, event.reason) == ("D", "tcp", reason.code());
    events(&ran.trace).find(|event| event.at > 33.0 && lost(event)).unwrap()
}

/// Stand-by begins with a notification of `kind`. Until the path is restored, the sender then probes every two seconds
/// with the segment in the notification.
fn assert_probing(ran: &Ran, kind: &str, reason: DropReason) {
    let (from, to) = standby(ran);
    assert_eq!(news(ran, kind).at, from);
    assert!(to > 77.0, "{to}");
    let probes = probes(ran);
    assert_eq!(probes.len() as f64, ((to - from) / 2.0).floor());
    let number: u64 = victim(ran, reason).number.parse().unwrap();
    for (n, (at, probed)) in (1..).zip(probes) {
        assert!((at - from - 2.0 * f64::from(n)).abs() < 1e-6, "{at} after {from}");
        assert_eq!(probed, number, "at {at}");
    }
}

const LOWEST: &str = "{ kind = \"elfn\", preset = \"ns2-1999\", window_max = 8, probe = \"lowest-lost\" }";

#[test]
fn over_dsr_the_route_error_identifies_the_segment() {
    let ran = broken("{ protocol = \"dsr\" }", LOWEST);
    // The segment itself waited for another route.
    assert_probing(&ran, "rerr", DropReason::NoRoute);
    assert_eq!(events(&ran.trace).filter(|event| event.kind == "icmp").count(), 0);
}

#[test]
fn over_aodv_icmp_identifies_the_segment() {
    for routing in ["{ protocol = \"aodv\" }", "{ protocol = \"aodv\", preset = \"uu\" }"] {
        let ran = broken(routing, LOWEST);
        assert_probing(&ran, "icmp", DropReason::RetryLimit);
        let lost = victim(&ran, DropReason::RetryLimit);
        let sent = events(&ran.trace).find(|event| (event.what, event.kind) == ("s", "icmp")).unwrap();
        assert_eq!((sent.at, sent.node, sent.to), (lost.at, 1, 0));
    }
}

#[test]
fn over_olsr_the_mac_or_the_routing_table_causes_the_notification() {
    // The sender has one segment under way at a time, so that no link is reported as broken before one is.
    let alone = "{ kind = \"elfn\", preset = \"ns2-1999\", window_max = 1 }";
    let ran = broken("{ protocol = \"olsr\", link_failure = \"mac\" }", alone);
    assert_probing(&ran, "icmp", DropReason::RetryLimit);
    // HELLOs are valid for 6 s; only a segment that left before the source's table changed is reported.
    let ran = broken("{ protocol = \"olsr\" }", LOWEST);
    let (from, to) = standby(&ran);
    assert!((33.0 - 2.5 + 6.0..33.0 + 6.0 + 5.5).contains(&from) && to > 77.0, "{from} to {to}");
    let ran = broken("{ protocol = \"olsr\", tell_source = false }", LOWEST);
    assert!(!ran.record.contains(",state,6"), "there was no notification");
}

/// AODV's route error, which quotes no packet, reaches the source first.
#[test]
fn over_aodv_with_hellos_there_is_no_notification() {
    let ran = broken("{ protocol = \"aodv\", link_failure = \"hello\" }", LOWEST);
    let icmp = |event: &Event<'_>| event.kind == "icmp" && (33.0..77.0).contains(&event.at);
    assert_eq!(events(&ran.trace).filter(icmp).count(), 0);
    assert!(events(&ran.trace).any(|event| (event.what, event.kind, event.node) == ("r", "rerr", 0)));
}

/// Pacing, delayed ACKs and stand-by work together.
#[test]
fn elfn_works_with_pacing_and_delayed_acks() {
    for name in ["tcp-ap+elfn+da", "elfn+ap", "newreno+elfn+dyn"] {
        let table = format!("{{ kind = \"{name}\", probe = \"lowest-lost\" }}");
        let ran = broken("{ protocol = \"aodv\", preset = \"uu\" }", &table);
        let (from, to) = standby(&ran);
        assert!((33.0..34.0).contains(&from) && to > 77.0, "{name}: {from} to {to}");
        let probes = probes(&ran);
        assert_eq!(probes.len() as f64, ((to - from) / 2.0).floor(), "{name}");
        // Paced segments are never transmitted together.
        let sent: Vec<f64> = events(&ran.trace)
            .filter(|event| (event.what, event.kind, event.node) == ("s", "tcp", 0))
            .filter(|event| (25.0..33.0).contains(&event.at) || event.at > to + 5.0)
            .map(|event| event.at)
            .collect();
        assert!(sent.iter().filter(|&&at| at < 33.0).count() > 50, "{name}");
        assert!(sent.iter().filter(|&&at| at > 80.0).count() > 50, "{name}");
        let together = sent.windows(2).filter(|pair| pair[1] - pair[0] < 1e-6).count();
        assert_eq!(together == 0, name.contains("ap"), "{name}: {together}");
    }
}

/// TPA uses the same route errors.
#[test]
fn tpa_uses_the_notices_of_dsr() {
    for (notices, freezes) in [(true, true), (false, false)] {
        let ran = broken("{ protocol = \"dsr\" }", &format!("{{ kind = \"tpa-3\", notices = {notices} }}"));
        let told = news(&ran, "rerr").at;
        let frozen = format!("{told},flow,0,state,5");
        assert_eq!(ran.record.contains(&frozen), freezes, "told at {told}:\n{}", ran.record);
    }
}
