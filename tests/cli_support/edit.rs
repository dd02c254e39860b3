//! Changes of a store that any other program could make.

use rusqlite::Connection;

/// Changes a store, and makes its checksums and counts anew, by what docs/FORMAT.md says of them.
pub fn edit(db: &Connection, sql: &str) -> rusqlite::Result<()> {
    use rusqlite::functions::FunctionFlags;
    use rusqlite::types::ValueRef;
    db.create_scalar_function("sum_of", -1, FunctionFlags::SQLITE_UTF8, |values| {
        let mut bytes = Vec::new();
        for nth in 0..values.len() {
            let (kind, long, value) = match values.get_raw(nth) {
                ValueRef::Null => (0, false, Vec::new()),
                ValueRef::Integer(it) => (1, false, it.to_le_bytes().to_vec()),
                ValueRef::Real(it) => (2, false, it.to_le_bytes().to_vec()),
                ValueRef::Text(it) => (3, true, it.to_vec()),
                ValueRef::Blob(it) => (4, true, it.to_vec()),
            };
            bytes.push(kind);
            if long {
                bytes.extend((value.len() as u64).to_le_bytes());
            }
            bytes.extend(value);
        }
        Ok(i64::from(crc32c::crc32c(&bytes)))
    })?;
    let mut text = format!(
        "PRAGMA foreign_keys = ON; BEGIN; {sql};
         UPDATE launches SET samples =
             (SELECT coalesce(sum(count), 0) FROM samples WHERE launch = launches.id);
         UPDATE tallies SET rows = (SELECT count(*) FROM cases JOIN launches ON case_id = cases.id
             WHERE cases.run = tallies.run)"
    );
    for table in ["nodes", "groups", "cases", "rounds", "warnings"] {
        text += &format!(" + (SELECT count(*) FROM {table} WHERE run = tallies.run)");
    }
    let tables = "SELECT format('UPDATE %s SET seal = sum_of(%s)', t.name,
             group_concat(c.name, ', ' ORDER BY cid))
         FROM sqlite_schema AS t, pragma_table_info(t.name) AS c
         WHERE t.type = 'table' AND c.name <> 'seal' GROUP BY t.name";
    db.execute_batch(&format!("{text}; {}; COMMIT", rows(db, tables).join("; ")))
}

/// Rows of a store as text, columns joined by `|`.
pub fn rows(db: &Connection, sql: &str) -> Vec<String> {
    let mut query = db.prepare(sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    let columns = query.column_count();
    let rows = query.query_map([], |row| {
        let text = |at| match row.get_ref(at)? {
            rusqlite::types::ValueRef::Null => Ok(String::new()),
            rusqlite::types::ValueRef::Integer(it) => Ok(it.to_string()),
            rusqlite::types::ValueRef::Real(it) => Ok(it.to_string()),
            other => Ok(other.as_str()?.to_string()),
        };
        Ok((0..columns).map(text).collect::<rusqlite::Result<Vec<_>>>()?.join("|"))
    });
    rows.unwrap().collect::<rusqlite::Result<_>>().unwrap()
}
