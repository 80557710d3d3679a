//! Both relays answer as the contract says.

use crate::support::{Legacy, check_contract, relay_service};

#[test]
fn relay_service_answers_as_the_contract_says() {
    let service = relay_service(&[]);
    let served_by = check_contract(&service.addr.to_string(), false);
    assert!(served_by.iter().all(|name| name == "relay-service"), "{served_by:?}");
}

/// Only `make test-all` runs these.
mod nightly {
    use super::*;

    #[test]
    fn the_legacy_relay_answers_as_the_contract_says() {
        let legacy = Legacy::start();
        let served_by = check_contract(&legacy.addr, false);
        assert!(served_by.iter().all(|name| name == "legacy-node"), "{served_by:?}");
    }
}
