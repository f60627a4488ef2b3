//! Syntax of libconfig: settings with numbers, strings, groups, arrays and lists.

/// A value and its place in the file.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Item {
    pub(super) value: Value,
    pub(super) at: Place,
}

/// Line and column in a file, both from 1.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Place {
    pub(super) line: usize,
    pub(super) column: usize,
}

/// Value of a setting.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Value {
    /// Integer, with or without a fraction.
    Number(f64),
    /// String in double quotes, without its escapes.
    Text(String),
    /// Word `true` or `false`, in any case.
    Bool(bool),
    /// Array in brackets or list in parentheses.
    List(Vec<Item>),
    /// Settings in braces, by name.
    Group(Vec<(String, Item)>),
}

/// Mistake in a file: its place, and a text without the place.
pub(super) type Fault = (Place, String);

/// Reads the settings of a file.
pub(super) fn parse(text: &str) -> Result<Vec<(String, Item)>, Fault> {
    let mut reader = Reader { rest: text, at: Place { line: 1, column: 1 } };
    let settings = reader.settings(None, 0)?;
    reader.skip()?;
    Ok(settings)
}

struct Reader<'a> {
    rest: &'a str,
    at: Place,
}

impl Reader<'_> {
    /// Settings up to the closing character, or up to the end of the file.
    fn settings(&mut self, end: Option<char>, depth: usize) -> Result<Vec<(String, Item)>, Fault> {
        let mut settings: Vec<(String, Item)> = Vec::new();
        loop {
            self.skip()?;
            match (self.peek(), end) {
                (None, None) => return Ok(settings),
                (found, end) if found.is_some() && found == end => {
                    self.next();
                    return Ok(settings);
                }
                _ => {}
            }
            let at = self.at;
            let name = self.word(|c| c.is_ascii_alphanumeric() || "_-*".contains(c));
            if name.is_empty() {
                return self.expected(if end.is_some() { "a setting or }" } else { "a setting" });
            }
            if settings.iter().any(|(known, _)| *known == name) {
                return Err((at, format!("the setting {name} is there twice")));
            }
            self.skip()?;
            if !self.take('=') && !self.take(':') {
                return self.expected("= or :");
            }
            settings.push((name, self.value(depth)?));
            self.skip()?;
            let _ = self.take(';') || self.take(',');
        }
    }

    fn value(&mut self, depth: usize) -> Result<Item, Fault> {
        self.skip()?;
        let at = self.at;
        if depth > MAX_DEPTH {
            return Err((at, format!("values are nested deeper than {MAX_DEPTH} levels")));
        }
        let value = match self.peek() {
            Some('{') => {
                self.next();
                Value::Group(self.settings(Some('}'), depth + 1)?)
            }
            Some('[') => self.list(']', depth)?,
            Some('(') => self.list(')', depth)?,
            Some('"') => Value::Text(self.strings()?),
            _ => {
                let word = self.word(|c| c.is_ascii_alphanumeric() || "+-.".contains(c));
                match word.to_ascii_lowercase().as_str() {
                    "true" => Value::Bool(true),
                    "false" => Value::Bool(false),
                    _ => match number(&word) {
                        Some(number) => Value::Number(number),
                        None if word.is_empty() => return self.expected("a value"),
                        None => return Err((at, format!("found {word}, allowed: a value"))),
                    },
                }
            }
        };
        Ok(Item { value, at })
    }

    fn list(&mut self, end: char, depth: usize) -> Result<Value, Fault> {
        self.next();
        let mut items = Vec::new();
        loop {
            self.skip()?;
            if self.take(end) {
                return Ok(Value::List(items));
            }
            items.push(self.value(depth + 1)?);
            self.skip()?;
            if !self.take(',') && self.peek() != Some(end) {
                return self.expected(&format!(", or {end}"));
            }
        }
    }

    /// A string, or several strings in sequence, which are one.
    fn strings(&mut self) -> Result<String, Fault> {
        let mut text = String::new();
        while self.take('"') {
            loop {
                match self.next() {
                    Some('"') => break,
                    Some('\\') => text.extend(self.next().map(|c| match c {
                        'n' => '\n',
                        't' => '\t',
                        other => other,
                    })),
                    Some(c) => text.push(c),
                    None => return self.expected("\""),
                }
            }
            self.skip()?;
        }
        Ok(text)
    }

    /// Skips white space and comments.
    fn skip(&mut self) -> Result<(), Fault> {
        loop {
            if self.rest.starts_with('#') || self.rest.starts_with("//") {
                while self.peek().is_some_and(|c| c != '\n') {
                    self.next();
                }
            } else if self.rest.starts_with("/*") {
                while !self.rest.starts_with("*/") {
                    if self.next().is_none() {
                        return self.expected("*/");
                    }
                }
                self.next();
                self.next();
            } else if self.peek().is_some_and(char::is_whitespace) {
                self.next();
            } else {
                return Ok(());
            }
        }
    }

    fn word(&mut self, belongs: impl Fn(char) -> bool) -> String {
        let mut word = String::new();
        while let Some(c) = self.peek().filter(|c| belongs(*c)) {
            word.push(c);
            self.next();
        }
        word
    }

    fn take(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        if is_there {
            self.next();
        }
        is_there
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    fn next(&mut self) -> Option<char> {
        let c = self.peek()?;
        self.rest = &self.rest[c.len_utf8()..];
        if c == '\n' {
            self.at = Place { line: self.at.line + 1, column: 1 };
        } else {
            self.at.column += 1;
        }
        Some(c)
    }

    fn expected<T>(&self, what: &str) -> Result<T, Fault> {
        let found = self.peek().map_or("the end of the file".to_owned(), |c| format!("{c:?}"));
        Err((self.at, format!("found {found}, allowed: {what}")))
    }
}

/// A number in decimal or hexadecimal digits, which may end with `L`.
fn number(word: &str) -> Option<f64> {
    let digits = word.trim_end_matches('L');
    if let Some(hex) = digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        return u32::from_str_radix(hex, 16).ok().map(f64::from);
    }
    let is_plain = digits.chars().all(|c| c.is_ascii_digit() || "+-.eE".contains(c));
    digits.parse().ok().filter(|number: &f64| is_plain && number.is_finite())
}

/// Deepest nesting of values; files of wmediumd have three levels.
const MAX_DEPTH: usize = 16;
