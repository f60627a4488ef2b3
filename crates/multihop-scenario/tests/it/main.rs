//! Scenario files: what is read, and what is refused with which message.
#![expect(clippy::unwrap_used, reason = "a test that panics has failed")]
#![expect(clippy::float_cmp, reason = "what is compared was written down exactly")]

mod budgets;
mod examples;
mod expected;
mod extension;
mod hosts;
mod layouts;
mod malformed;
mod message_flows;
mod messages;
mod mobility;
mod model;
mod programs;
mod radios;
mod ready;
mod routing;
mod spread;
mod surroundings;
mod tpa;

use multihop_scenario::{Scenario, Source};

/// A chain of four hops and one flow, in as few lines as possible.
const SMALLEST: &str = "\
duration = 10.0
[topology]
kind = \"chain\"
hops = 4
[[flow]]
transport = \"newreno\"
";

fn toml(text: &str) -> Source {
    Source::Toml { text: text.to_owned(), name: "x.toml".to_owned() }
}

fn load(text: &str) -> Scenario {
    Scenario::load(&toml(text), &[]).unwrap_or_else(|problems| panic!("{problems}\nin\n{text}"))
}

fn load_with(text: &str, overrides: &[(&str, &str)]) -> Result<Scenario, String> {
    let overrides: Vec<_> =
        overrides.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    Scenario::load(&toml(text), &overrides).map_err(|problems| problems.to_string())
}

/// The problems of a text, one in each line.
fn refused(text: &str) -> String {
    match Scenario::load(&toml(text), &[]) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(problems) => problems.to_string(),
    }
}

/// The problem that one line causes which is appended to a table of [`SMALLEST`].
fn refused_with(table: &str, line: &str) -> String {
    let head = format!("[{table}]\n");
    let text = if SMALLEST.contains(&head) {
        SMALLEST.replace(&head, &format!("{head}{line}\n"))
    } else if table.is_empty() {
        format!("{line}\n{SMALLEST}")
    } else {
        format!("{SMALLEST}[{table}]\n{line}\n")
    };
    refused(&text)
}

/// A separate folder for this test, with these files.
fn folder(test: &str, files: &[(&str, &str)]) -> std::path::PathBuf {
    let folder = std::env::temp_dir().join(format!("multihop-{test}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    for (name, text) in files {
        std::fs::write(folder.join(name), text).unwrap();
    }
    folder
}

/// The scenario of a text that lies in a folder.
fn load_in(folder: &std::path::Path, text: &str) -> Result<Scenario, String> {
    let name = folder.join("x.toml").display().to_string();
    let source = Source::Toml { text: text.to_owned(), name };
    Scenario::load(&source, &[])
        .map_err(|problems| problems.to_string().replace(&*folder.to_string_lossy(), ""))
}
