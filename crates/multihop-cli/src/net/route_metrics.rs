//! Metrics of `multihop route`, from the JSON document of its status.

use serde_json::Value;

use super::metrics::{Metric, Page, Type};

/// The page of metrics of a status.
pub(super) fn page(status: &Value) -> Page {
    let mut page = Page::default();
    for (metric, read) in &METRICS {
        let values = read(status);
        page.metric(metric, values);
    }
    page
}

/// Values of a metric with their labels.
type Values = Vec<(Vec<(&'static str, String)>, f64)>;

const fn gauge(name: &'static str, unit: &'static str, help: &'static str) -> Metric {
    Metric { kind: Type::Gauge, name, unit, help }
}

const fn counter(name: &'static str, unit: &'static str, help: &'static str) -> Metric {
    Metric { kind: Type::Counter, name, unit, help }
}

type Row = (Metric, fn(&Value) -> Values);

static METRICS: [Row; 22] = [
    (gauge("route_agent_seconds", "seconds", "Time since the start of the routing agent."), |status| {
        number(&status["seconds"])
    }),
    (
        gauge(
            "route_neighbours",
            "neighbours",
            "Neighbours heard in the last minute, by interface and direction.",
        ),
        neighbours,
    ),
    (gauge("route_neighbour_heard_seconds", "seconds", "Time since a neighbour was last heard."), |status| {
        of_neighbours(status, |one| one["heard_ago"].as_f64())
    }),
    (
        gauge(
            "route_neighbour_received_ratio",
            "ratio",
            "Share of the last packets of a neighbour that arrived.",
        ),
        |status| of_neighbours(status, |one| one["received"].as_f64()),
    ),
    (
        gauge(
            "route_neighbour_hello_seconds",
            "seconds",
            "Half of the round trip of HELLOs to a neighbour, averaged.",
        ),
        |status| of_neighbours(status, |one| one["delay"]["hellos"].as_f64()),
    ),
    (
        gauge(
            "route_neighbour_queue_seconds",
            "seconds",
            "Waiting time in queues that HELLOs overtake, to a neighbour.",
        ),
        |status| of_neighbours(status, |one| one["delay"]["queue"].as_f64()),
    ),
    (
        gauge(
            "route_neighbour_cost_units",
            "units",
            "Cost of the link to a neighbour, in the unit of the protocol.",
        ),
        |status| of_neighbours(status, |one| one["cost"].as_f64()),
    ),
    (gauge("route_queue_bytes", "bytes", "Mean bytes in the queue of an interface."), |status| {
        of_interfaces(status, |one| one["queue"]["bytes"].as_f64())
    }),
    (
        gauge(
            "route_channel_busy_ratio",
            "ratio",
            "Share of time for which the channel of an interface is busy.",
        ),
        |status| of_interfaces(status, |one| one["channel_busy"].as_f64()),
    ),
    (gauge("route_known_routes", "routes", "Routes that the protocol has found."), |status| {
        count(status["routes"].as_object().map(serde_json::Map::len))
    }),
    (gauge("route_installed_routes", "routes", "Routes in the tables of the kernel."), |status| {
        number(&status["installed"])
    }),
    (gauge("route_reserved_flows", "flows", "Flows with a reserved path."), |status| {
        count(status["reserved"].as_array().map(Vec::len))
    }),
    (counter("route_next_hop_changes", "changes", "Next hops that were replaced by others."), |status| {
        number(&status["route_changes"])
    }),
    (
        counter(
            "route_oscillations",
            "oscillations",
            "Returns to a next hop that had been left less than 10 s before.",
        ),
        |status| number(&status["oscillations"]),
    ),
    (counter("route_kernel_changes", "changes", "Changes of the tables of the kernel."), |status| {
        number(&status["kernel_changes"][0])
    }),
    (counter("route_refused_kernel_changes", "changes", "Changes that the kernel refused."), |status| {
        number(&status["kernel_changes"][1])
    }),
    (counter("route_received_datagrams", "datagrams", "Datagrams that were processed."), |status| {
        number(&status["datagrams"]["received"])
    }),
    (counter("route_sent_datagrams", "datagrams", "Datagrams sent."), |status| {
        number(&status["datagrams"]["sent"])
    }),
    (counter("route_sent_bytes", "bytes", "Bytes sent, without headers of UDP and IP."), |status| {
        number(&status["datagrams"]["bytes_sent"])
    }),
    (counter("route_unused_datagrams", "datagrams", "Datagrams that were not used, by reason."), unused),
    (
        counter(
            "route_messages",
            "messages",
            "Messages of the protocol, and other counts of the agent, by kind.",
        ),
        messages,
    ),
    (
        counter("route_refused_messages", "messages", "Flooded messages for which the tables had no room."),
        |status| number(&status["refused"]),
    ),
];

fn number(value: &Value) -> Values {
    value.as_f64().map(|value| (Vec::new(), value)).into_iter().collect()
}

fn count(count: Option<usize>) -> Values {
    vec![(Vec::new(), count.unwrap_or(0) as f64)]
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn list(value: &Value) -> impl Iterator<Item = &Value> {
    value.as_array().into_iter().flatten()
}

/// Numbers of neighbours of each interface with links both ways and one way.
fn neighbours(status: &Value) -> Values {
    let mut values = Values::new();
    for interface in list(&status["interfaces"]) {
        for (is_symmetric, link) in [(true, "both ways"), (false, "one way")] {
            let of = list(&status["neighbours"])
                .filter(|one| one["interface"] == interface["name"] && one["symmetric"] == is_symmetric);
            let labels = vec![("interface", text(&interface["name"])), ("link", link.to_owned())];
            values.push((labels, of.count() as f64));
        }
    }
    values
}

fn of_neighbours(status: &Value, read: impl Fn(&Value) -> Option<f64>) -> Values {
    let value = |one: &Value| {
        let labels = vec![("address", text(&one["address"])), ("interface", text(&one["interface"]))];
        Some((labels, read(one)?))
    };
    list(&status["neighbours"]).filter_map(value).collect()
}

fn of_interfaces(status: &Value, read: impl Fn(&Value) -> Option<f64>) -> Values {
    let value = |one: &Value| Some((vec![("interface", text(&one["name"]))], read(one)?));
    list(&status["interfaces"]).filter_map(value).collect()
}

fn unused(status: &Value) -> Values {
    let others = ["received", "sent", "bytes_sent", "left_out"];
    let counts = status["datagrams"].as_object().into_iter().flatten();
    let counts = counts.filter(|(name, _)| !others.contains(&name.as_str()));
    counts.filter_map(|(name, count)| Some((vec![("reason", name.clone())], count.as_f64()?))).collect()
}

fn messages(status: &Value) -> Values {
    let counts = status["messages"].as_object().into_iter().flatten();
    counts.filter_map(|(name, count)| Some((vec![("kind", name.clone())], count.as_f64()?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_distinct_and_end_with_their_units() {
        for (at, (metric, _)) in METRICS.iter().enumerate() {
            assert!(metric.name.ends_with(metric.unit), "{}", metric.name);
            assert!(METRICS[..at].iter().all(|(other, _)| other.name != metric.name), "{}", metric.name);
        }
    }
}
