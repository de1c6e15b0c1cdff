import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.leader.LeaderLatch;
import org.apache.curator.framework.recipes.leader.LeaderLatchListener;
import org.apache.curator.framework.recipes.leader.Participant;
import org.apache.curator.retry.RetryForever;

/** A contender with Curator's LeaderLatch. Arguments: servers, path, id, session timeout in ms. */
public class Latch {
    private static synchronized void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    public static void main(String[] args) throws Exception {
        int timeout = Integer.parseInt(args[3]);
        CuratorFramework client =
            CuratorFrameworkFactory.newClient(args[0], timeout, timeout, new RetryForever(100));
        client.start();
        client.blockUntilConnected();
        say("ready");
        LeaderLatch latch = null;
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            switch (line) {
                case "start":
                    latch = new LeaderLatch(client, args[1], args[2]);
                    latch.addListener(new LeaderLatchListener() {
                        @Override public void isLeader() { say("leader"); }
                        @Override public void notLeader() { say("not leader"); }
                    });
                    latch.start();
                    break;
                case "close":
                    latch.close();
                    say("closed");
                    break;
                case "list":
                    for (Participant one : latch.getParticipants()) {
                        say("participant " + one.getId() + (one.isLeader() ? " leads" : " waits"));
                    }
                    say("end");
                    break;
                default:
                    say("unknown: " + line);
            }
        }
        client.close();
    }
}
