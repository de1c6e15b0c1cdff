//! Whole processes on virtual time.
