import java.io.BufferedReader;
import java.io.InputStreamReader;

/**
 * A JVM that takes and frees one mutex, as it is told on standard input. Arguments: the class of
 * its lock, then what that needs. All times are System.nanoTime, which is the machine's monotonic
 * clock: the tests read the same one.
 */
public class Worker {
    /** A library's way to own. */
    interface Lock {
        /** Waits for the mutex; the fencing token, or 0 where there is none. */
        long take() throws Exception;

        void free() throws Exception;
    }

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    /** Takes, holds and frees for a while; each turn as it was owned for certain. */
    private static void churn(Lock lock, long millis, long hold) throws Exception {
        long end = System.nanoTime() + millis * 1_000_000;
        StringBuilder turns = new StringBuilder();
        while (System.nanoTime() < end) {
            long token = lock.take();
            long from = System.nanoTime();
            Thread.sleep(hold);
            long until = System.nanoTime();
            lock.free();
            turns.append("turn ").append(from).append(' ').append(until).append(' ').append(token)
                .append('\n');
        }
        System.out.print(turns);
        say("done");
    }

    public static void main(String[] args) throws Exception {
        String[] rest = java.util.Arrays.copyOfRange(args, 1, args.length);
        Lock lock = (Lock) Class.forName(args[0]).getDeclaredConstructor(String[].class)
            .newInstance((Object) rest);
        say("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "take":
                    long token = lock.take();
                    say("held " + System.nanoTime() + " " + token);
                    break;
                case "free":
                    long until = System.nanoTime();
                    lock.free();
                    say("freed " + until + " 0");
                    break;
                case "churn":
                    churn(lock, Long.parseLong(words[1]), Long.parseLong(words[2]));
                    break;
                default:
                    say("unknown: " + line);
            }
        }
        // Threads of the libraries would keep the JVM.
        System.exit(0);
    }
}
