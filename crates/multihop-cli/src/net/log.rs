//! The event log of the programs for real networks: one line for each event, on standard error.
//!
//! An event is a [`tracing`] event: its message is the name of the event, or a sentence, and the rest is in fields. A field
//! `limit` is not shown: it is the number of lines per minute for events of this place in the code with the same `reason`.
//!
//! # Format
//!
//! `send`, `recv`, `perf`, `tunnel` and `route` write one line for each event to standard error: a message
//! and fields `NAME=VALUE`. The log has warnings and errors; `-v` adds events of normal work, `-vv` details.
//!
//! | standard error | a line begins with |
//! |---|---|
//! | a terminal | the level: `WARN`, `INFO` |
//! | journald (`JOURNAL_STREAM`) | the priority of syslog: `<4>`, `<6>` |
//! | anything else | the time (UTC), then the level |
//! | any, with `--log-json` | `{`: an object with `time`, `level` (`error`, `warn`, `info`, `debug`), `message` and the fields |
//!
//! Stable messages (`route` has *others* (`docs/route.md#events`)):
//!
//! | message | level | of | fields |
//! |---|---|---|---|
//! | `transfer began` | info | `recv`, `send` | `peer` |
//! | `transfer ended` | info | `recv`, `send` | `peer`, `files`, `moved`, `had`, `seconds` |
//! | `transfer failed` | error | `recv` | `peer`, `error` |
//! | `connection ended` | info | `tunnel` | `peer`, bytes `up` and `down`; at the gateway `wanted` |
//! | `connection failed` | warn | `tunnel` | `peer`, `error` |
//! | `measurement ended` | info | `perf --listen` | `peer`, `bytes`, `seconds` |
//! | `measurement failed` | error | `perf --listen` | `peer`, `error` |
//! | `peer refused` | info | listeners | `peer`; `reason`: `unknown_key` (with `key`), `wrong_token`, `wrong_shared_key`, `wants_token`, `wants_keys`, `wants_shared_key`, `wants_no_shared_key` |
//! | `keys reloaded` | info | listeners | `connections_ended` |
//! | `keys not reloaded` | warn | listeners | `error` |
//!
//! The log has at most 10 lines a minute for each reason of `peer refused`, and 60 for `connection failed`;
//! `suppressed` counts others.

use std::collections::BTreeMap;
use std::fmt::{Debug, Write as _};
use std::io::{self, IsTerminal, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use multihop_apps::text::printable;
use serde_json::{Map, Value};
use tracing::field::{Field, Visit};
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry;

use super::args::LogArgs;
use super::metrics;
use crate::terminal::Verbosity;

/// Writes events to standard error from now on: warnings, and more with `--verbose`.
pub(super) fn log(verbosity: Verbosity, args: &LogArgs) {
    let level = match verbosity.verbose {
        0 => LevelFilter::WARN,
        1 => LevelFilter::INFO,
        _ => LevelFilter::DEBUG,
    };
    let form = Form::of(args, io::stderr().is_terminal(), is_journal());
    // The embedding program may have installed a subscriber already.
    let _ = tracing::subscriber::set_global_default(subscriber(level, form, MINUTE, io::stderr));
}

fn subscriber<W: Write>(
    level: LevelFilter,
    form: Form,
    window: Duration,
    writer: impl Fn() -> W + Send + Sync + 'static,
) -> impl Subscriber + Send + Sync {
    let lines = Lines { form, writer, window, limits: Mutex::new(BTreeMap::new()) };
    let counting = metrics::layer().map(|counting| counting.with_filter(LevelFilter::INFO));
    registry().with(Log(Arc::new(lines)).with_filter(level)).with(counting)
}

/// Form of the lines of an event log.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Form {
    /// Level, message and fields.
    Terminal,
    /// Time, level, message and fields.
    File,
    /// The syslog priority, from which journald takes the level, replaces time and level.
    Journal,
    /// One JSON object per line.
    Json,
}

impl Form {
    const fn of(args: &LogArgs, is_terminal: bool, is_journal: bool) -> Self {
        match (args.log_json, is_terminal, is_journal) {
            (true, ..) => Self::Json,
            (_, true, _) => Self::Terminal,
            (.., true) => Self::Journal,
            _ => Self::File,
        }
    }
}

/// Whether standard error is connected to journald, by the environment.
fn is_journal() -> bool {
    let stream = std::env::var("JOURNAL_STREAM").unwrap_or_default();
    let Ok(file) = io::stderr().as_fd().try_clone_to_owned().map(std::fs::File::from) else { return false };
    file.metadata().is_ok_and(|file| stream == format!("{}:{}", file.dev(), file.ino()))
}

/// The layer that writes events.
struct Log<F>(Arc<Lines<F>>);

struct Lines<F> {
    form: Form,
    writer: F,
    /// Duration of the window in which the lines of each kind are limited.
    window: Duration,
    limits: Mutex<BTreeMap<Kind, Count>>,
}

