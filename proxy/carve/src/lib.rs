//! The stack that `carve up` runs, as a library that tests and measurements use too.

pub mod local;
