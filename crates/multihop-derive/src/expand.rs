//! The code that the derives write.

use proc_macro::{Ident, TokenStream, TokenTree};

use crate::code::{Refusal, block, fill, text};
use crate::parse::{Body, Content, Entry, Field, Item, Variant};

/// Writes `impl Settings`, and `impl Default` if a key has a default.
pub(crate) fn settings(item: &Item) -> Result<TokenStream, Refusal> {
    let options = Options::of(&item.options, &["check", "required", "tag"])?;
    let (mut body, defaults) = match &item.body {
        Body::Struct(fields) => (struct_keys(fields)?, defaults(&item.name, fields)?),
        Body::Enum(variants) => (kinds(&item.name, &options, variants)?, TokenStream::new()),
    };
    if let Some(check) = options.value("check") {
        body.extend(fill("$check(&*self, keys);", &[("check", check)]));
    }
    if body.is_empty() {
        body = fill("let _ = keys;", &[]);
    }
    let name = TokenTree::from(item.name.clone()).into();
    let mut code = fill(
        "#[automatically_derived]
        impl ::multihop_core::settings::Settings for $name {
            fn keys(&mut self, keys: &mut dyn ::multihop_core::settings::Visitor) $body
        }",
        &[("name", name), ("body", block(body))],
    );
    code.extend(defaults);
    Ok(code)
}

/// Writes `impl Field` for an enumeration of words.
pub(crate) fn field(item: &Item) -> Result<TokenStream, Refusal> {
    let Body::Enum(variants) = &item.body else {
        return Err(Refusal::new(item.name.span(), "found a structure, allowed: an enumeration"));
    };
    let (mut words, mut arms) = (TokenStream::new(), TokenStream::new());
    for Variant { name, word, content, is_skipped, .. } in variants {
        let variant = TokenTree::from(name.clone()).into();
        let parts = [("word", text(word)), ("variant", variant)];
        if *is_skipped || !matches!(content, Content::Unit) {
            arms.extend(fill("Self::$variant { .. } => return ::core::option::Option::None,", &parts));
        } else {
            arms.extend(fill("Self::$variant => $word,", &parts));
            words.extend(fill("($word, Self::$variant),", &parts));
        }
    }
    Ok(fill(
        "#[automatically_derived]
        impl $name {
            const WORDS: &'static [(&'static str, Self)] = &[$words];
        }

        #[automatically_derived]
        impl ::multihop_core::settings::Field for $name {
            type Bounds = ();

            fn allowed((): &()) -> ::multihop_core::settings::Allowed {
                ::multihop_core::settings::Allowed::of_words(Self::WORDS)
            }

            fn value(&self) -> ::core::option::Option<::multihop_core::settings::Value> {
                let word = match self { $arms };
                ::core::option::Option::Some(::multihop_core::settings::Value::Word(word))
            }

            fn of_value(value: ::multihop_core::settings::Value) -> Self {
                value.into_choice(Self::WORDS)
            }
        }",
        &[("name", TokenTree::from(item.name.clone()).into()), ("words", words), ("arms", arms)],
    ))
}

fn struct_keys(fields: &[Field]) -> Result<TokenStream, Refusal> {
    let mut body = TokenStream::new();
    for field in fields {
        let name = TokenTree::from(field.name.clone()).into();
        body.extend(visit(field, fill("self.$field", &[("field", name)]))?);
    }
    Ok(body)
}

/// Writes the visits of a field's keys, whose value is at `place`.
fn visit(field: &Field, place: TokenStream) -> Result<TokenStream, Refusal> {
    let mut code = TokenStream::new();
    for entries in &field.keys {
        let options = Options::of(entries, KEY_OPTIONS)?;
        let visit = visit_key(field, &options, &place);
        code.extend(match options.value("when") {
            Some(when) => fill("if $when { $visit }", &[("when", when), ("visit", visit)]),
            None => visit,
        });
    }
    Ok(code)
}

fn visit_key(field: &Field, options: &Options<'_>, place: &TokenStream) -> TokenStream {
    let is_option = field.kind.clone().into_iter().next().is_some_and(|first| first.to_string() == "Option");
    let parts = |template| {
        let parts = [
            ("help", options.value("help").unwrap_or_else(|| text(&field.help))),
            ("name", options.value("name").unwrap_or_else(|| text(&field.name.to_string()))),
            ("place", place.clone()),
            ("bounds", options.bounds().unwrap_or_else(|| fill("()", &[]))),
            ("with", options.value("with").unwrap_or_default()),
        ];
        fill(template, &parts)
    };
    let is_required = options.has("required");
    let visit = parts(match options.kind() {
        "with" => return parts("$with(self, $name, $help, keys);"),
        "flatten" if is_option => {
            return parts(
                "if let ::core::option::Option::Some(inner) = &mut $place {
                    ::multihop_core::settings::Settings::keys(inner, keys);
                }",
            );
        }
        "flatten" => return parts("::multihop_core::settings::Settings::keys(&mut $place, keys);"),
        "switch" => "keys.about($help).switch_or_table($name, &mut $place)",
        "off" => "keys.about($help).field_or_off($name, &mut $place, $bounds)",
        "millionths" => "keys.about($help).millionths($name, &mut $place)",
        "thousandths" => "keys.about($help).thousandths($name, &mut $place, $bounds)",
        "table" if is_option => "keys.about($help).optional_table($name, &mut $place)",
        "table" if is_required => "keys.about($help).required().settings($name, &mut $place)",
        "table" => "keys.about($help).settings($name, &mut $place)",
        _ if is_required => "keys.about($help).required().field($name, &mut $place, $bounds)",
        _ => "keys.about($help).field($name, &mut $place, $bounds)",
    });
    match options.value("then") {
        Some(then) => fill("if $visit { $then(self, keys); }", &[("visit", visit), ("then", then)]),
        None => fill("$visit;", &[("visit", visit)]),
    }
}

