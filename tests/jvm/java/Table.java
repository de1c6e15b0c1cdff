import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.util.UUID;

/**
 * The table that JVM contenders share, through MySQL's own driver, with their rules: owned until
 * transition_at, every write counts the version up, no owner is an empty id. Arguments: JDBC URL,
 * name, ttl and transition in ms.
 */
public class Table implements Worker.Lock {
    private static final String NOW =
        "CAST(UNIX_TIMESTAMP(CURRENT_TIMESTAMP(3)) * 1000 AS UNSIGNED)";

    private final Connection connection;
    private final String name;
    private final long ttl;
    private final long transition;
    private final String id = UUID.randomUUID().toString().replace("-", "");

    public Table(String[] args) throws Exception {
        connection = DriverManager.getConnection(args[0]);
        name = args[1];
        ttl = Long.parseLong(args[2]);
        transition = Long.parseLong(args[3]);
    }

    private int write(String sql, Object... values) throws Exception {
        try (PreparedStatement statement = connection.prepareStatement(sql)) {
            for (int place = 0; place < values.length; place++) {
                statement.setObject(place + 1, values[place]);
            }
            return statement.executeUpdate();
        }
    }

    /** Owned now; a row that is missing is made. */
    private boolean contend() throws Exception {
        int won = write(
            "UPDATE simba_mutex SET acquired_at = " + NOW + ", ttl_at = " + NOW + " + ?, "
                + "transition_at = " + NOW + " + ?, owner_id = ?, version = version + 1 "
                + "WHERE mutex = ? AND transition_at < " + NOW,
            ttl, ttl + transition, id, name);
        if (won == 0) {
            write("INSERT IGNORE INTO simba_mutex "
                + "(mutex, acquired_at, ttl_at, transition_at, owner_id, version) "
                + "VALUES (?, 0, 0, 0, '', 0)", name);
        }
        return won > 0;
    }

    /** The version, which is the token of ours. */
    @Override public long take() throws Exception {
        while (!contend()) {
            Thread.sleep(5);
        }
        try (PreparedStatement look = connection.prepareStatement(
                "SELECT owner_id, version FROM simba_mutex WHERE mutex = ?")) {
            look.setString(1, name);
            try (ResultSet row = look.executeQuery()) {
                if (!row.next() || !row.getString("owner_id").equals(id)) {
                    throw new IllegalStateException("won, and another owns");
                }
                return row.getLong("version");
            }
        }
    }

    @Override public void free() throws Exception {
        int freed = write(
            "UPDATE simba_mutex SET acquired_at = 0, ttl_at = 0, transition_at = 0, owner_id = '', "
                + "version = version + 1 WHERE mutex = ? AND owner_id = ?", name, id);
        if (freed != 1) {
            throw new IllegalStateException("not ours any more");
        }
    }
}
