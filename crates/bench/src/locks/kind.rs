//! Which lock a worker has.

/// A kind of lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// [`Tenure`](super::Tenure)
    Tenure,
    /// [`Reentrant`](super::Reentrant)
    Reentrant,
    /// [`RedisEvalsha`](super::RedisEvalsha)
    RedisEvalsha,
    /// [`RedisBefore`](super::RedisBefore)
    RedisBefore,
    /// [`RedisPush`](super::RedisPush)
    RedisPush,
    /// [`Rslock`](super::Rslock)
    Rslock,
    /// [`SqliteInline`](super::SqliteInline)
    SqliteInline,
    /// [`Flock`](super::Flock)
    Flock,
    /// [`PostgresRow`](super::PostgresRow)
    PostgresRow,
    /// [`PostgresRowForgetful`](super::PostgresRowForgetful)
    PostgresRowForgetful,
    /// [`PostgresAdvisory`](super::PostgresAdvisory)
    PostgresAdvisory,
    /// [`PostgresNotify`](super::PostgresNotify)
    PostgresNotify,
    /// [`MysqlRow`](super::MysqlRow)
    MysqlRow,
    /// [`GetLock`](super::GetLock)
    GetLock,
    /// [`ZookeeperRecipe`](super::ZookeeperRecipe)
    ZookeeperRecipe,
}

impl Kind {
    /// Every kind.
    pub const ALL: [Self; 15] = [
        Self::Tenure,
        Self::Reentrant,
        Self::RedisEvalsha,
        Self::RedisBefore,
        Self::RedisPush,
        Self::Rslock,
        Self::SqliteInline,
        Self::Flock,
        Self::PostgresRow,
        Self::PostgresRowForgetful,
        Self::PostgresAdvisory,
        Self::PostgresNotify,
        Self::MysqlRow,
        Self::GetLock,
        Self::ZookeeperRecipe,
    ];

    /// How tables, charts and command lines call it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tenure => "Tenure",
            Self::Reentrant => "Tenure, reentrant",
            Self::RedisEvalsha => "two bare EVALSHA",
            Self::RedisBefore => "the scripts of twenty calls",
            Self::RedisPush => "bare grant by push",
            Self::Rslock => "rslock",
            Self::SqliteInline => "two statements inline",
            Self::Flock => "flock",
            Self::PostgresRow | Self::MysqlRow => "two bare row updates",
            Self::PostgresRowForgetful => "the same, the second waiting for no disk",
            Self::PostgresAdvisory => "advisory lock",
            Self::PostgresNotify => "bare NOTIFY and statement",
            Self::GetLock => "GET_LOCK",
            Self::ZookeeperRecipe => "bare recipe",
        }
    }

    /// Whether it is Tenure's.
    pub fn is_ours(self) -> bool {
        matches!(self, Self::Tenure | Self::Reentrant)
    }
}
