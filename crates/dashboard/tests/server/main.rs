//! The dashboard's server, over TCP. Every answer is held against its OpenAPI
//! description.

mod access;
mod damage;
mod events;
mod history;
mod hostile;
mod kinds;
mod load;
mod openapi;
mod outage;
mod revoke;
mod routes;
mod schedules;
mod support;
