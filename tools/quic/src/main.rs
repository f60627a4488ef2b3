//! Measures the speed of one QUIC stream with quinn's defaults, as `multihop perf` does for TPA.
//!
//!     multihop-quic server 127.0.0.1:7000
//!     multihop-quic client 127.0.0.1:7000 --seconds 10

mod messages;
mod telemetry;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use clap::Parser;
use multihop_quic::ControlFactory;
use multihop_transport::congestion::Variant;
use nix::sys::resource::{UsageWho, getrusage};
use quinn::{ClientConfig, Connection, Endpoint, RecvStream, SendStream, ServerConfig, TransportConfig};
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};

#[derive(Parser)]
enum Command {
    /// Accept one connection, count the received bytes, and report them.
    Server {
        listen: SocketAddr,
        /// Receive messages, and report when each command arrived.
        #[arg(long)]
        messages: bool,
        /// Receive telemetry in datagrams for so many seconds, and report when each arrived.
        #[arg(long, conflicts_with = "messages")]
        telemetry: Option<f64>,
    },
    /// Send for a while; print the server's counts as JSON.
    Client {
        to: SocketAddr,
        #[arg(long, default_value_t = 10.0)]
        seconds: f64,
        /// Bytes that may be unacknowledged; by default quinn's 10 MB, which a slow path takes minutes to carry.
        #[arg(long)]
        send_window: Option<u64>,
        /// Congestion control of multihop, such as bbr3, in place of quinn's CUBIC.
        #[arg(long, value_parser = control)]
        control: Option<Variant>,
    },
    /// Send commands of 2 kB ten times a second, beside images of 2 MB.
    Messages {
        to: SocketAddr,
        #[arg(long, default_value_t = 10.0)]
        seconds: f64,
        /// Size of an image, bytes.
        #[arg(long, default_value_t = 2_000_000)]
        image: usize,
        /// Send no images.
        #[arg(long)]
        no_images: bool,
        /// Send no commands.
        #[arg(long)]
        no_commands: bool,
    },
    /// Send telemetry of 200 bytes fifty times a second, in datagrams.
    Telemetry {
        to: SocketAddr,
        #[arg(long, default_value_t = 10.0)]
        seconds: f64,
        /// Bytes of datagrams that may wait to be sent; by default quinn's 1 MB.
        #[arg(long)]
        buffer: Option<usize>,
    },
}

#[tokio::main]
async fn main() -> Result<()> {
    match Command::parse() {
        Command::Server { listen, telemetry: Some(seconds), .. } => {
            telemetry::serve(listening(listen)?, Duration::from_secs_f64(seconds)).await
        }
        Command::Server { listen, messages: true, .. } => messages::serve(listening(listen)?).await,
        Command::Server { listen, .. } => serve(listen).await,
        Command::Messages { to, seconds, image, no_images, no_commands } => {
            let (_endpoint, connection) = connect(to, TransportConfig::default()).await?;
            let image = (!no_images).then_some(image);
            messages::send(connection, Duration::from_secs_f64(seconds), !no_commands, image).await
        }
        Command::Telemetry { to, seconds, buffer } => {
            let mut transport = TransportConfig::default();
            if let Some(bytes) = buffer {
                transport.datagram_send_buffer_size(bytes);
            }
            let (endpoint, connection) = connect(to, transport).await?;
            telemetry::send(connection, Duration::from_secs_f64(seconds)).await?;
            let _ = tokio::time::timeout(Duration::from_secs(5), endpoint.wait_idle()).await;
            Ok(())
        }
        Command::Client { to, seconds, send_window, control } => {
            let mut transport = TransportConfig::default();
            if let Some(bytes) = send_window {
                transport.send_window(bytes);
            }
            if let Some(control) = control {
                transport.congestion_controller_factory(Arc::new(ControlFactory::new(control)));
            }
            send(to, Duration::from_secs_f64(seconds), transport).await
        }
    }
}

fn listening(listen: SocketAddr) -> Result<Endpoint> {
    let own = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
    let key = PrivateKeyDer::Pkcs8(own.signing_key.serialize_der().into());
    let config = ServerConfig::with_single_cert(vec![own.cert.der().clone()], key)?;
    Ok(Endpoint::server(config, listen)?)
}

