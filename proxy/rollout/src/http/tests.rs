use super::is_elsewhere;

#[test]
fn own_addresses_are_here_however_they_are_written() {
    for here in ["127.0.0.1:9", "localhost:9", "[::1]", "127.8.8.8", "0.0.0.0:80"] {
        assert!(!is_elsewhere(&format!("http://{here}/a")), "{here}");
    }
    // TEST-NET, and a name that no DNS has (RFC 2606).
    for there in ["192.0.2.1", "prometheus.invalid:9090", "[2001:db8::1]:80"] {
        assert!(is_elsewhere(&format!("https://{there}/a")), "{there}");
    }
}