/// Writes `impl Default` for a structure of which a key has a default.
fn defaults(name: &Ident, fields: &[Field]) -> Result<TokenStream, Refusal> {
    let (mut values, mut is_any) = (TokenStream::new(), false);
    for field in fields {
        is_any |= default(field)?.is_some();
        values.extend(initial(field)?);
    }
    if !is_any {
        return Ok(TokenStream::new());
    }
    Ok(fill(
        "#[automatically_derived]
        impl ::core::default::Default for $name {
            fn default() -> Self {
                Self { $values }
            }
        }",
        &[("name", TokenTree::from(name.clone()).into()), ("values", values)],
    ))
}

/// Writes `field: value,` with the field's default.
fn initial(field: &Field) -> Result<TokenStream, Refusal> {
    let value = default(field)?.unwrap_or_else(|| fill("::core::default::Default::default()", &[]));
    let name = TokenTree::from(field.name.clone()).into();
    Ok(fill("$field: $value,", &[("field", name), ("value", value)]))
}

fn default(field: &Field) -> Result<Option<TokenStream>, Refusal> {
    for entries in &field.keys {
        if let Some(value) = Options::of(entries, KEY_OPTIONS)?.value("default") {
            return Ok(Some(value));
        }
    }
    Ok(None)
}

/// Writes the visit of a key that decides which other keys there are: one alternative for each variant.
fn kinds(item: &Ident, options: &Options<'_>, variants: &[Variant]) -> Result<TokenStream, Refusal> {
    let Some(tag) = options.value("tag") else {
        return Err(Refusal::new(item.span(), "allowed with #[settings(tag = \"...\")]"));
    };
    let (mut words, mut arms) = (TokenStream::new(), TokenStream::new());
    for (n, variant) in variants.iter().enumerate() {
        let pair = [("word", text(&variant.word)), ("help", text(&variant.help))];
        words.extend(fill("($word, $help),", &pair));
        let last = if n + 1 == variants.len() { "_".to_owned() } else { format!("{n}_usize") };
        let arm = [("kind", last.parse().expect("a pattern")), ("value", block(alternative(variant)?))];
        arms.extend(fill("$kind => $value,", &arm));
    }
    let default = if options.has("required") { "None" } else { "Some(0)" };
    Ok(fill(
        "keys.kinds($tag, ::core::option::Option::$default, &[$words], &mut |kind, keys| {
            *self = match kind { $arms };
        });",
        &[("tag", tag), ("default", default.parse().expect("a value")), ("words", words), ("arms", arms)],
    ))
}

/// Writes a variant whose keys are visited.
fn alternative(variant: &Variant) -> Result<TokenStream, Refusal> {
    let name = || TokenTree::from(variant.name.clone()).into();
    match &variant.content {
        Content::Unit => Ok(fill("let _ = &keys; Self::$variant", &[("variant", name())])),
        Content::Value(kind) => {
            let parts = [("variant", name()), ("kind", kind.clone())];
            Ok(fill(
                "let mut inner = <$kind as ::core::default::Default>::default();
                ::multihop_core::settings::Settings::keys(&mut inner, keys);
                Self::$variant(inner)",
                &parts,
            ))
        }
        Content::Fields(fields) => {
            let (mut code, mut names) = (TokenStream::new(), TokenStream::new());
            for field in fields {
                let place: TokenStream = TokenTree::from(field.name.clone()).into();
                let value =
                    default(field)?.unwrap_or_else(|| fill("::core::default::Default::default()", &[]));
                let parts = [("field", place.clone()), ("kind", field.kind.clone()), ("value", value)];
                code.extend(fill("let mut $field: $kind = $value;", &parts));
                code.extend(visit(field, place.clone())?);
                names.extend(fill("$field,", &[("field", place)]));
            }
            code.extend(fill("Self::$variant { $names }", &[("variant", name()), ("names", names)]));
            Ok(code)
        }
    }
}

const KEY_OPTIONS: &[&str] = &[
    "default",
    "flatten",
    "help",
    "millionths",
    "name",
    "off",
    "required",
    "switch",
    "table",
    "then",
    "thousandths",
    "when",
    "with",
];

/// The list of an attribute, whose names are allowed ones.
struct Options<'a>(&'a [Entry]);

impl<'a> Options<'a> {
    fn of(entries: &'a [Entry], allowed: &[&str]) -> Result<Self, Refusal> {
        for Entry { name, at, .. } in entries {
            if let Some(name) = name.as_deref().filter(|name| !allowed.contains(name)) {
                let message = format!("found {name}, allowed: bounds, {}", allowed.join(", "));
                return Err(Refusal::new(*at, message));
            }
        }
        Ok(Self(entries))
    }

    /// Word that decides how the key is visited; empty for a key that is only its field.
    fn kind(&self) -> &str {
        let kinds = ["with", "flatten", "switch", "off", "millionths", "thousandths", "table"];
        kinds.into_iter().find(|kind| self.has(kind)).unwrap_or_default()
    }

    fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    fn value(&self, name: &str) -> Option<TokenStream> {
        self.find(name).map(|entry| entry.value.clone())
    }

    fn find(&self, name: &str) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.name.as_deref() == Some(name))
    }

    /// The expression among the options.
    fn bounds(&self) -> Option<TokenStream> {
        self.0.iter().find(|entry| entry.name.is_none()).map(|entry| entry.value.clone())
    }
}
