//! Code from templates, and errors at their place.

use proc_macro::{Delimiter, Group, Literal, Span, TokenStream, TokenTree};

/// An error of the user of a derive.
pub(crate) struct Refusal {
    at: Span,
    message: String,
}

impl Refusal {
    pub(crate) fn new(at: Span, message: impl Into<String>) -> Self {
        Self { at, message: message.into() }
    }

    /// The error as code that does not compile.
    pub(crate) fn tokens(self) -> TokenStream {
        let code = fill("::core::compile_error! { $message }", &[("message", text(&self.message))]);
        code.into_iter().map(|token| at(token, self.at)).collect()
    }
}

/// Parses a template and replaces `$name` by the part of this name, whose tokens keep their place for error messages.
pub(crate) fn fill(template: &str, parts: &[(&str, TokenStream)]) -> TokenStream {
    replace(template.parse().expect("templates are Rust"), parts)
}

fn replace(template: TokenStream, parts: &[(&str, TokenStream)]) -> TokenStream {
    let mut filled = TokenStream::new();
    let mut tokens = template.into_iter();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Group(group) => {
                let inner = replace(group.stream(), parts);
                filled.extend([TokenTree::from(Group::new(group.delimiter(), inner))]);
            }
            TokenTree::Punct(sign) if sign.as_char() == '$' => {
                let name = tokens.next().expect("a name after each dollar sign").to_string();
                let part = parts.iter().find(|(part, _)| *part == name);
                filled.extend(part.expect("a part for each name").1.clone());
            }
            other => filled.extend([other]),
        }
    }
    filled
}

/// Tokens of a string literal with this text.
pub(crate) fn text(text: &str) -> TokenStream {
    TokenTree::from(Literal::string(text)).into()
}

/// Tokens in braces, as one statement or the body of a function.
pub(crate) fn block(tokens: TokenStream) -> TokenStream {
    TokenTree::from(Group::new(Delimiter::Brace, tokens)).into()
}

fn at(mut token: TokenTree, place: Span) -> TokenTree {
    if let TokenTree::Group(group) = &token {
        let inner = group.stream().into_iter().map(|token| at(token, place)).collect();
        token = Group::new(group.delimiter(), inner).into();
    }
    token.set_span(place);
    token
}
