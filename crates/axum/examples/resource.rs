//! A resource that checks tokens, and workers that write to it, each a process of its own.
//!
//! ```text
//! cargo run -p tenure-axum --example resource -- serve 127.0.0.1:8080
//! cargo run -p tenure-axum --example resource -- work 127.0.0.1:8080 sqlite:/tmp/resource.db  # twice
//! ```
//!
//! The worker that owns writes every line that you type. Stop it (Ctrl-Z) for longer than its
//! lease, let the other one write, bring it back (`fg`) and type a line: its write comes late, and
//! the resource refuses it with 409.

use std::collections::HashMap;
use std::error::Error;
use std::io::{self, BufRead};
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::extract::{Path, State};
use axum::routing::{get, put};
use tenure::Coordinator;
use tenure::model::FencingToken;
use tenure_axum::{Admitted, Fenced, InMemory};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

type Accounts = Arc<Mutex<HashMap<String, String>>>;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    run(&words.iter().map(String::as_str).collect::<Vec<_>>()).await
}

pub(crate) async fn run(words: &[&str]) -> Result<(), Box<dyn Error>> {
    match words {
        ["serve", address] => serve(address).await,
        ["work", address, url] => work(address, url).await,
        _ => Err("serve ADDRESS, or work ADDRESS URL".into()),
    }
}

async fn serve(address: &str) -> Result<(), Box<dyn Error>> {
    let gate = Fenced::new("account:{id}", InMemory::default());
    let account = get(read).merge(put(write).layer(gate));
    let app = Router::new()
        .route("/accounts/{id}", account)
        .with_state(Accounts::default());
    let listener = TcpListener::bind(address).await?;
    println!("listening on {}", listener.local_addr()?);
    Ok(axum::serve(listener, app).await?)
}

async fn read(State(accounts): State<Accounts>, Path(id): Path<String>) -> String {
    let accounts = accounts.lock().expect("no panic while it is held");
    accounts.get(&id).cloned().unwrap_or_default()
}

/// No other is admitted to this account until it has answered.
async fn write(
    admitted: Admitted,
    State(accounts): State<Accounts>,
    Path(id): Path<String>,
    balance: String,
) -> String {
    let mut accounts = accounts.lock().expect("no panic while it is held");
    accounts.insert(id, balance);
    format!("written with {}", admitted.token())
}

async fn work(address: &str, url: &str) -> Result<(), Box<dyn Error>> {
    let coordinator = Coordinator::connect(url).await?;
    let guard = coordinator.lock("account-7")?.acquire().await?;
    loop {
        // Asked before every write: it fails when ownership has ended.
        let token = match guard.token() {
            Ok(token) => token,
            Err(lost) => {
                println!("stopped: {lost}");
                break;
            }
        };
        println!("owns with {token}");
        // The worst moment to be paused: after the look at the clock, before the write.
        let Some(line) = tokio::task::spawn_blocking(next_line).await?? else {
            guard.release().await?;
            break;
        };
        println!("{}", send(address, token, &line).await?);
    }
    Ok(coordinator.close().await?)
}

fn next_line() -> io::Result<Option<String>> {
    io::stdin().lock().lines().next().transpose()
}

/// The status and the body of the answer.
async fn send(address: &str, token: FencingToken, balance: &str) -> io::Result<String> {
    let request = format!(
        "PUT /accounts/7 HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\
         Fencing-Token: {token}\r\nContent-Length: {}\r\n\r\n{balance}",
        balance.len()
    );
    let mut stream = TcpStream::connect(address).await?;
    stream.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await?;
    let status = answer.split(' ').nth(1).unwrap_or_default();
    let body = answer.split("\r\n\r\n").nth(1).unwrap_or_default();
    Ok(format!("{status} {body}"))
}
