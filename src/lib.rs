//! Tenure.