/// Events of one place in the code with the same reason.
type Kind = (&'static str, String);

/// Lines of one kind of events.
struct Count {
    since: Instant,
    written: u64,
    suppressed: u64,
    level: Level,
}

/// Message and fields of an event.
#[derive(Default)]
struct Fields {
    message: String,
    values: Vec<(&'static str, Value)>,
    limit: Option<u64>,
    reason: String,
}

impl<S: Subscriber, W: Write, F: Fn() -> W + Send + Sync + 'static> Layer<S> for Log<F> {
    fn on_event(&self, event: &Event<'_>, _context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let metadata = event.metadata();
        if let Some(limit) = fields.limit {
            let kind = (metadata.name(), fields.reason.clone());
            if !Lines::allows(&self.0, kind, *metadata.level(), limit, &fields.message) {
                return;
            }
        }
        self.0.write(*metadata.level(), &fields);
    }
}

impl<W: Write, F: Fn() -> W + Send + Sync + 'static> Lines<F> {
    /// Whether one more line of this kind may be written now. Further lines are only counted; a separate
    /// thread writes their number when the window ends.
    fn allows(lines: &Arc<Self>, kind: Kind, level: Level, limit: u64, message: &str) -> bool {
        let now = Instant::now();
        let mut limits = lines.limits.lock().unwrap_or_else(PoisonError::into_inner);
        let is_over = |count: &Count| now.saturating_duration_since(count.since) >= lines.window;
        limits.retain(|_, count| count.suppressed > 0 || !is_over(count));
        if limits.len() >= MAX_KINDS && !limits.contains_key(&kind) {
            return false;
        }
        let new = Count { since: now, written: 0, suppressed: 0, level };
        let count = limits.entry(kind.clone()).or_insert(new);
        if count.written < limit {
            count.written += 1;
            return true;
        }
        count.suppressed += 1;
        if count.suppressed == 1 {
            let left = lines.window.saturating_sub(now.saturating_duration_since(count.since));
            let (lines, message) = (Arc::clone(lines), message.to_owned());
            thread::spawn(move || {
                thread::sleep(left);
                lines.summarize(&kind, message);
            });
        }
        false
    }

    /// Writes how many lines of a kind were left out.
    fn summarize(&self, kind: &Kind, message: String) {
        let mut limits = self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(count) = limits.remove(kind) else { return };
        drop(limits);
        let mut fields = Fields { message, ..Fields::default() };
        if !kind.1.is_empty() {
            fields.values.push(("reason", kind.1.clone().into()));
        }
        fields.values.push(("suppressed", count.suppressed.into()));
        self.write(count.level, &fields);
    }

    fn write(&self, level: Level, fields: &Fields) {
        let line = match self.form {
            Form::Terminal => format!("{level} {}", fields.text()),
            Form::File => format!("{} {level} {}", time(SystemTime::now()), fields.text()),
            Form::Journal => format!("<{}>{}", priority(level), fields.text()),
            Form::Json => fields.json(level, SystemTime::now()),
        };
        // Standard error may have no reader any more. A single write keeps lines of several threads apart.
        let _ = (self.writer)().write_all(format!("{line}\n").as_bytes());
    }
}

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.record(field, printable(&format!("{value:?}")).into());
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        self.record(field, printable(value).into());
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        if field.name() == "limit" {
            self.limit = Some(value);
        } else {
            self.record(field, value.into());
        }
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.record(field, value.into());
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.record(field, value.into());
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.record(field, value.into());
    }
}

impl Fields {
    fn record(&mut self, field: &Field, value: Value) {
        match (field.name(), &value) {
            ("message", Value::String(message)) => self.message.clone_from(message),
            (name, value) => {
                if let ("reason", Value::String(reason)) = (name, value) {
                    self.reason.clone_from(reason);
                }
                self.values.push((name, value.clone()));
            }
        }
    }

    fn text(&self) -> String {
        let mut text = self.message.clone();
        for (name, value) in &self.values {
            let value = match value {
                Value::String(word) if word.is_empty() || word.contains([' ', '"', '=']) => {
                    format!("\"{}\"", word.replace('"', "\\\""))
                }
                Value::String(word) => word.clone(),
                other => other.to_string(),
            };
            write!(text, " {name}={value}").expect("writing to a string cannot fail");
        }
        text
    }

    fn json(&self, level: Level, at: SystemTime) -> String {
        let mut object = Map::new();
        object.insert("time".to_owned(), time(at).into());
        object.insert("level".to_owned(), level.as_str().to_lowercase().into());
        object.insert("message".to_owned(), self.message.clone().into());
        object.extend(self.values.iter().map(|(name, value)| ((*name).to_owned(), value.clone())));
        Value::Object(object).to_string()
    }
}

/// The priority of syslog (RFC 5424, section 6.2.1).
const fn priority(level: Level) -> u8 {
    match level {
        Level::ERROR => 3,
        Level::WARN => 4,
        Level::INFO => 6,
        _ => 7,
    }
}

