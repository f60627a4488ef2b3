//! The programs of examples/capitals.rs and examples/commands.rs.

use std::io::ErrorKind;
use std::time::Duration;

use multihop_net::{Listener, Token};

use crate::loopback::LOCAL;
use crate::run;

#[expect(dead_code, reason = "the test calls what main calls")]
#[path = "../../../../examples/capitals.rs"]
mod capitals;

#[expect(dead_code, reason = "the test calls what main calls")]
#[path = "../../../../examples/commands.rs"]
mod commands;

#[test]
fn commands_are_answered_beside_pictures_and_telemetry() {
    run(async {
        let token = Token::from_bytes([1; 15]);
        let listener = Listener::bind(LOCAL, commands::config(token.clone())).await.unwrap();
        let address = listener.local_addr();
        let driving = tokio::spawn(async move { commands::drive(&listener.accept().await.unwrap()).await });
        assert!(commands::operate(address, token, 20).await.unwrap() > Duration::ZERO);
        assert_eq!(driving.await.unwrap().unwrap_err().kind(), ErrorKind::ConnectionReset);
    });
}

#[test]
fn callers_with_the_token_are_answered_and_others_are_refused() {
    run(async {
        let token = Token::from_bytes([1; 15]);
        let listener = Listener::bind(LOCAL, capitals::config(token.clone())).await.unwrap();
        let address = listener.local_addr();
        let serving = tokio::spawn(capitals::serve(listener));
        for text in ["", "some text", &"long ".repeat(10_000)] {
            assert_eq!(capitals::ask(address, token.clone(), text).await.unwrap(), text.to_uppercase());
        }
        let refused = capitals::ask(address, Token::from_bytes([2; 15]), "").await.unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::PermissionDenied);
        serving.abort();
    });
}
