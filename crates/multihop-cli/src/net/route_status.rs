//! Implements `multihop route status` without `--json`: the daemon's JSON document as tables.

use std::fmt::Write as _;

use multihop_route::Family;
use serde_json::Value;

use crate::table;

/// The error if no daemon answers.
pub(super) fn no_daemon(family: Family) -> String {
    let hint = if family == Family::Ipv4 { " (for IPv6, pass --ipv6)" } else { "" };
    format!("no multihop route for {family} answers in this network namespace{hint}")
}

/// The daemon's state, as tables that fit into a width.
pub(super) fn text(status: &Value, width: Option<usize>) -> String {
    let main = status["main_address"].as_str().unwrap_or("none yet");
    let mut text = format!(
        "{} for {} s; main address: {main}; routes in the kernel's tables: {}\n",
        word(&status["protocol"]),
        table::number(status["seconds"].as_f64(), 0),
        status["installed"]
    );
    for (name, shown) in [
        ("interface", interfaces(status)),
        ("neighbour", neighbours(status)),
        ("destination", routes(status)),
    ] {
        let (heading, rows) = shown;
        let heading: Vec<_> = [name].into_iter().chain(heading).map(str::to_owned).collect();
        let table =
            if rows.is_empty() { format!("no {name}\n") } else { table::of_words(&heading, &rows, width) };
        let _ = write!(text, "\n{}\n", table.trim_end());
    }
    let unused = unused(status);
    if !unused.is_empty() {
        let _ = write!(text, "\nignored datagrams: {}\n", unused.join(", "));
    }
    let (heading, rows) = refusals(status);
    if !rows.is_empty() {
        let heading: Vec<_> = ["refused"].into_iter().chain(heading).map(str::to_owned).collect();
        let _ = write!(text, "\n{}\n", table::of_words(&heading, &rows, width).trim_end());
    }
    text.trim_end().to_owned()
}

