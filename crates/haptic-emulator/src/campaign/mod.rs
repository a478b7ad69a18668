//! The fault campaign: every disturbance on every backend, with what a hand feels of each, measured at the motors.
//!
//! A *trial* is one run of the daemon with one emulated board, one hand and one disturbance. [`disturbance`] and
//! [`backend`] are the rows and the columns; [`hand`] presses on the floor of a scene, then keeps pressing or leaves;
//! [`subject`] is the board that disturbs itself and records its motors; [`trial`] starts the daemon and ends it;
//! [`measure`] computes the figures of a cell from its trials; [`verdict`] compares them with the limits; [`table`]
//! writes them; [`command`] has the subcommands of the program.

pub mod backend;
pub mod command;
pub mod disturbance;
pub mod hand;
pub mod measure;
pub mod subject;
pub mod table;
pub mod trial;
pub mod verdict;
