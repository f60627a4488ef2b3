//! `[routing]`.

use std::collections::BTreeMap;

use multihop_core::Duration;
use multihop_routing::{aodv, apdr, dsr, olsr};
use multihop_wire::olsr::{Quantity, Willingness};

use super::Nodes;
use crate::document::Fault;
use crate::model::{Routing, RoutingProtocol};
use crate::read::Both;
use crate::tables::{
    AodvTable, DsrTable, HopsTable, HysteresisTable, HysteresisValue, MetricTable, OlsrTable, ProtocolTable,
    ReservationTable, RoutingTable, StaticTable, SwitchTable,
};
use crate::values::put;

/// Who forwards to whom; `nodes` are those of the topology, if it is right.
pub(super) fn routing(
    table: &RoutingTable,
    nodes: Option<&Nodes<'_>>,
    faults: &mut Vec<Fault>,
) -> Option<Routing> {
    let Both(packet, protocol) = table;
    let protocol = match protocol {
        ProtocolTable::Static(table) => fixed(table, nodes?, faults)?,
        ProtocolTable::Aodv(table) => RoutingProtocol::Aodv(aodv(table, faults)),
        ProtocolTable::Dsr(table) => RoutingProtocol::Dsr(dsr(table, faults)),
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

fn aodv(table: &AodvTable, faults: &mut Vec<Fault>) -> aodv::Config {
    let mut config = aodv::Config::new(table.preset.0, table.link_failure.0);
    set_routes(&mut config, table);
    set_search(&mut config, table);
    set_links(&mut config, table);
    if let Some(repair) = table.local_repair
        && repair.0 != aodv::LocalRepair::Off
        && config.link_failure == aodv::LinkFailure::Hello
    {
        let message =
            "a repair needs the packet that the MAC gives back, allowed with link_failure = \"mac\"";
        faults.push(Fault::at_key("routing.local_repair", message));
    }
    if let Some(max_wait) = table.max_wait
        && config.preset == aodv::Preset::Uu
    {
        let message = format!("found {}, allowed with preset = \"ns2\"", max_wait.0);
        faults.push(Fault::at_key("routing.max_wait", message));
    }
    if config.hello_jitter >= config.hello_interval {
        let (found, most) = (config.hello_jitter, config.hello_interval);
        let message = format!("found {found}, allowed: less than hello_interval, {most}");
        faults.push(Fault::at_key("routing.hello_jitter", message));
    }
    if config.neighbour_life <= config.hello_interval {
        let (found, least) = (config.neighbour_life, config.hello_interval);
        let message = format!("found {found}, allowed: more than hello_interval, {least}");
        faults.push(Fault::at_key("routing.neighbour_life", message));
    }
    config
}

fn set_routes(config: &mut aodv::Config, table: &AodvTable) {
    put(&mut config.active_route_timeout, table.active_route_timeout.map(|time| time.duration()));
    put(&mut config.my_route_timeout, table.my_route_timeout.map(|time| time.duration()));
    put(&mut config.reverse_route_life, table.reverse_route_life.map(|time| time.duration()));
    put(&mut config.reverse_life_per_hop, table.reverse_life_per_hop.map(|time| time.duration()));
    put(&mut config.delete_period, table.delete_period.map(|time| time.0.map(|time| time.duration())));
    put(&mut config.tick, table.tick.map(|tick| tick.0.map(|tick| tick.duration())));
}

fn set_search(config: &mut aodv::Config, table: &AodvTable) {
    put(&mut config.expanding_ring, table.expanding_ring);
    put(&mut config.gratuitous_replies, table.gratuitous_replies);
    put(&mut config.destination_only, table.destination_only);
    put(&mut config.request_id_life, table.request_id_life.map(|time| time.duration()));
    put(&mut config.ttl_start, table.ttl_start.map(|n| n.to()));
    put(&mut config.ttl_increment, table.ttl_increment.map(|n| n.to()));
    put(&mut config.ttl_threshold, table.ttl_threshold.map(|n| n.to()));
    put(&mut config.net_diameter, table.net_diameter.map(|n| n.to()));
    put(&mut config.node_traversal, table.node_traversal.map(|time| time.duration()));
    put(&mut config.timeout_buffer, table.timeout_buffer.map(|n| n.to()));
    put(&mut config.network_wide_requests, table.network_wide_requests.map(|n| n.to()));
    put(&mut config.max_wait, table.max_wait.map(|time| time.duration()));
    put(&mut config.rate_limit, table.rate_limit.map(|limit| limit.0.map(|n| n.to())));
    put(&mut config.reply_ttl, table.reply_ttl.map(|n| n.to()));
    put(&mut config.jitter, table.jitter.map(|time| time.duration()));
}

fn set_links(config: &mut aodv::Config, table: &AodvTable) {
    put(&mut config.local_repair, table.local_repair.map(|word| word.0));
    put(&mut config.max_repair_ttl, table.max_repair_ttl.map(|n| n.to()));
    put(&mut config.hello_interval, table.hello_interval.map(|time| time.duration()));
    put(&mut config.hello_jitter, table.hello_jitter.map(|time| time.duration()));
    put(&mut config.neighbour_life, table.neighbour_life.map(|time| time.duration()));
    put(&mut config.buffer_packets, table.buffer_packets.map(|n| n.to()));
    put(&mut config.buffer_life, table.buffer_life.map(|time| time.duration()));
    put(&mut config.release_spacing, table.release_spacing.map(|time| time.duration()));
}

fn dsr(table: &DsrTable, faults: &mut Vec<Fault>) -> dsr::Config {
    if table.rreq_backoff_max.0 < table.request_period.0 {
        let (found, least) = (table.rreq_backoff_max.0, table.request_period.0);
        let message = format!("found {found}, allowed: at least request_period, {least}");
        faults.push(Fault::at_key("routing.rreq_backoff_max", message));
    }
    dsr::Config {
        ring0: table.ring0.unwrap_or(table.cache_replies),
        ring0_timeout: table.ring0_timeout.duration(),
        request_period: table.request_period.duration(),
        rreq_backoff_max: table.rreq_backoff_max.duration(),
        broadcast_jitter: table.broadcast_jitter.duration(),
        cache_replies: table.cache_replies,
        cache_timeout: table.cache_timeout.0.map(|time| time.duration()),
        negative_cache: table.negative_cache.0.map(|time| time.duration()),
        primary_cache: table.primary_cache.to(),
        secondary_cache: table.secondary_cache.to(),
        snoop: table.snoop,
        gratuitous: table.gratuitous,
        salvage: table.salvage,
        salvage_limit: table.salvage_limit.to(),
        buffer_packets: table.buffer_packets.to(),
        buffer_time: table.buffer_time.duration(),
        release_gap: table.release_gap.duration(),
    }
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