/// UTC with milliseconds, as in RFC 3339.
fn time(at: SystemTime) -> String {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    let (days, second) = (since.as_secs() / 86_400, since.as_secs() % 86_400);
    // Years begin in March, and eras of 400 years with a year 0 (days from civil, H. Hinnant).
    let day = days + 719_468;
    let (era, day) = (day / 146_097, day % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let date = day - (153 * month + 2) / 5 + 1;
    let (month, is_next) = if month < 10 { (month + 3, 0) } else { (month - 9, 1) };
    format!(
        "{:04}-{month:02}-{date:02}T{:02}:{:02}:{:02}.{:03}Z",
        400 * era + year + is_next,
        second / 3_600,
        second / 60 % 60,
        second % 60,
        since.subsec_millis()
    )
}

const MINUTE: Duration = Duration::from_secs(60);
/// Largest number of kinds of events with a limit; reasons are words of the program, so that there are fewer.
const MAX_KINDS: usize = 256;

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Written(Arc<Mutex<Vec<u8>>>);

    impl Write for Written {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    impl Written {
        fn text(&self) -> String {
            String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
        }
    }

    fn logged(form: Form, window: Duration, work: impl FnOnce(&Written)) -> String {
        let written = Written::default();
        let to = written.clone();
        let subscriber = subscriber(LevelFilter::INFO, form, window, move || to.clone());
        tracing::subscriber::with_default(subscriber, || work(&written));
        written.text()
    }

    const EVIL: &str = "a\u{1b}[2J\r\n\u{7f}\u{9b}31m\u{85}\u{2028}\u{202e}\u{2066}z";

    #[test]
    fn control_characters_do_not_reach_the_log() {
        for form in [Form::Terminal, Form::File, Form::Journal, Form::Json] {
            let text = logged(form, MINUTE, |_| {
                tracing::warn!(wanted = %EVIL, quoted = EVIL, debug = ?EVIL, "{EVIL}");
            });
            let line = text.strip_suffix('\n').unwrap();
            assert!(!line.contains(multihop_apps::text::is_unprintable), "{line:?}");
            assert!(line.contains("u{1b}[2J") && line.contains("wanted"), "{line}");
        }
    }

    #[test]
    fn each_form_has_the_level_in_its_way() {
        let say = |_: &Written| {
            tracing::info!(address = "10.0.1.2", hops = 3_u64, text = "two words", "neighbour up");
            tracing::debug!("not shown");
            tracing::error!("over");
        };
        let rest = "neighbour up address=10.0.1.2 hops=3 text=\"two words\"";
        assert_eq!(logged(Form::Terminal, MINUTE, say), format!("INFO {rest}\nERROR over\n"));
        assert_eq!(logged(Form::Journal, MINUTE, say), format!("<6>{rest}\n<3>over\n"));
        let file = logged(Form::File, MINUTE, say);
        assert_eq!(file.lines().next().unwrap().split_once(' ').unwrap().1, format!("INFO {rest}"));
        let json = logged(Form::Json, MINUTE, say);
        let mut object: Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
        assert!(object.as_object_mut().unwrap().remove("time").is_some_and(|time| time.is_string()));
        let wanted = serde_json::json!({
            "level": "info", "message": "neighbour up", "address": "10.0.1.2", "hops": 3, "text": "two words"
        });
        assert_eq!(object, wanted);
    }

    #[test]
    fn a_flood_writes_few_lines_and_then_its_count() {
        let refuse = |reason: &str| tracing::warn!(limit = 3_u64, reason, "peer refused");
        let text = logged(Form::Terminal, Duration::from_millis(300), |written| {
            (0..1_000).for_each(|_| refuse("wrong_key"));
            refuse("replayed");
            let begun = Instant::now();
            while !written.text().contains("suppressed") {
                assert!(begun.elapsed() < MINUTE, "never: {}", written.text());
                thread::sleep(Duration::from_millis(5));
            }
            refuse("wrong_key");
        });
        let count = |part: &str| text.lines().filter(|line| line.ends_with(part)).count();
        let counted: u64 =
            text.lines().filter_map(|line| line.split_once("suppressed=")?.1.parse::<u64>().ok()).sum();
        let written = u64::try_from(count("reason=wrong_key")).unwrap();
        assert_eq!(written + counted, 1_001, "{text}");
        assert!(written <= 7, "{text}");
        assert_eq!(count("reason=replayed"), 1, "a limit for each reason");
    }

    #[test]
    fn times_are_those_of_the_calendar() {
        let at = |seconds: u64| time(UNIX_EPOCH + Duration::from_millis(seconds * 1_000 + 7));
        assert_eq!(at(0), "1970-01-01T00:00:00.007Z");
        assert_eq!(at(951_782_399), "2000-02-28T23:59:59.007Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00.007Z");
        assert_eq!(at(1_709_251_200), "2024-03-01T00:00:00.007Z");
        assert_eq!(at(4_102_444_799), "2099-12-31T23:59:59.007Z");
    }

    #[test]
    fn standard_error_decides_about_the_form() {
        let of = |log_json, is_terminal, is_journal| Form::of(&LogArgs { log_json }, is_terminal, is_journal);
        assert_eq!(of(true, true, true), Form::Json);
        assert_eq!(of(false, true, false), Form::Terminal);
        assert_eq!(of(false, false, true), Form::Journal);
        assert_eq!(of(false, false, false), Form::File);
    }
}
