//! The examples, with the servers that they need.

use super::support::{holder, over, patient, servers};

#[allow(dead_code)] // their `main` reads the command line
#[path = "../../examples"]
mod shown {
    pub(super) mod blocking_combination;
    pub(super) mod combination_lock;
}

use shown::{blocking_combination as threads, combination_lock as tasks};

#[tokio::test]
async fn they_run_and_leave_nothing_behind() {
    let servers = servers(2);
    let builder = || patient().nodes(over(&servers));
    tasks::run(builder()).await.unwrap();
    let builder = builder();
    let threads = tokio::task::spawn_blocking(|| threads::run(builder));
    threads.await.unwrap().unwrap();
    for (server, name) in servers
        .iter()
        .flat_map(|s| [(s, "example-stock"), (s, "example-threads")])
    {
        let made = server.command(&["EXISTS", &format!("redisson_lock_token:{{{name}}}")]);
        assert_eq!(made.unwrap(), "1", "{name} was locked");
        assert_eq!(holder(server, name), None);
    }
}
