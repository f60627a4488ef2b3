//! Structures and enumerations, as far as the derives need them: names, doc comments, attributes.

use std::iter::Peekable;

use proc_macro::{Delimiter, Ident, Span, TokenStream, TokenTree, token_stream};

use crate::code::Refusal;

type Tokens = Peekable<token_stream::IntoIter>;

/// A structure or an enumeration.
pub(crate) struct Item {
    pub(crate) name: Ident,
    /// Options in the attributes `#[settings(...)]`.
    pub(crate) options: Vec<Entry>,
    pub(crate) body: Body,
}

/// The parts of an item.
pub(crate) enum Body {
    Struct(Vec<Field>),
    Enum(Vec<Variant>),
}

/// A field with a name.
pub(crate) struct Field {
    pub(crate) name: Ident,
    /// First paragraph of the doc comment, without backquotes.
    pub(crate) help: String,
    pub(crate) kind: TokenStream,
    /// Lists of the attributes `#[key(...)]`, of which a field may have several.
    pub(crate) keys: Vec<Vec<Entry>>,
}

/// One variant of an enumeration.
pub(crate) struct Variant {
    pub(crate) name: Ident,
    pub(crate) help: String,
    /// The word that stands for the variant.
    pub(crate) word: String,
    /// Whether users cannot choose the variant: `#[word(skip)]`.
    pub(crate) is_skipped: bool,
    pub(crate) content: Content,
}

/// The data of a variant.
pub(crate) enum Content {
    Unit,
    /// One value without a name, of this type.
    Value(TokenStream),
    Fields(Vec<Field>),
}

/// One part of an attribute's list: `name`, `name = value`, or an expression.
pub(crate) struct Entry {
    /// The name, of lower case; `None` for an expression.
    pub(crate) name: Option<String>,
    /// The value or the expression.
    pub(crate) value: TokenStream,
    pub(crate) at: Span,
}

/// The attributes before an item, a field or a variant.
#[derive(Default)]
struct Attributes {
    help: String,
    keys: Vec<Vec<Entry>>,
    settings: Vec<Entry>,
    word: Option<String>,
}

/// Parses the input of a derive.
pub(crate) fn item(input: TokenStream) -> Result<Item, Refusal> {
    let mut tokens = input.into_iter().peekable();
    let attributes = attributes(&mut tokens)?;
    skip_visibility(&mut tokens);
    let keyword = ident(&mut tokens)?;
    let name = ident(&mut tokens)?;
    let body = match tokens.next() {
        Some(TokenTree::Group(body)) if body.delimiter() == Delimiter::Brace => body.stream(),
        Some(TokenTree::Punct(end)) if end.as_char() == ';' => TokenStream::new(),
        _ => return Err(Refusal::new(name.span(), "found generics or a tuple, allowed: named fields")),
    };
    let body = match keyword.to_string().as_str() {
        "struct" => Body::Struct(fields(body)?),
        "enum" => Body::Enum(variants(body)?),
        other => {
            return Err(Refusal::new(keyword.span(), format!("found {other}, allowed: struct or enum")));
        }
    };
    Ok(Item { name, options: attributes.settings, body })
}

fn fields(body: TokenStream) -> Result<Vec<Field>, Refusal> {
    let mut tokens = body.into_iter().peekable();
    let mut fields = Vec::new();
    while tokens.peek().is_some() {
        let Attributes { help, keys, .. } = attributes(&mut tokens)?;
        skip_visibility(&mut tokens);
        let name = ident(&mut tokens)?;
        // The colon.
        tokens.next();
        fields.push(Field { name, help, kind: until_comma(&mut tokens), keys });
    }
    Ok(fields)
}

fn variants(body: TokenStream) -> Result<Vec<Variant>, Refusal> {
    let mut tokens = body.into_iter().peekable();
    let mut variants = Vec::new();
    while tokens.peek().is_some() {
        let Attributes { help, word, .. } = attributes(&mut tokens)?;
        let name = ident(&mut tokens)?;
        let content = match tokens.peek() {
            Some(TokenTree::Group(group)) if group.delimiter() == Delimiter::Brace => {
                Content::Fields(fields(group.stream())?)
            }
            Some(TokenTree::Group(group)) => {
                let mut inner = group.stream().into_iter().peekable();
                attributes(&mut inner)?;
                let kind = until_comma(&mut inner);
                if inner.peek().is_some() {
                    return Err(Refusal::new(name.span(), "found several values, allowed: named fields"));
                }
                Content::Value(kind)
            }
            _ => Content::Unit,
        };
        until_comma(&mut tokens);
        let is_skipped = word.as_deref() == Some("skip");
        let word = word.unwrap_or_else(|| kebab(&name.to_string()));
        variants.push(Variant { name, help, word, is_skipped, content });
    }
    Ok(variants)
}

