//! TLS to sides, trusting the same certificates as nginx.

use std::fs;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, ensure};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

/// A client configuration that accepts certificates signed by these authorities (the text of a PEM file), and also the
/// file's own certificates if a server uses one. Fails if the file is not valid or has no certificate.
pub fn config(authorities: &[u8]) -> anyhow::Result<ClientConfig> {
    let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(authorities).collect();
    let certificates = certificates.context("it is not a valid PEM file")?;
    let mut roots = RootCertStore::empty();
    roots.add_parsable_certificates(certificates.iter().cloned());
    ensure!(!roots.is_empty(), "it has no certificate");
    let provider = Arc::new(default_provider());
    let by_authority =
        WebPkiServerVerifier::builder_with_provider(Arc::new(roots), Arc::clone(&provider))
            .build()?;
    Ok(ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .dangerous()
        .with_custom_certificate_verifier(Arc::new(ServerVerifier { certificates, by_authority }))
        .with_no_client_auth())
}

/// A connector to sides behind TLS. `authorities` is a PEM file; an error names it.
pub(crate) fn connector(
    authorities: &Path,
    mut tcp: HttpConnector,
) -> anyhow::Result<HttpsConnector<HttpConnector>> {
    tcp.enforce_http(false);
    let shown = || authorities.display().to_string();
    let config = fs::read(authorities).map_err(Into::into).and_then(|it| config(&it));
    let https =
        HttpsConnectorBuilder::new().with_tls_config(config.with_context(shown)?).https_only();
    Ok(https.enable_http1().wrap_connector(tcp))
}

#[derive(Debug)]
struct ServerVerifier {
    certificates: Vec<CertificateDer<'static>>,
    by_authority: Arc<WebPkiServerVerifier>,
}

impl ServerCertVerifier for ServerVerifier {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        between: &[CertificateDer<'_>],
        name: &ServerName<'_>,
        ocsp: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        match self.by_authority.verify_server_cert(certificate, between, name, ocsp, now) {
            // rustls refuses a server whose certificate is itself an authority, as those of `openssl req -x509` are. It
            // has checked the validity period before.
            Err(Error::InvalidCertificate(CertificateError::Other(_)))
                if self.certificates.contains(certificate) =>
            {
                rustls::client::verify_server_name(
                    &ParsedCertificate::try_from(certificate)?,
                    name,
                )?;
                Ok(ServerCertVerified::assertion())
            }
            verified => verified,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.by_authority.verify_tls12_signature(message, certificate, signed)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.by_authority.verify_tls13_signature(message, certificate, signed)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.by_authority.supported_verify_schemes()
    }
}
