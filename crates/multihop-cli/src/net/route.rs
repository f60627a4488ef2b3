//! `multihop route`.

use std::net::Ipv6Addr;

use anyhow::Context;
use multihop_net::{SecretFile, SharedKey};
use multihop_route::{Config, Family, Key, RouteError, Routing, Stop, flush, run, status};
use multihop_scenario::{RouterProtocol, RouterSettings, Source};

use super::args::{RouteArgs, RouteQuestion};
use super::confinement::folder_of;
use super::{log, problem, route_page, route_status};
use crate::terminal::{self, Verbosity, note};
use crate::{CommandError, output};

/// Runs the daemon until a signal ends it, or asks it something.
pub(crate) fn route(args: &RouteArgs, verbosity: Verbosity) -> Result<(), CommandError> {
    let family = family(args.ipv6);
    match args.question {
        Some(RouteQuestion::Status { page: Some(address), .. }) => {
            return Ok(route_page::serve(address, family)?);
        }
        Some(RouteQuestion::Status { page: None, json }) => return Ok(show_status(family, json)?),
        Some(RouteQuestion::Flush) => {
            let removed = flush(family).context("cannot remove the routes")?;
            return Ok(output::line(format_args!("removed {removed} routes"))?);
        }
        None => {}
    }
    let mut config = config(args)?;
    config.is_confined = !args.sandbox.no_sandbox;
    if config.interfaces.is_empty() {
        let problem =
            "no interface: name at least one, such as wlan0, or give a configuration with interfaces";
        return Err(CommandError::Usage(problem.to_owned()));
    }
    log::log(verbosity, &args.log);
    let stop = Stop::by_signals().context("cannot handle signals")?;
    if !verbosity.quiet {
        note(format_args!("{} over {}", config.protocol, config.interfaces.join(", ")));
    }
    let mut reload = || self::config(args).map_err(problem);
    match run(config, &stop, &mut reload) {
        Err(error @ RouteError::Runs(_)) => Err(CommandError::Taken(error.to_string())),
        // A signal is how a daemon ends.
        result => Ok(result.map_err(anyhow::Error::from)?),
    }
}

fn show_status(family: Family, json: bool) -> anyhow::Result<()> {
    let document = status(family).with_context(|| route_status::no_daemon(family))?;
    if json {
        return output::line(format_args!("{}", document.trim_end()));
    }
    let state = serde_json::from_str(&document).context("the daemon's answer is not JSON")?;
    output::line(format_args!("{}", route_status::text(&state, terminal::width_of_output())))
}

/// The configuration: the file, and the options on top of it.
fn config(args: &RouteArgs) -> Result<Config, CommandError> {
    let source = match &args.config {
        Some(path) => Source::from_file(path)?,
        None => Source::Toml { text: String::new(), name: "multihop route".to_owned() },
    };
    let lists = [
        ("interfaces", &args.interfaces),
        ("announce", &args.announce),
        ("neighbors", &args.neighbor),
        ("within", &args.within),
    ];
    let given = lists.into_iter().filter(|(_, list)| !list.is_empty());
    let lists = given.map(|(key, list)| (key.to_owned(), format!("{list:?}")));
    let key = args.key.iter().map(|path| ("key".to_owned(), format!("{path:?}")));
    let ipv6 = args.ipv6.then(|| ("ipv6".to_owned(), "true".to_owned()));
    let overrides: Vec<_> = args.set.iter().cloned().chain(lists).chain(key).chain(ipv6).collect();
    let mut config = of_settings(RouterSettings::load(&source, &overrides)?)?;
    config.reload_from.extend(args.config.as_deref().map(folder_of));
    Ok(config)
}

/// Checks a configuration as the daemon does at its start; returns what it describes.
pub(crate) fn check(source: &Source, set: &[(String, String)]) -> Result<String, CommandError> {
    let config = of_settings(RouterSettings::load(source, set)?)?;
    Ok(format!("{} of {} over {}", config.protocol, config.family, config.interfaces.join(", ")))
}

fn of_settings(settings: RouterSettings) -> Result<Config, CommandError> {
    let reload_from = settings.key.iter().map(|path| folder_of(path.as_ref())).collect();
    let key = settings.key.as_ref().map(|path| SharedKey::load(path.as_ref())).transpose();
    let key = key.context("cannot read the key (multihop keygen --shared creates one)")?;
    let family = family(settings.ipv6);
    let networks = |key: &str, texts: &[String]| parsed(key, texts, |text| family.network(text));
    let group = |text| parsed("group", &[text], multicast).map(|groups| groups[0]);
    Ok(Config {
        family,
        group: settings.group.map_or(Ok(Config::default().group), group)?,
        key: key.map(|key| Key::new(*key.psk())),
        announce: networks("announce", &settings.announce)?,
        neighbors: parsed("neighbors", &settings.neighbors, |text| family.address(text))?,
        within: networks("within", &settings.within)?,
        interfaces: settings.interfaces,
        protocol: settings.protocol,
        routing: match settings.routing {
            RouterProtocol::Olsr(olsr) => Routing::Olsr(olsr),
            RouterProtocol::Aodv(aodv) => Routing::Aodv(aodv),
        },
        on_demand: settings.on_demand.map(|texts| networks("on_demand", &texts)).transpose()?,
        table: settings.table,
        priority: settings.priority,
        forward: settings.forward,
        user: settings.user,
        is_confined: true,
        reload_from,
    })
}

const fn family(ipv6: bool) -> Family {
    if ipv6 { Family::Ipv6 } else { Family::Ipv4 }
}

fn multicast(text: &str) -> Result<Ipv6Addr, String> {
    let group = text.parse().ok().filter(Ipv6Addr::is_multicast);
    group.ok_or_else(|| "allowed: a multicast address of IPv6".to_owned())
}

fn parsed<T>(
    key: &str,
    texts: &[String],
    read: impl Fn(&str) -> Result<T, String>,
) -> Result<Vec<T>, CommandError> {
    let read = |text: &String| {
        read(text).map_err(|problem| CommandError::Usage(format!("{key}: found {text:?}, {problem}")))
    };
    texts.iter().map(read).collect()
}
