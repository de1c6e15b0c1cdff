//! Which versions of a server the whole suite has run on.

/// A kind of server, as people call it, and the versions that were tested, the oldest first.
#[derive(Clone, Copy, Debug)]
pub(in crate::stores) struct Tested {
    pub(in crate::stores) server: &'static str,
    /// As much of each version as must be the same.
    pub(in crate::stores) versions: &'static [&'static str],
}

impl Tested {
    /// What to tell a person whose server says that it is `version`.
    pub(in crate::stores) fn told(self, version: &str) -> String {
        let Self { server, versions } = self;
        let is_it = |tested: &&str| {
            let rest = version.strip_prefix(*tested);
            rest.is_some_and(|rest| !rest.starts_with(|c: char| c.is_ascii_digit()))
        };
        if versions.iter().any(is_it) {
            return format!("{server} {version}, a tested version");
        }
        format!("{server} {version}; tested are {}", versions.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_version_is_compared_by_whole_numbers() {
        let tested = Tested {
            server: "Redis",
            versions: &["7.0", "8.0"],
        };
        assert_eq!(tested.told("8.0.6"), "Redis 8.0.6, a tested version");
        assert_eq!(tested.told("8.0"), "Redis 8.0, a tested version");
        for other in ["7.01", "7.2.4", "6.2.7", "80.0", "unknown"] {
            let told = format!("Redis {other}; tested are 7.0, 8.0");
            assert_eq!(tested.told(other), told);
        }
    }
}
