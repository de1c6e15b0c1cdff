//! A lock with the connections of the application: as its pool connects, and never over it.
//!
//! ```text
//! DATABASE_URL=postgres://app@localhost/orders cargo run --example own_pool --features postgres,sqlx-0_9
//! ```

use sqlx::postgres::PgPoolOptions;
use tenure::Coordinator;
use tenure::stores::postgres::PostgresOptions;

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let Ok(url) = std::env::var("DATABASE_URL") else {
        println!("set DATABASE_URL to a PostgreSQL database");
        return Ok(());
    };
    let pool = PgPoolOptions::new()
        .max_connections(2)
        .connect(&url)
        .await?;

    // What the pool is told later (`set_connect_options`) holds for the next connection here too.
    let options = PostgresOptions::from_pool(&pool).with_connections(1);
    let coordinator = Coordinator::connect(options).await?;
    let guard = coordinator.lock("nightly-report")?.acquire().await?;

    // All that the pool has: renewals do not wait for it.
    let busy = (pool.begin().await?, pool.begin().await?);
    println!("ours, with token {}", guard.token()?);
    drop(busy);

    guard.release().await?;
    coordinator.close().await?;
    pool.close().await;
    Ok(())
}
