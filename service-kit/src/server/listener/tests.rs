use std::net::TcpStream;

use super::*;

#[tokio::test]
async fn all_addresses_are_those_of_ipv4_too() {
    let (_listener, addr) = listen_tcp("[::]:0".parse().expect("an address")).expect("a port");
    TcpStream::connect((Ipv4Addr::LOCALHOST, addr.port())).expect("IPv4");
    if std::net::TcpListener::bind((Ipv6Addr::LOCALHOST, 0)).is_ok() {
        TcpStream::connect((Ipv6Addr::LOCALHOST, addr.port())).expect("IPv6");
    }
}