/// The names of columns after the first one, and rows.
type Shown = (Vec<&'static str>, Vec<Vec<String>>);

fn interfaces(status: &Value) -> Shown {
    let row = |one: &Value| {
        let address = one["address"].as_str().unwrap_or("down or missing");
        let queue = one["queue"].as_object().map(|queue| {
            let kind = word(&queue["kind"]);
            let measured = if queue["hellos_wait"] == true { "delays HELLOs" } else { "HELLOs overtake it" };
            format!("{kind}, {} bytes, {measured}", queue["bytes"])
        });
        let busy = one["channel_busy"].as_f64().map(|share| format!("{:.0}%", 100.0 * share));
        vec![word(&one["name"]), address.to_owned(), queue.unwrap_or_else(none), busy.unwrap_or_else(none)]
    };
    (vec!["address", "queue", "channel busy"], rows(&status["interfaces"], row))
}

fn neighbours(status: &Value) -> Shown {
    let row = |one: &Value| {
        let received = one["received"].as_f64().map(|share| format!("{:.0}%", 100.0 * share));
        let heard = format!("{} s ago", table::number(one["heard_ago"].as_f64(), 1));
        let mut row = vec![word(&one["address"]), word(&one["interface"]), link(one)];
        row.extend([received.unwrap_or_else(none), heard]);
        row.extend(["hellos", "queue", "transmission"].map(|part| millis(&one["delay"][part])));
        row
    };
    let heading = vec!["over", "link", "received", "heard", "HELLOs ms", "queue ms", "transmission ms"];
    (heading, rows(&status["neighbours"], row))
}

fn link(neighbour: &Value) -> String {
    let ways = if neighbour["symmetric"] == true { "both ways" } else { "one way" };
    let roles = [("relay", "forwards for this host"), ("selector", "this host forwards for it")];
    let roles = roles.into_iter().filter(|(key, _)| neighbour[*key] == true).map(|(_, role)| role);
    let main = Some(word(&neighbour["main_address"])).filter(|main| neighbour["address"] != **main);
    let other = main.map(|main| format!("is {main}"));
    [ways].into_iter().chain(roles).map(str::to_owned).chain(other).collect::<Vec<_>>().join(", ")
}

fn routes(status: &Value) -> Shown {
    let row = |(to, route): (&String, &Value)| {
        let via = route["via"].as_str().unwrap_or("direct");
        let hops = route["hops"].as_u64().map_or_else(none, |hops| hops.to_string());
        let cost = route["cost"].as_u64().map_or_else(none, |cost| cost.to_string());
        let state = if route["installed"] == true { "installed" } else { "not installed" };
        vec![to.clone(), via.to_owned(), word(&route["interface"]), hops, cost, state.to_owned()]
    };
    let all = status["routes"].as_object();
    (vec!["through", "over", "hops", "cost", "kernel"], all.into_iter().flatten().map(row).collect())
}

/// Reasons for which datagrams were not used, with their counts.
fn unused(status: &Value) -> Vec<String> {
    let counters = status["datagrams"].as_object().into_iter().flatten();
    let others = ["received", "sent", "bytes_sent", "left_out"];
    let reasons = counters.filter(|(name, count)| !others.contains(&name.as_str()) && **count != 0);
    reasons.map(|(name, count)| format!("{} {count}", name.replace('_', " "))).collect()
}

/// Senders whose datagrams were not used, the latest first.
fn refusals(status: &Value) -> Shown {
    let mut list: Vec<_> = status["refusals"].as_array().into_iter().flatten().collect();
    list.sort_by(|a, b| {
        a["last_ago"].as_f64().unwrap_or(0.0).total_cmp(&b["last_ago"].as_f64().unwrap_or(0.0))
    });
    let row = |one: &&Value| {
        let last = format!("{} s ago", table::number(one["last_ago"].as_f64(), 1));
        vec![word(&one["address"]), explained(&one["reason"]), one["count"].to_string(), last]
    };
    (vec!["because", "datagrams", "last"], list.iter().map(row).collect())
}

/// A reason for a refused datagram, in words.
fn explained(reason: &Value) -> String {
    match reason.as_str() {
        Some("unsigned") => "no signature".to_owned(),
        Some("other_version") => "signature of an incompatible version".to_owned(),
        Some("wrong_key") => "wrong key".to_owned(),
        Some("replayed") => "replayed".to_owned(),
        Some("unproven") => "freshness not yet proved".to_owned(),
        Some("too_many") => "too many neighbours".to_owned(),
        _ => word(reason).replace('_', " "),
    }
}

fn rows(list: &Value, row: impl Fn(&Value) -> Vec<String>) -> Vec<Vec<String>> {
    list.as_array().into_iter().flatten().map(row).collect()
}

fn millis(seconds: &Value) -> String {
    table::number(seconds.as_f64().map(|seconds| 1000.0 * seconds), 1)
}

fn word(value: &Value) -> String {
    value.as_str().unwrap_or("-").to_owned()
}

fn none() -> String {
    "-".to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_of_a_delay_without_a_signal_are_dashes() {
        let neighbour = json!({
            "address": "10.0.1.2", "main_address": "10.0.1.2", "interface": "wlan0", "heard_ago": 0.71,
            "received": 0.5, "symmetric": true, "relay": true, "selector": false,
            "delay": {"hellos": 0.002, "queue": 0.0105, "transmission": null},
        });
        let queue =
            json!({"kind": "fq_codel", "packets": 3, "bytes": 4500, "wait": 0.01, "hellos_wait": false});
        let status = json!({
            "protocol": "apdr", "main_address": "10.0.1.1", "seconds": 61.6, "installed": 1,
            "interfaces": [
                {"name": "wlan0", "address": "10.0.1.1", "queue": queue, "channel_busy": 0.25},
                {"name": "eth7", "address": null, "queue": null, "channel_busy": null},
            ],
            "neighbours": [neighbour],
            "routes": {"10.0.1.2/32": {"via": null, "interface": "wlan0", "hops": 1, "cost": 12500, "installed": true},
                "10.0.2.0/24": {"via": "10.0.1.2", "interface": "wlan0", "hops": 2, "cost": 25000, "installed": false}},
            "datagrams": {"received": 9, "sent": 8, "bytes_sent": 7, "malformed": 3, "not_allowed": 0},
            "refusals": [
                {"address": "10.0.1.7", "reason": "malformed", "count": 3, "last_ago": 70.0},
                {"address": "10.0.1.3", "reason": "wrong_key", "count": 12, "last_ago": 1.25},
            ],
        });
        let wanted = "\
apdr for 62 s; main address: 10.0.1.1; routes in the kernel's tables: 1

| interface | address         | queue                                    | channel busy |
|-----------|-----------------|------------------------------------------|--------------|
| wlan0     | 10.0.1.1        | fq_codel, 4500 bytes, HELLOs overtake it | 25%          |
| eth7      | down or missing | -                                        | -            |

| neighbour | over  | link                              | received | heard     | HELLOs ms | queue ms | transmission ms |
|-----------|-------|-----------------------------------|----------|-----------|-----------|----------|-----------------|
| 10.0.1.2  | wlan0 | both ways, forwards for this host | 50%      | 0.7 s ago | 2.0       | 10.5     | -               |

| destination | through  | over  | hops | cost  | kernel        |
|-------------|----------|-------|------|-------|---------------|
| 10.0.1.2/32 | direct   | wlan0 | 1    | 12500 | installed     |
| 10.0.2.0/24 | 10.0.1.2 | wlan0 | 2    | 25000 | not installed |

ignored datagrams: malformed 3

| refused  | because   | datagrams | last       |
|----------|-----------|-----------|------------|
| 10.0.1.3 | wrong key | 12        | 1.2 s ago  |
| 10.0.1.7 | malformed | 3         | 70.0 s ago |";
        assert_eq!(text(&status, None), wanted);
    }

    #[test]
    fn a_daemon_without_neighbours_says_so() {
        let status = json!({"protocol": "olsr", "main_address": null, "seconds": 0.2, "installed": 0,
            "interfaces": [{"name": "wlan0", "address": null}], "neighbours": [], "routes": {},
            "datagrams": {"received": 0}});
        let shown = text(&status, Some(80));
        assert!(shown.starts_with("olsr for 0 s; main address: none yet; routes"), "{shown}");
        assert!(shown.contains("no neighbour\n\nno destination"), "{shown}");
    }
}
