//! Congestion controls of multihop in real QUIC: the crate quinn, over UDP sockets of this machine.

use std::error::Error;
use std::sync::Arc;

use multihop_quic::ControlFactory;
use multihop_transport::congestion::{Algorithm, Variant};
use quinn::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn::{ClientConfig, Endpoint, ServerConfig, TransportConfig};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{RootCertStore, version};

use super::FractionalWindow;

const BYTES: usize = 2_000_000;

#[tokio::test]
async fn a_control_written_for_tcp_runs_in_a_program_with_quinn() {
    let controls: [Algorithm; 3] =
        [Algorithm::custom(FractionalWindow::default()), Variant::Bbr3.into(), Variant::Cubic.into()];
    for control in controls {
        transfer(control).await.unwrap();
    }
}

/// Sends a stream to a server whose own congestion control is quinn's.
async fn transfer(control: Algorithm) -> Result<(), Box<dyn Error>> {
    let certificate = CertificateDer::from(include_bytes!("../../src/localhost.cert.der").as_slice());
    let key = PrivateKeyDer::Pkcs8(include_bytes!("../../src/localhost.key.der").as_slice().into());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let server = rustls::ServerConfig::builder_with_provider(Arc::clone(&provider))
        .with_protocol_versions(&[&version::TLS13])?
        .with_no_client_auth()
        .with_single_cert(vec![certificate.clone()], key)?;
    let server = ServerConfig::with_crypto(Arc::new(QuicServerConfig::try_from(server)?));
    let server = Endpoint::server(server, "127.0.0.1:0".parse()?)?;

    let mut roots = RootCertStore::empty();
    roots.add(certificate)?;
    let tls = rustls::ClientConfig::builder_with_provider(provider)
        .with_protocol_versions(&[&version::TLS13])?
        .with_root_certificates(roots)
        .with_no_client_auth();
    let mut client = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(Arc::new(ControlFactory::new(control)));
    client.transport_config(Arc::new(transport));
    let endpoint = Endpoint::client("127.0.0.1:0".parse()?)?;

    let connecting = endpoint.connect_with(client, server.local_addr()?, "localhost")?;
    let send = async {
        let connection = connecting.await?;
        let mut stream = connection.open_uni().await?;
        stream.write_all(&vec![7; BYTES]).await?;
        stream.finish()?;
        stream.stopped().await?;
        Ok::<_, Box<dyn Error>>(connection)
    };
    let receive = async {
        let connection = server.accept().await.expect("the endpoint is open").await?;
        let data = connection.accept_uni().await?.read_to_end(BYTES).await?;
        Ok::<_, Box<dyn Error>>((connection, data.len()))
    };
    let (sent, received) = tokio::join!(send, receive);
    let (_connections, length) = (sent?, received?);
    assert_eq!(length.1, BYTES);
    Ok(())
}
