//! What must be true of every pair of libraries.

use std::time::Duration;

use tenure_testkit::peer::Peer;

use crate::machine::{Jvm, Library, PATIENCE};
use crate::ours::{Kind, LEASE, Ours, TRANSITION, TTL};
use crate::turns::{now, overlaps};

/// Long enough to see that no other comes in.
const LOOK: Duration = Duration::from_millis(500);
const CHURN: Duration = Duration::from_secs(6);
const HOLD: Duration = Duration::from_millis(2);

/// One mutex of one store, and how the JVM's side is told of it.
pub(crate) struct Fleet {
    pub(crate) url: String,
    pub(crate) name: String,
    pub(crate) kind: Kind,
    pub(crate) library: Library,
    pub(crate) words: Vec<String>,
    /// Whether both sides have the same tokens.
    pub(crate) shares_tokens: bool,
}

fn nanos(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).expect("a short time")
}

impl Fleet {
    fn jvm(&self) -> Jvm {
        Jvm::start(self.library, &self.words)
    }

    async fn ours(&self) -> Ours {
        Ours::open(self.kind, &self.url, &self.name).await
    }

    /// The JVM owns and ours waits, then the other way round.
    pub(crate) async fn each_waits_for_the_other(&self) {
        let mut jvm = self.jvm();
        let ours = self.ours().await;
        jvm.tell("take");
        let (_, first) = jvm.hear("held");
        assert!(ours.try_take().await.is_none(), "the JVM owns");
        let mut wait = Box::pin(ours.take());
        let early = tokio::time::timeout(LOOK, &mut wait).await;
        assert!(early.is_err(), "the JVM still owns");
        jvm.tell("free");
        let guard = wait.await;
        let came = now();
        let (left, _) = jvm.hear("freed");
        assert!(came > left, "ours owns only when the JVM has let go");
        let second = guard.token().expect("just taken");

        jvm.tell("take");
        assert!(jvm.is_silent_for(LOOK), "ours owns");
        let left = now();
        guard.free().await;
        let (came, third) = jvm.hear("held");
        assert!(came > left, "the JVM owns only when ours has let go");
        assert!(ours.try_take().await.is_none(), "the JVM owns again");
        if self.shares_tokens {
            assert!(first < second && second < third, "{first} {second} {third}");
        }
    }

    /// All take, hold and free as fast as they can.
    pub(crate) async fn churn_never_overlaps(&self) {
        let mut jvm = self.jvm();
        let (one, other) = (self.ours().await, self.ours().await);
        let told = format!("churn {} {}", CHURN.as_millis(), HOLD.as_millis());
        jvm.tell(&told);
        let (mut turns, more) = tokio::join!(one.churn(CHURN, HOLD), other.churn(CHURN, HOLD));
        turns.extend(more);
        let of_jvm = tokio::task::spawn_blocking(move || jvm.turns());
        turns.extend(of_jvm.await.unwrap());
        let found = overlaps(&mut turns);
        let of_jvm = turns.iter().filter(|turn| turn.of_jvm).count();
        let ours = turns.len() - of_jvm;
        println!(
            "{} {} beside ours: {of_jvm} and {ours} turns, {} overlaps",
            self.library.class,
            self.library.version,
            found.len()
        );
        assert!(found.is_empty(), "two owners: {found:?}");
        assert!(of_jvm > 0 && ours > 0, "both had turns");
        if self.shares_tokens {
            let rise = turns.windows(2).all(|pair| pair[0].token < pair[1].token);
            assert!(rise, "tokens rise from owner to owner: {turns:?}");
        }
    }

    /// The JVM is killed while it owns: ours follows when its lease is over, not before.
    pub(crate) async fn a_killed_jvm_is_followed_after_its_lease(&self) {
        let mut jvm = self.jvm();
        let ours = self.ours().await;
        jvm.tell("take");
        jvm.hear("held");
        assert!(ours.try_take().await.is_none(), "the JVM owns");
        let killed = now();
        jvm.kill();
        let guard = tokio::time::timeout(PATIENCE, ours.take()).await;
        let waited = now() - killed;
        guard.expect("the lease has ended").free().await;
        // It may have been renewed some time before; never for as long as half a lease.
        assert!(waited > nanos(LEASE / 2), "too early: {waited} ns");
        println!(
            "{} {} killed: ours followed after {} ms",
            self.library.class,
            self.library.version,
            waited / 1_000_000
        );
    }

    /// The same with one of our processes.
    pub(crate) async fn a_killed_process_of_ours_is_followed_after_its_lease(&self) {
        let mut jvm = self.jvm();
        let millis = |time: Duration| format!("{}ms", time.as_millis());
        let mut peer = Peer::contending(&self.url, &self.name)
            .option("--ttl", millis(TTL))
            .option("--transition", millis(TRANSITION));
        if self.kind == Kind::Reentrant {
            // For as long as it lives.
            peer = peer.option("--reentrant", "1").option("--hold", "10m");
        }
        let mut peer = peer.spawn();
        peer.wait_acquired(PATIENCE);
        jvm.tell("take");
        let killed = now();
        peer.kill();
        let (came, _) = jvm.hear("held");
        let waited = came.saturating_sub(killed);
        assert!(waited > nanos(LEASE / 2), "too early: {waited} ns");
        println!(
            "{} {} followed a killed process of ours after {} ms",
            self.library.class,
            self.library.version,
            waited / 1_000_000
        );
    }
}

/// The four stories as tests of the fleets that a function makes, from what is given and a name.
macro_rules! stories {
    ($fleet:ident $(, $what:expr)*) => {
        #[tokio::test(flavor = "multi_thread")]
        async fn each_waits_for_the_other() {
            $fleet($($what,)* "turns").each_waits_for_the_other().await;
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn churn_never_overlaps() {
            $fleet($($what,)* "churn").churn_never_overlaps().await;
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn a_killed_jvm_is_followed_after_its_lease() {
            let fleet = $fleet($($what,)* "killed-jvm");
            fleet.a_killed_jvm_is_followed_after_its_lease().await;
        }

        #[tokio::test(flavor = "multi_thread")]
        async fn a_killed_process_of_ours_is_followed_after_its_lease() {
            let fleet = $fleet($($what,)* "killed-ours");
            fleet
                .a_killed_process_of_ours_is_followed_after_its_lease()
                .await;
        }
    };
}

pub(crate) use stories;
