//! [`MySqlOptions`]: the options of MySQL and MariaDB, set in code.

crate::stores::sql::sql_options! {
    pub struct MySqlOptions of mysql, "MySQL and MariaDB";
    port = "3306";
    user = "root";
    driver = mysql, MySqlPool, MySqlConnectOptions;
    more {}
}
