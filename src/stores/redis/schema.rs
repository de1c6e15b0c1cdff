//! What a Redis user must be permitted, as lines of its configuration. The
//! only place where that is written: the documentation prints these lines,
//! and the tests run with them.

use super::config::{Config, Topology};
use super::keys;
use crate::error::Result;
use crate::stores::StoreOptions;

/// Locks, leaders and observers.
const LOCKS: &str = "+evalsha +eval +script|load +get +exists +set +del +pttl +pexpire +zadd +zrem \
                     +zrange +zrank +publish +subscribe +unsubscribe +time +ping +hello";

/// Schedules, listings, the doctor.
const MORE: &str = "+hgetall +hset +hmget +scan +info";

/// Reentrant locks, beside [`LOCKS`].
const HOLDS: &str = "+hset +hexists +hkeys +ttl";

/// Their wake-ups in a cluster.
const SHARDS: &str = "+ssubscribe +sunsubscribe +spublish +pubsub|shardnumsub";

/// Asking a sentinel who is master, who it is, and which others there are.
const SENTINEL: &str = "+sentinel|get-master-addr-by-name +sentinel|myid +sentinel|sentinels";

/// The user that is proposed where the URL names none.
const USER: &str = "tenure";

/// What sets up a Redis store: nothing has to be made, its user has to be
/// permitted what it does.
pub(in crate::stores) fn setup(options: &StoreOptions) -> Result<String> {
    let config = Config::parse(options)?;
    let user = config.login.user.as_deref().unwrap_or(USER);
    let (locks, all) = (line(&config, user, false), line(&config, user, true));
    let mut text = format!(
        "# Nothing has to be created. One of these lines in redis.conf, or ACL SETUSER in place\n\
         # of \"user\" on a running server; \"secret\" stands for the password.\n\
         # For locks, leaders and observers:\n{locks}\n\
         # The same with schedules, listings and the doctor:\n{all}\n"
    );
    let shards = if config.is_cluster() {
        format!(" {SHARDS}")
    } else {
        String::new()
    };
    text += &format!(
        "# Reentrant locks lie under their own names. For those that begin with jobs: add\n\
         #   ~jobs:* ~redisson_lock_token:{{jobs:* &redisson_lock__channel:{{jobs:* {HOLDS}{shards}\n"
    );
    if let Topology::Sentinel { .. } = &config.topology {
        let user = config.sentinel_login.user.as_deref().unwrap_or(USER);
        text += &format!(
            "# In sentinel.conf, where sentinels ask for a login:\n\
             user {} on >secret -@all {SENTINEL}\n",
            quoted(user)
        );
    }
    Ok(text)
}

fn line(config: &Config, user: &str, all: bool) -> String {
    let prefix = keys::literally(&config.prefix);
    let mut line = format!(
        "user {} on >secret resetkeys resetchannels -@all {} {} {LOCKS}",
        quoted(user),
        quoted(&format!("~{prefix}*")),
        quoted(&format!("&{prefix}*")),
    );
    let wants_info = config.restart_grace && !all;
    for (needed, rights) in [
        (all, MORE),
        (wants_info, "+info"),
        (config.login.db != 0, "+select"),
        (config.wait_replicas > 0, "+wait"),
        (
            matches!(config.topology, Topology::Sentinel { .. }),
            "+role",
        ),
        (config.is_cluster(), "+cluster|slots +cluster|info +asking"),
    ] {
        if needed {
            line.push(' ');
            line.push_str(rights);
        }
    }
    line
}

/// As one word of a configuration file.
fn quoted(word: &str) -> String {
    if !word.contains(['"', '\'', ' ']) {
        return word.to_owned();
    }
    format!("\"{}\"", word.replace('\\', "\\\\").replace('"', "\\\""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn text(url: &str) -> String {
        setup(&url.parse().unwrap()).unwrap()
    }

    #[test]
    fn the_url_says_whose_and_for_what() {
        let plain = text("redis://h");
        assert!(plain.contains("\nuser tenure on >secret resetkeys resetchannels -@all ~simba:* "));
        let url = "redis://app:s3cret@h/3?prefix=app:&wait_replicas=1&restart_grace=on";
        let with_options = text(url);
        assert!(with_options.contains("user app on >secret"));
        assert!(with_options.contains(" ~app:* &app:* "));
        assert!(with_options.contains(" +hello +info +select +wait\n"));
        assert!(!with_options.contains("s3cret"));
        assert!(text("redis+cluster://h").contains("+cluster|slots +cluster|info +asking\n"));
        let sentinel = text("redis+sentinel://h?master=m&sentinel_user=guest");
        assert!(sentinel.contains("+role\n"));
        assert!(sentinel.ends_with(
            "user guest on >secret -@all +sentinel|get-master-addr-by-name +sentinel|myid \
             +sentinel|sentinels\n"
        ));
        assert!(plain.contains("{jobs:* +hset +hexists +hkeys +ttl\n"));
        assert!(text("redis+cluster://h").contains("+spublish +pubsub|shardnumsub\n"));
        assert!(setup(&"redis://h?nonsense=1".parse().unwrap()).is_err());
    }

    #[test]
    fn a_prefix_is_meant_literally_and_one_word() {
        let odd = text("redis://h?prefix=a*%22b:");
        assert!(odd.contains(r#" "~a\\*\"b:*" "&a\\*\"b:*" "#), "{odd}");
    }
}
