import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.retry.RetryForever;

/** Curator's LeaderLatch, a new one for each turn. Arguments: servers, path, session timeout in ms. */
public class CuratorLatch implements Worker.Lock {
    private final CuratorFramework client;
    private final String path;
    private LeaderLatch latch;

    public CuratorLatch(String[] args) throws Exception {
        int timeout = Integer.parseInt(args[2]);
        client = CuratorFrameworkFactory.newClient(args[0], timeout, timeout, new RetryForever(100));
        client.start();
        client.blockUntilConnected();
        path = args[1];
    }

    @Override public long take() throws Exception {
        latch = new LeaderLatch(client, path, "jvm");
        latch.start();
        latch.await();
        return 0;
    }

    @Override public void free() throws Exception {
        latch.close();
    }
}
