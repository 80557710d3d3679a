//! Ports for servers that are told where to listen.

#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::HashSet;
use std::net::{TcpListener, UdpSocket};
use std::thread;

use service_kit::free_addresses;

#[test]
fn threads_are_given_different_addresses_that_can_be_bound() {
    let threads: Vec<_> = (0..8).map(|_| thread::spawn(|| free_addresses(100).unwrap())).collect();
    let all: Vec<_> = threads.into_iter().flat_map(|it| it.join().unwrap()).collect();
    assert_eq!(all.iter().collect::<HashSet<_>>().len(), 800);
    let _held: Vec<_> = all.iter().map(|at| TcpListener::bind(at).unwrap()).collect();
}

#[test]
fn a_port_is_left_to_the_process_that_was_given_it() {
    // Any other process tries this bind before it gives a port.
    let [given] = free_addresses(1).unwrap()[..] else { panic!() };
    assert!(UdpSocket::bind(given).is_err());
}

#[test]
fn an_address_in_use_is_not_given() {
    let [held] = free_addresses(1).unwrap()[..] else { panic!() };
    let _held = TcpListener::bind(held).unwrap();
    assert!(!free_addresses(200).unwrap().contains(&held));
}
