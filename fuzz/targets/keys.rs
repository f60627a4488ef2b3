//! A text is a key, a token, or neither; each key and token has exactly one text.

use multihop_net::{PublicKey, Token};

pub fn fuzz(data: &[u8]) {
    if let Some(bytes) = data.first_chunk() {
        let key = PublicKey::from_bytes(*bytes);
        assert_eq!(key.to_string().parse(), Ok(key));
    }
    if let Some(bytes) = data.first_chunk() {
        let token = Token::from_bytes(*bytes);
        assert_eq!(token.to_string().parse(), Ok(token));
    }
    let text = String::from_utf8_lossy(data);
    if let Ok(key) = text.parse::<PublicKey>() {
        assert_eq!(key.to_string().parse(), Ok(key));
    }
    if let Ok(token) = text.parse::<Token>() {
        assert_eq!(token.to_string().parse(), Ok(token));
    }
}
