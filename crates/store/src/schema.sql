-- ipcmark's store. Described for readers in docs/FORMAT.md; the version is PRAGMA user_version.
-- `seal` is a checksum of all other columns of its row.

CREATE TABLE runs (
    id            INTEGER PRIMARY KEY,
    started       TEXT    NOT NULL,             -- UTC, RFC 3339
    ended         TEXT,
    status        TEXT    NOT NULL,             -- running, complete, interrupted
    pid           INTEGER NOT NULL DEFAULT 0,   -- of the coordinator, in its PID namespace
    pid_start     INTEGER NOT NULL DEFAULT 0,   -- when that process began: ticks since the boot
    boot_id       TEXT    NOT NULL DEFAULT '',  -- of which boot
    tool          TEXT    NOT NULL,             -- version and build
    argv          TEXT    NOT NULL,             -- JSON array
    request       TEXT    NOT NULL,             -- JSON object: what was asked, with the seed
    host          TEXT    NOT NULL,             -- JSON object
    clock         TEXT    NOT NULL,             -- JSON object; its ns_per_tick scales all samples
    settle        TEXT    NOT NULL,             -- JSON object: quiet before timing
    floors        TEXT    NOT NULL DEFAULT '{}', -- JSON object: bounds of the machine; {} if none
    measuring_ns  INTEGER NOT NULL DEFAULT 0,   -- wall time of measuring, resumed parts added
    label         TEXT,                         -- what the user calls it; NULL if nothing
    peer          TEXT,                         -- JSON object: the other host; NULL if there is none
    labs          TEXT    NOT NULL DEFAULT '[]', -- JSON array: laboratories that it made
    catalogue     TEXT    NOT NULL DEFAULT '{}', -- JSON object: the mechanisms of the build, and what the variants are
    fleet         TEXT,                         -- JSON object: what was asked of many nodes; NULL of others
    seal          INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE cases (
    id                 INTEGER PRIMARY KEY,
    run                INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    group_nth          INTEGER NOT NULL,        -- cases with one number are compared
    nth                INTEGER NOT NULL,        -- position inside the group
    levels             TEXT    NOT NULL,        -- JSON object: the level of every factor
    absence            TEXT,                    -- not_applicable, unavailable; NULL if measured
    reason             TEXT,
    batch              INTEGER,                 -- fixed by the pilot, before the first round
    samples_per_launch INTEGER,
    operation_ns       REAL,                    -- the pilot's estimate
    near               INTEGER,                 -- of a fleet: the node, or the first of a pair
    far                INTEGER,                 -- of a fleet: the second of a pair; else NULL
    concurrent         TEXT,                    -- of a pair: one, all pairs of a turn at a time
    seal               INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE TABLE nodes (
    run     INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    nth     INTEGER NOT NULL,
    name    TEXT    NOT NULL,
    far     TEXT,                               -- JSON object: host, clock, addresses; NULL: never met
    floors  TEXT,                               -- JSON object: its bounds; NULL if not measured
    reason  TEXT,                               -- why it takes no part (any more); NULL if it does
    seal    INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run, nth)
) STRICT, WITHOUT ROWID;

CREATE TABLE groups (
    run      INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    nth      INTEGER NOT NULL,
    closed   TEXT,                              -- precise, budget, launches; NULL while open
    seal     INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run, nth)
) STRICT, WITHOUT ROWID;

CREATE TABLE rounds (
    run        INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    group_nth  INTEGER NOT NULL,
    nth        INTEGER NOT NULL,
    began_ns   INTEGER NOT NULL,                -- since the run began
    noise      TEXT    NOT NULL,                -- JSON object
    seal       INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run, group_nth, nth)
) STRICT, WITHOUT ROWID;

CREATE TABLE launches (
    id         INTEGER PRIMARY KEY,
    case_id    INTEGER NOT NULL REFERENCES cases(id) ON DELETE CASCADE,
    round      INTEGER NOT NULL,
    position   INTEGER NOT NULL,                -- in the round's random order
    swapped    INTEGER NOT NULL,                -- 1: initiator on the second CPU of the pair
    padding    INTEGER NOT NULL,                -- bytes added to the environment
    offset     INTEGER NOT NULL,                -- bytes by which buffers are shifted
    status     TEXT    NOT NULL,                -- ok, failed, not_applicable, unavailable
    reason     TEXT,
    record     TEXT    NOT NULL,                -- JSON object: what the launch said of itself
    samples    INTEGER NOT NULL,                -- how many it has, over all parts
    seal       INTEGER NOT NULL DEFAULT 0,
    UNIQUE (case_id, round)
) STRICT;

CREATE TABLE samples (
    launch  INTEGER NOT NULL REFERENCES launches(id) ON DELETE CASCADE,
    part    INTEGER NOT NULL,                   -- parts follow each other
    count   INTEGER NOT NULL,
    ticks   BLOB    NOT NULL,                   -- zlib of count little-endian 64-bit integers
    seal    INTEGER NOT NULL,
    PRIMARY KEY (launch, part)
) STRICT, WITHOUT ROWID;

CREATE TABLE warnings (
    id    INTEGER PRIMARY KEY,
    run   INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    text  TEXT    NOT NULL,
    seal  INTEGER NOT NULL DEFAULT 0
) STRICT;

-- What has no row can't be missed: how many rows each run has.
CREATE TABLE tallies (
    run   INTEGER PRIMARY KEY REFERENCES runs(id) ON DELETE CASCADE,
    rows  INTEGER NOT NULL DEFAULT 0,           -- in nodes, groups, cases, rounds, launches, warnings
    seal  INTEGER NOT NULL DEFAULT 0
) STRICT;

CREATE INDEX cases_of_run ON cases(run);