async fn serve(listen: SocketAddr) -> Result<()> {
    let endpoint = listening(listen)?;
    let connection = endpoint.accept().await.context("the endpoint is open")?.await?;
    let (answer, data) = connection.accept_bi().await?;
    count(answer, data).await?;
    connection.closed().await;
    println!("{}", serde_json::json!({ "cpu_seconds": cpu_seconds()? }));
    Ok(())
}

/// Answers with the number of bytes and the nanoseconds from the first to the last.
async fn count(mut answer: SendStream, mut data: RecvStream) -> Result<()> {
    let (mut bytes, start) = (0_u64, Instant::now());
    let mut buffer = vec![0; 64 * 1024];
    while let Some(length) = data.read(&mut buffer).await? {
        bytes += length as u64;
    }
    let nanos = u64::try_from(start.elapsed().as_nanos())?;
    answer.write_all(&bytes.to_be_bytes()).await?;
    answer.write_all(&nanos.to_be_bytes()).await?;
    answer.finish()?;
    answer.stopped().await?;
    Ok(())
}

/// The congestion control of multihop with this name.
fn control(name: &str) -> Result<Variant, String> {
    let found = Variant::ALL.iter().find(|(known, _)| *known == name).map(|(_, variant)| *variant);
    found.ok_or_else(|| {
        let names: Vec<_> = Variant::ALL.iter().map(|(name, _)| *name).collect();
        format!("allowed: {}", names.join(", "))
    })
}

async fn connect(to: SocketAddr, transport: TransportConfig) -> Result<(Endpoint, Connection)> {
    let crypto = rustls::ClientConfig::builder()
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(Anybody(rustls::crypto::ring::default_provider())))
        .with_no_client_auth();
    let crypto = quinn::crypto::rustls::QuicClientConfig::try_from(crypto)?;
    let endpoint = Endpoint::client(messages::any(to).parse()?)?;
    let mut config = ClientConfig::new(Arc::new(crypto));
    config.transport_config(Arc::new(transport));
    let connection = endpoint.connect_with(config, to, "localhost")?.await?;
    Ok((endpoint, connection))
}

async fn send(to: SocketAddr, length: Duration, transport: TransportConfig) -> Result<()> {
    let (endpoint, connection) = connect(to, transport).await?;
    let (mut data, mut answer) = connection.open_bi().await?;
    let end = Instant::now() + length;
    let chunk = vec![0; 64 * 1024];
    while let Some(left) = end.checked_duration_since(Instant::now()) {
        let _ = tokio::time::timeout(left, data.write_all(&chunk)).await;
    }
    data.finish()?;
    let mut counted = [0; 16];
    answer.read_exact(&mut counted).await?;
    let (bytes, nanos) = counted.split_at(8);
    let (bytes, nanos) = (u64::from_be_bytes(bytes.try_into()?), u64::from_be_bytes(nanos.try_into()?));
    connection.close(0_u8.into(), b"done");
    endpoint.wait_idle().await;
    let seconds = nanos as f64 / 1e9;
    let mbps = bytes as f64 * 8e-6 / seconds;
    let lost = connection.stats().path.lost_packets;
    println!(
        "{}",
        serde_json::json!({
            "bytes": bytes, "seconds": seconds, "mbps": mbps, "lost": lost, "cpu_seconds": cpu_seconds()?,
        })
    );
    Ok(())
}

/// CPU time of this process so far, in user and kernel mode.
fn cpu_seconds() -> Result<f64> {
    let usage = getrusage(UsageWho::RUSAGE_SELF)?;
    let seconds = |time: nix::sys::time::TimeVal| time.tv_sec() as f64 + time.tv_usec() as f64 / 1e6;
    Ok(seconds(usage.user_time()) + seconds(usage.system_time()))
}

/// Accepts every certificate, because a speed measurement has no secrets.
#[derive(Debug)]
struct Anybody(rustls::crypto::CryptoProvider);

impl rustls::client::danger::ServerCertVerifier for Anybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<rustls::client::danger::ServerCertVerified, rustls::Error> {
        Ok(rustls::client::danger::ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &rustls::DigitallySignedStruct,
    ) -> Result<rustls::client::danger::HandshakeSignatureValid, rustls::Error> {
        rustls::crypto::verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<rustls::SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
