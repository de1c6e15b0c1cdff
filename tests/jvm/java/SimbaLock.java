import java.time.Duration;
import java.util.concurrent.Executors;
import me.ahoo.simba.core.MutexContendServiceFactory;
import me.ahoo.simba.locker.SimbaLocker;
import me.ahoo.simba.spring.redis.SpringRedisMutexContendServiceFactory;
import org.springframework.data.redis.connection.lettuce.LettuceConnectionFactory;
import org.springframework.data.redis.core.StringRedisTemplate;
import org.springframework.data.redis.listener.RedisMessageListenerContainer;

/** Simba's locker on Redis, a new one for each turn. Arguments: host, port, name, ttl and transition in ms. */
public class SimbaLock implements Worker.Lock {
    private final MutexContendServiceFactory services;
    private final String name;
    private SimbaLocker locker;

    public SimbaLock(String[] args) {
        LettuceConnectionFactory connections =
            new LettuceConnectionFactory(args[0], Integer.parseInt(args[1]));
        connections.afterPropertiesSet();
        connections.start();
        RedisMessageListenerContainer messages = new RedisMessageListenerContainer();
        messages.setConnectionFactory(connections);
        messages.afterPropertiesSet();
        messages.start();
        services = new SpringRedisMutexContendServiceFactory(
            Duration.ofMillis(Long.parseLong(args[3])), Duration.ofMillis(Long.parseLong(args[4])),
            new StringRedisTemplate(connections), messages, Executors.newCachedThreadPool(),
            Executors.newScheduledThreadPool(2));
        name = args[2];
    }

    @Override public long take() {
        locker = new SimbaLocker(name, services);
        locker.acquire();
        return 0;
    }

    @Override public void free() throws Exception {
        locker.close();
    }
}
