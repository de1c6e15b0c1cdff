//! Who is measured beside Tenure, store by store.

use crate::environment::Store;
use crate::locks::Kind;
use crate::report::{Goal, Side};

/// For taking and freeing a lock that no other wants.
pub(super) fn take_free(store: Store) -> Vec<Kind> {
    let mut kinds = vec![Kind::Tenure];
    kinds.extend(match store {
        Store::Memory => vec![],
        Store::Sqlite => vec![Kind::SqliteInline],
        Store::Redis => vec![Kind::RedisEvalsha, Kind::Rslock],
        Store::Postgres => vec![Kind::PostgresRow],
        Store::Mariadb => vec![Kind::MysqlRow],
        Store::Zookeeper => vec![Kind::ZookeeperRecipe],
    });
    kinds
}

/// For the same by one task, and what it costs the server.
pub(super) fn take_free_alone(store: Store) -> Vec<Kind> {
    let mut kinds = take_free(store);
    if store == Store::Redis {
        kinds.push(Kind::RedisBefore);
    }
    kinds
}

/// For the same where a commit waits for a disk.
pub(super) fn take_free_on_disk(store: Store) -> Vec<Kind> {
    let mut kinds = take_free(store);
    if store == Store::Postgres {
        kinds.push(Kind::PostgresRowForgetful);
    }
    kinds
}

/// For handing over between two processes.
pub(super) fn hand_over(store: Store) -> Vec<Kind> {
    let mut kinds = vec![Kind::Tenure];
    kinds.extend(match store {
        Store::Memory => vec![],
        Store::Sqlite => vec![Kind::Flock],
        Store::Redis => vec![Kind::RedisPush, Kind::Rslock],
        Store::Postgres => vec![Kind::PostgresNotify, Kind::PostgresAdvisory],
        Store::Mariadb => vec![Kind::GetLock],
        Store::Zookeeper => vec![Kind::ZookeeperRecipe],
    });
    kinds
}

/// For an owner that is killed. Locks that end with a connection have no lease to wait for.
pub(super) fn killed(store: Store) -> Vec<Kind> {
    let mut kinds = vec![Kind::Tenure];
    kinds.extend(match store {
        Store::Redis => vec![Kind::Reentrant, Kind::RedisEvalsha, Kind::Rslock],
        Store::Zookeeper => vec![Kind::ZookeeperRecipe],
        Store::Memory | Store::Sqlite | Store::Postgres | Store::Mariadb => vec![],
    });
    kinds
}

/// Sides without numbers yet.
pub(super) fn sides(kinds: &[Kind]) -> Vec<Side> {
    kinds.iter().map(|kind| Side::new(kind.name())).collect()
}

/// What Tenure has to reach when it takes and frees.
pub(super) fn take_free_goal(store: Store) -> Goal {
    match store {
        Store::Memory => Goal::Most(2.0),
        Store::Sqlite | Store::Redis => Goal::Share(1, 0.6),
        Store::Postgres | Store::Mariadb => Goal::Share(1, 0.9),
        Store::Zookeeper => Goal::Share(1, 0.95),
    }
}

/// What Tenure has to reach when it hands over.
pub(super) fn hand_over_goal(store: Store) -> Option<Goal> {
    match store {
        Store::Memory => None,
        Store::Sqlite => Some(Goal::Most(0.4)),
        Store::Redis => Some(Goal::Times(1, 1.7)),
        Store::Postgres => Some(Goal::Times(1, 2.0)),
        Store::Mariadb => Some(Goal::Most(10.0)),
        Store::Zookeeper => Some(Goal::Times(1, 1.0)),
    }
}
