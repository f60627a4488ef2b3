//! Implements `multihop route`, the routing daemon.

use anyhow::Context;
use multihop_net::{SecretFile, SharedKey};
use multihop_route::{Config, Family, Key, Protocols, RouteError, Stop, flush, run, status};
use multihop_sandbox::Needs;
use multihop_scenario::{Extensions, Source, read_settings};

use super::args::{RouteArgs, RouteQuestion};
use super::confinement::folder_of;
use super::{log, metrics, problem, route_metrics, route_page, route_status};
use crate::terminal::{self, Verbosity, note};
use crate::{CommandError, output};

/// Runs the daemon until a signal ends it, or sends a request to a running daemon.
pub(crate) fn route(
    args: &RouteArgs,
    verbosity: Verbosity,
    extensions: &Extensions,
) -> Result<(), CommandError> {
    match &args.question {
        Some(RouteQuestion::Status { page: Some(address), ipv6, .. }) => {
            return Ok(route_page::serve(*address, family(*ipv6))?);
        }
        Some(RouteQuestion::Status { page: None, json, ipv6 }) => {
            return Ok(show_status(family(*ipv6), *json)?);
        }
        Some(RouteQuestion::Flush { ipv6 }) => {
            let removed = flush(family(*ipv6)).context("cannot remove the routes")?;
            return Ok(output::line(format_args!("removed {removed} routes"))?);
        }
        Some(RouteQuestion::Key { file }) => {
            let digits = load(file)?.bytes().map(|byte| format!("{byte:02x}")).concat();
            return Ok(output::line(format_args!("{digits}"))?);
        }
        None => {}
    }
    let mut config = config(args, extensions)?;
    config.is_confined = !args.sandbox.no_sandbox;
    if config.interfaces.is_empty() {
        let problem =
            "no interface: name at least one, such as wlan0, or give a configuration with interfaces";
        return Err(CommandError::Usage(problem.to_owned()));
    }
    log::log(verbosity, &args.log);
    serve_metrics(args, config.families()[0])?;
    let stop = Stop::by_signals().context("cannot handle signals")?;
    if !verbosity.quiet {
        note(format_args!("{} over {}", config.protocol, config.interfaces.join(", ")));
    }
    let mut reload = || self::config(args, extensions).map_err(problem);
    match run(config, &stop, &mut reload) {
        Err(error @ RouteError::Runs(_)) => Err(CommandError::Taken(error.to_string())),
        // A daemon normally ends by a signal.
        result => Ok(result.map_err(anyhow::Error::from)?),
    }
}

/// Serves the state of the daemon as metrics, if an address is given.
fn serve_metrics(args: &RouteArgs, family: Family) -> anyhow::Result<()> {
    let needs = Needs { abstract_sockets: true, ..Needs::default() };
    metrics::serve(&args.metrics, needs, move || {
        let document = status(family).ok()?;
        Some(route_metrics::page(&serde_json::from_str(&document).ok()?))
    })
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
fn config(args: &RouteArgs, extensions: &Extensions) -> Result<Config, CommandError> {
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
    let mut config = read(&source, &overrides, extensions)?;
    config.reload_from.extend(args.config.as_deref().map(folder_of));
    Ok(config)
}

/// Checks a configuration as the daemon does at its start; returns a description of it.
pub(crate) fn check(
    source: &Source,
    set: &[(String, String)],
    extensions: &Extensions,
) -> Result<String, CommandError> {
    let config = read(source, set, extensions)?;
    let families = config.families().iter().map(Family::to_string).collect::<Vec<_>>().join(" and ");
    Ok(format!("{} of {families} over {}", config.protocol, config.interfaces.join(", ")))
}

/// Reads a configuration, and the key file that it names.
fn read(
    source: &Source,
    overrides: &[(String, String)],
    extensions: &Extensions,
) -> Result<Config, CommandError> {
    let mut config = Config { extensions: Protocols(extensions.on_hosts()), ..Config::default() };
    read_settings(&mut config, "multihop route", source, overrides)?;
    config.key = config.key_file.as_deref().map(load).transpose()?;
    config.further_keys =
        config.further_key_files.iter().map(|path| load(path)).collect::<anyhow::Result<_>>()?;
    let files = config.key_file.iter().chain(&config.further_key_files);
    config.reload_from.extend(files.map(|path| folder_of(path.as_ref())));
    Ok(config)
}

fn load(path: &str) -> anyhow::Result<Key> {
    let key = SharedKey::load(path.as_ref());
    Ok(Key::new(*key.context("cannot read the key (multihop keygen --shared creates one)")?.psk()))
}

const fn family(ipv6: bool) -> Family {
    if ipv6 { Family::Ipv6 } else { Family::Ipv4 }
}
