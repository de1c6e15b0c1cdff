import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** Redisson's plain or fenced lock. Arguments: address, name, lease in ms, plain or fenced. */
public class RedissonLock implements Worker.Lock {
    private final RLock lock;

    public RedissonLock(String[] args) {
        Config config = new Config();
        config.setLockWatchdogTimeout(Long.parseLong(args[2]));
        config.useSingleServer().setAddress("redis://" + args[0])
            .setConnectionMinimumIdleSize(1).setConnectionPoolSize(4);
        RedissonClient client = Redisson.create(config);
        lock = args[3].equals("fenced") ? client.getFencedLock(args[1]) : client.getLock(args[1]);
    }

    @Override public long take() {
        if (lock instanceof RFencedLock) {
            return ((RFencedLock) lock).lockAndGetToken();
        }
        lock.lock();
        return 0;
    }

    @Override public void free() {
        lock.unlock();
    }
}
