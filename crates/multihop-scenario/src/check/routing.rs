//! `[routing]`.

use std::collections::BTreeMap;

use multihop_core::Duration;
use multihop_routing::{apdr, olsr};
use multihop_wire::olsr::{Quantity, Willingness};

use super::Nodes;
use crate::document::Fault;
use crate::model::{Routing, RoutingProtocol};
use crate::read::Both;
use crate::tables::{
    HopsTable, HysteresisTable, HysteresisValue, MetricTable, OlsrTable, ProtocolTable, ReservationTable,
    RoutingTable, StaticTable, SwitchTable,
};

/// Who forwards to whom; `nodes` are those of the topology, if it is right.
pub(super) fn routing(
    table: &RoutingTable,
    nodes: Option<&Nodes<'_>>,
    faults: &mut Vec<Fault>,
) -> Option<Routing> {
    let Both(packet, protocol) = table;
    let protocol = match protocol {
        ProtocolTable::Static(table) => fixed(table, nodes?, faults)?,
        ProtocolTable::Aodv(table) => RoutingProtocol::Aodv(table.0.clone()),
        ProtocolTable::Dsr(table) => RoutingProtocol::Dsr(table.0),
        ProtocolTable::Olsr(Both(table, hops)) => {
            RoutingProtocol::Olsr(by_hops(olsr(table, faults), hops, faults))
        }
        ProtocolTable::Apdr(Both(table, Both(metric, switch))) => RoutingProtocol::Apdr(apdr::Config {
            olsr: olsr(table, faults).with_metric(self::metric(metric, Some(switch))),
            reservation: None,
        }),
        ProtocolTable::ApdrPr(Both(table, Both(metric, reservation))) => {
            RoutingProtocol::Apdr(apdr::Config {
                olsr: olsr(table, faults).with_metric(self::metric(metric, None)),
                reservation: Some(self::reservation(reservation, metric, faults)),
            })
        }
    };
    Some(Routing { protocol, ip_extra: packet.ip_extra.to() })
}

fn fixed(table: &StaticTable, nodes: &Nodes<'_>, faults: &mut Vec<Fault>) -> Option<RoutingProtocol> {
    let mut next_hops = BTreeMap::new();
    let mut complete = true;
    for (n, entry) in table.next_hops.iter().enumerate() {
        let path = format!("routing.next_hops.{n}");
        let mut find = |place: usize| nodes.find(&entry[place], &format!("{path}.{place}"), faults);
        let (Some(node), Some(destination), Some(via)) = (find(0), find(1), find(2)) else {
            complete = false;
            continue;
        };
        if node == destination || node == via {
            let message = "a node needs no route to itself and cannot be its own next hop";
            faults.push(Fault::at_key(path, message));
        } else if next_hops.insert((node, destination), via).is_some() {
            let message = format!("a second next hop at {node} for {destination}, allowed: one");
            faults.push(Fault::at_key(path, message));
        }
    }
    complete.then_some(RoutingProtocol::Static { next_hops })
}

fn olsr(table: &OlsrTable, faults: &mut Vec<Fault>) -> olsr::Config {
    let preset = table.preset.0();
    let hello_interval = table.hello_interval.duration();
    let tc_interval = table.tc_interval.duration();
    // RFC 3626, section 18: hold times and jitter follow the intervals.
    let config = olsr::Config {
        hello_interval,
        tc_interval,
        neighbour_hold: table.neighbour_hold.map_or(hello_interval * 3, |time| time.duration()),
        topology_hold: table.topology_hold.map_or(tc_interval * 3, |time| time.duration()),
        duplicate_hold: table.duplicate_hold.duration(),
        max_jitter: table.max_jitter.map_or(hello_interval / 4, |time| time.duration()),
        own_messages_wait: table.own_messages_wait.unwrap_or(preset.own_messages_wait),
        messages_per_packet: table.messages_per_packet.to(),
        willingness: Willingness(table.willingness.to()),
        mpr_coverage: table.mpr_coverage.to(),
        empty_tcs: table.empty_tcs.unwrap_or(preset.empty_tcs),
        link_failure: table.link_failure.0,
        tell_source: table.tell_source,
        ..preset
    };
    for (key, hold, of, interval) in [
        ("neighbour_hold", config.neighbour_hold, "hello_interval", hello_interval),
        ("topology_hold", config.topology_hold, "tc_interval", tc_interval),
    ] {
        if hold <= interval {
            let message = format!("found {hold}, allowed: more than {of}, {interval}");
            faults.push(Fault::at_key(format!("routing.{key}"), message));
        }
    }
    config
}

fn by_hops(config: olsr::Config, table: &HopsTable, faults: &mut Vec<Fault>) -> olsr::Config {
    olsr::Config {
        advertised: match table.tc_redundancy.0 {
            0 => olsr::Advertised::Selectors,
            1 => olsr::Advertised::SelectorsAndMprs,
            _ => olsr::Advertised::Neighbours,
        },
        hysteresis: hysteresis(&table.hysteresis, faults),
        count_changes: table.count_changes,
        ..config
    }
}

fn metric(table: &MetricTable, switch: Option<&SwitchTable>) -> olsr::Metric {
    olsr::Metric {
        quantity: table.metric.0,
        clocks: table.clocks.0,
        weight: millionths(table.weight.0),
        hysteresis: switch.map_or(0, |switch| millionths(switch.hysteresis.0)),
        hold: switch.map_or(Duration::ZERO, |switch| switch.hold.duration()),
        own_load: switch.is_some_and(|switch| switch.own_load),
        hellos_wait: table.hellos_wait,
    }
}

fn reservation(table: &ReservationTable, metric: &MetricTable, faults: &mut Vec<Fault>) -> apdr::Reservation {
    let max_delay = table.max_delay.0.map(|time| time.duration());
    if max_delay.is_some() && metric.metric.0 != Quantity::Delay {
        let message = "a limit needs delays, allowed with metric = \"delay\"";
        faults.push(Fault::at_key("routing.max_delay", message));
    }
    apdr::Reservation { on_break: table.on_break.0, max_cost: max_delay.map(|delay| delay.as_nanos() / 1000) }
}

fn hysteresis(value: &HysteresisValue, faults: &mut Vec<Fault>) -> Option<olsr::Hysteresis> {
    let HysteresisTable { scaling, high, low } = match value {
        HysteresisValue::Plain(on) => return on.then(olsr::Hysteresis::default),
        HysteresisValue::Table(table) => table,
    };
    if high.0 <= low.0 {
        let message = format!("found {}, allowed: more than low, {}", high.0, low.0);
        faults.push(Fault::at_key("routing.hysteresis.high", message));
    }
    Some(olsr::Hysteresis {
        scaling: millionths(scaling.0),
        high: millionths(high.0),
        low: millionths(low.0),
    })
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a share from 0 to 1")]
fn millionths(share: f64) -> u32 {
    (share * 1e6).round() as u32
}