fn attributes(tokens: &mut Tokens) -> Result<Attributes, Refusal> {
    let mut found = Attributes::default();
    let mut lines = Vec::new();
    while matches!(tokens.peek(), Some(TokenTree::Punct(punct)) if punct.as_char() == '#') {
        tokens.next();
        let Some(TokenTree::Group(group)) = tokens.next() else { continue };
        let mut inner = group.stream().into_iter();
        let name = inner.next().map(|name| name.to_string()).unwrap_or_default();
        let list = match inner.next() {
            Some(TokenTree::Group(list)) => list.stream(),
            // `= "text"`
            Some(_) => inner.next().map(TokenStream::from).unwrap_or_default(),
            None => TokenStream::new(),
        };
        match name.as_str() {
            "doc" => lines.push(unquoted(&list.to_string())),
            "key" => found.keys.push(entries(list)),
            "settings" => found.settings.extend(entries(list)),
            "word" => found.word = Some(unquoted(&list.to_string())),
            _ => {}
        }
    }
    let paragraph = lines.iter().map(|line| line.trim()).take_while(|line| !line.is_empty());
    found.help = paragraph.collect::<Vec<_>>().join(" ").replace('`', "");
    Ok(found)
}

/// Splits the list of an attribute at its commas.
fn entries(list: TokenStream) -> Vec<Entry> {
    let is_comma = |token: &TokenTree| matches!(token, TokenTree::Punct(sign) if sign.as_char() == ',');
    let tokens: Vec<_> = list.into_iter().collect();
    tokens.split(is_comma).filter_map(entry).collect()
}

fn entry(tokens: &[TokenTree]) -> Option<Entry> {
    let at = tokens.first()?.span();
    let name = tokens[0].to_string();
    let is_name = name.starts_with(|first: char| first.is_ascii_lowercase());
    let is_assignment = |sign: &TokenTree| matches!(sign, TokenTree::Punct(sign) if sign.as_char() == '=');
    let (name, value) = match &tokens[1..] {
        [] if is_name => (Some(name), &tokens[1..]),
        [sign, value @ ..] if is_name && is_assignment(sign) => (Some(name), value),
        _ => (None, tokens),
    };
    Some(Entry { name, value: value.iter().cloned().collect(), at })
}

/// Takes the tokens of a type or a variant before the next comma outside of angle brackets, and the comma.
fn until_comma(tokens: &mut Tokens) -> TokenStream {
    let (mut taken, mut depth, mut is_arrow) = (TokenStream::new(), 0_u32, false);
    for token in tokens.by_ref() {
        let sign = if let TokenTree::Punct(sign) = &token { sign.as_char() } else { ' ' };
        match sign {
            ',' if depth == 0 => return taken,
            '<' => depth += 1,
            '>' if !is_arrow => depth = depth.saturating_sub(1),
            _ => {}
        }
        is_arrow = sign == '-';
        taken.extend([token]);
    }
    taken
}

fn skip_visibility(tokens: &mut Tokens) {
    if tokens.next_if(|token| token.to_string() == "pub").is_some() {
        tokens.next_if(|token| matches!(token, TokenTree::Group(_)));
    }
}

fn ident(tokens: &mut Tokens) -> Result<Ident, Refusal> {
    match tokens.next() {
        Some(TokenTree::Ident(name)) => Ok(name),
        Some(other) => Err(Refusal::new(other.span(), format!("found {other}, allowed: a name"))),
        None => Err(Refusal::new(Span::call_site(), "a name is missing")),
    }
}

/// The contents of a string literal.
fn unquoted(literal: &str) -> String {
    if let Some(raw) = literal.strip_prefix('r') {
        let raw = raw.trim_matches('#');
        return raw[1..raw.len() - 1].to_owned();
    }
    let Some(text) = literal.strip_prefix('"').and_then(|text| text.strip_suffix('"')) else {
        return literal.to_owned();
    };
    let mut escaped = false;
    let is_kept = |&character: &char| {
        escaped = character == '\\' && !escaped;
        !escaped
    };
    text.chars().filter(is_kept).collect()
}

/// Name of a variant as a word: `slow-but-steady` for `SlowButSteady`.
fn kebab(name: &str) -> String {
    let mut word = String::new();
    for character in name.chars() {
        if character.is_uppercase() && !word.is_empty() {
            word.push('-');
        }
        word.extend(character.to_lowercase());
    }
    word
}
