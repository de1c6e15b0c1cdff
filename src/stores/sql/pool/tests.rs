use super::*;

/// A database that needs much room to connect, and none to answer.
struct Roomy;

const ROOM: usize = 50_000;

struct Ask;

impl Question for Ask {
    type Reply = ();

    const EFFECT: Effect = Effect::Reads;
}

impl Answers<Ask> for Roomy {
    async fn answer(&self, (): &mut (), _: &Ask) -> sqlx::Result<()> {
        Ok(())
    }
}

impl Driver for Roomy {
    type Connection = ();

    async fn connect(&self) -> Result<(), NotConnected> {
        let room = [0_u8; ROOM];
        tokio::task::yield_now().await;
        drop(std::hint::black_box(room).to_vec());
        Ok(())
    }

    async fn ping(&self, (): &mut ()) -> sqlx::Result<()> {
        Ok(())
    }

    async fn part(&self, (): ()) {}

    fn fault(&self, _: &dyn sqlx::error::DatabaseError) -> Fault {
        Fault::Ended
    }

    fn place(&self) -> &str {
        "nowhere"
    }
}

/// A task is moved when it is made, and when it ends: what it needs in rare cases
/// only must not make it large.
#[tokio::test]
async fn what_it_takes_to_connect_is_not_in_every_task() {
    let second = Duration::from_secs(1);
    let limits = Limits {
        call: second,
        connect: second,
        ping: second,
    };
    let pool = Pool::new(Roomy, 1, limits, Clock::boot());
    assert!(size_of_val(&pool.0.driver.connect()) >= ROOM);
    let permit = Arc::clone(&pool.0.permits).acquire_owned().await.unwrap();
    let (reply, answer) = oneshot::channel();
    let serving = Arc::clone(&pool.0).serve(permit, Ask, reply);
    let size = size_of_val(&serving);
    assert!(size <= 2_000, "{size} bytes");
    serving.await;
    answer.await.unwrap().unwrap();
}
