//! Scenario files: what is read, what is refused and with which words.

mod layouts;
mod malformed;
mod messages;
mod model;
mod ready;

use multihop_sim::scenario::{Scenario, Source};

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

/// Every problem of a text, one in each line.
fn refused(text: &str) -> String {
    match Scenario::load(&toml(text), &[]) {
        Ok(_) => panic!("accepted:\n{text}"),
        Err(problems) => problems.to_string(),
    }
}
