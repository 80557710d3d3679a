//! What `carve up` is made of, for tests and measurements too.

pub mod local;
