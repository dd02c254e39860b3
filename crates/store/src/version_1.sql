PRAGMA foreign_keys = OFF;
PRAGMA application_id = 1768973105;
PRAGMA user_version = 1;
BEGIN TRANSACTION;
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
INSERT INTO "cases" VALUES(1,1,0,0,'{"variant":"pipe","workload":"latency","message_bytes":64,"total":null,"load":null,"placement":"same-cpu","place":{"cpus":[0,0],"swappable":false},"workers":"process","payload":"untouched","align":"malloc","twin":false,"route":"local","observe":null,"beside":null}',NULL,NULL,1,3,4000.0,NULL,NULL,NULL,54991188);
CREATE TABLE groups (
    run      INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    nth      INTEGER NOT NULL,
    closed   TEXT,                              -- precise, budget, launches; NULL while open
    seal     INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run, nth)
) STRICT, WITHOUT ROWID;
INSERT INTO "groups" VALUES(1,0,'launches',2760590685);
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
INSERT INTO "launches" VALUES(1,1,1,0,0,0,0,'ok',NULL,'{"outcome":{"status":"ok"},"effective_settings":{},"initiator":{"usage":{"user_ns":1000000,"system_ns":0,"voluntary_switches":0,"involuntary_switches":0,"minor_faults":0,"major_faults":0},"cpus":[0],"lost":0,"datagrams":{"queue_overflows":1,"fragments":null},"delivery_counts":{"due_messages":100,"lost_messages":3,"sent_messages":100},"estimate_ns":0.0,"ack_ns":0.0,"warmup_operations":0,"untimed_ns":0.0,"lead_operations":0,"operations":3,"samples":3,"batch":1,"first_ns":9000.0,"median_ns":4019.0,"parts":[],"counts":null,"error":null,"unavailable":null},"responder":{"usage":{"user_ns":1000000,"system_ns":0,"voluntary_switches":0,"involuntary_switches":0,"minor_faults":0,"major_faults":0},"cpus":[1],"lost":0,"datagrams":{"queue_overflows":1,"fragments":null},"delivery_counts":{"due_messages":100,"lost_messages":3,"sent_messages":100},"estimate_ns":0.0,"ack_ns":0.0,"warmup_operations":0,"untimed_ns":0.0,"lead_operations":0,"operations":0,"samples":0,"batch":0,"first_ns":null,"parts":[],"counts":null,"error":null,"unavailable":null},"noise":null,"traffic":{"sent":200,"received":null,"no_port":null,"receive_errors":null,"receive_queue_errors":null,"checksum_errors":null,"send_queue_errors":null,"pieces_sent":null,"reassembly_failures":null},"setup_ns":0,"energy":{"microjoules":900,"ns":1000000}}',3,1792268424);
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
CREATE TABLE rounds (
    run        INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    group_nth  INTEGER NOT NULL,
    nth        INTEGER NOT NULL,
    began_ns   INTEGER NOT NULL,                -- since the run began
    noise      TEXT    NOT NULL,                -- JSON object
    seal       INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (run, group_nth, nth)
) STRICT, WITHOUT ROWID;
INSERT INTO "rounds" VALUES(1,0,1,1000000,'{"counters":{"interrupts":null,"device_interrupts":null,"softirqs":null,"forks":null,"context_switches":null,"steal_ticks":null},"before":{"spun_ns":0,"count":0,"total_ns":0,"longest_ns":0},"after":{"spun_ns":0,"count":0,"total_ns":0,"longest_ns":0},"marks":[],"frequencies":[],"idle":{"microjoules":10,"ns":1000000},"session":0,"forks":false}',1118786966);
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
INSERT INTO "runs" VALUES(1,'2026-01-01T00:00:00Z','2026-01-01T00:01:00Z','complete',18723,8845980,'110c6fd7-a51c-417f-b3ed-8f6374ef3424','ipcmark 0.1.0','["ipcmark","run"]','{"mechanisms":["pipe"],"workloads":[],"placements":["same-cpu"],"placements_by_workload":{},"levels":{},"cycles":20,"verify":false,"spin_on_one_cpu":false,"total_bytes":null,"totals":[],"loads":[{"per_second":1000,"depth":1,"connections":1,"server":null,"response":null,"service":"0"}],"bound":null,"unbatched":false,"arrivals":"poisson","warmup":{"operations":1000,"ns":5000000},"samples":null,"samples_by_workload":{},"observe":[],"observe_only":{},"observe_also":[],"beside":[],"energy":false,"except":[],"aim":"comparison","routes":["local"],"elsewhere":[],"peer":null,"stopping":{"launches":6,"precision":null,"budget_ns":null,"budget_is_hard":false,"unmarked":null},"reference":null,"sessions":null,"study":null,"defaults":[],"seed":0,"named":{"mechanisms":false,"workloads":false,"sizes":false,"placements":false}}','{"hostname":"example","boot_id":null,"processor":{"architecture":"x86_64","vendor":null,"name":"Example CPU","family":null,"model":null,"stepping":null,"microcode":null,"parts":[],"board":null,"flags":[]},"cpus_online":[0,1],"cpus_isolated":null,"cpus_nohz_full":null,"caches":[],"memory":{"total_bytes":null,"available_bytes":null,"swap_bytes":null,"page_bytes":0,"nodes":[]},"smt":{"control":null,"active":null},"frequency":{"driver":null,"governors":{},"energy_preferences":{},"hardware_max_khz":null,"lowest_khz":null,"highest_khz":null,"boost":null},"cores":[],"idle":{"driver":null,"governor":null,"states":[],"guest_halt_polling":{},"host_halt_polling_ns":null},"hypervisor":{"flag":null,"kind":null,"vendor":null,"product":null,"clock":null},"container":{"kind":null,"signs":[],"seccomp":null},"cgroup":{"v2_path":null,"v1_paths":[],"cpu_quota":null,"cpus_effective":null,"memory_max_bytes":null},"kernel":{"release":null,"version":null,"boot_line":null,"preemption":null,"hz":null,"scheduler_slice_ns":null,"autogroup":null,"mitigations":{},"tainted":null},"clock_source":{"current":null,"available":[]},"huge_pages":{"enabled":null,"defrag":null,"shared_memory":null},"c_library":{"name":"","linked_in":false,"path":null,"version":null,"build":null},"sysctls":{},"mounts":[],"limits":{"resources":{},"affinity":null,"effective_uid":0},"default_buffers":{"pipe_bytes":null,"unix_stream":null,"tcp":null,"udp":null},"build":{"compiler":null,"target":null,"profile":null,"optimisation":null,"flags":null,"target_features":null},"findings":[]}','{"kind":"tsc","tsc_unavailable":null,"cost_ns":10.0,"step_ns":1.0,"ns_per_tick":0.5,"drift_ppm":0.0,"monotonic_ppm":0.0,"readings":[]}','{"quiet_ns":0,"blocks_ns":[],"quiet_blocks_ns":[]}','{}',1000000000,NULL,NULL,'[]','{"mechanisms":[{"name":"noop","aliases":["null"],"options":[]},{"name":"pipe","options":[{"name":"capacity","words":["default"],"takes_size":true},{"name":"mode","words":["stream","packet"],"takes_size":false}]},{"name":"fifo","options":[]},{"name":"unix-stream","aliases":["uds","unix"],"options":[{"name":"buffer","words":["default","message"],"takes_size":true},{"name":"bind","words":["none","path","abstract"],"takes_size":false},{"name":"wiring","words":["partner","self"],"takes_size":false}]},{"name":"unix-seqpacket","options":[{"name":"buffer","words":["default","message"],"takes_size":true},{"name":"bind","words":["none","path","abstract"],"takes_size":false}]},{"name":"unix-dgram","options":[{"name":"buffer","words":["default","message"],"takes_size":true}]},{"name":"tcp","options":[{"name":"nodelay","words":["on","off"],"takes_size":false},{"name":"mptcp","words":["off","on"],"takes_size":false},{"name":"family","words":["4","6"],"takes_size":false},{"name":"buffer","words":["default","message"],"takes_size":true},{"name":"busy-poll","words":["off","MICROSECONDS"],"takes_size":false},{"name":"mtu","words":["default"],"takes_size":true}]},{"name":"udp","options":[{"name":"datagram","words":["path","largest"],"takes_size":true},{"name":"gso","words":["off","on"],"takes_size":false},{"name":"gro","words":["off","on"],"takes_size":false},{"name":"checksum","words":["on","off"],"takes_size":false},{"name":"family","words":["4","6"],"takes_size":false},{"name":"buffer","words":["default","message"],"takes_size":true},{"name":"busy-poll","words":["off","MICROSECONDS"],"takes_size":false},{"name":"mtu","words":["default"],"takes_size":true},{"name":"reliability","words":["window","none","stop-and-wait","selective-repeat","hamming-7-4","hamming-8-4","golay-24-12","reed-solomon-K-M","raptorq","hamming-7-4+arq","hamming-8-4+arq","golay-24-12+arq","reed-solomon-K-M+arq","raptorq+arq"],"takes_size":false},{"name":"loss","words":["0%","PERCENT%"],"takes_size":false},{"name":"burst","words":["1","DATAGRAMS"],"takes_size":false},{"name":"flips","words":["0","SHARE"],"takes_size":false},{"name":"deadline","words":["learned","MICROSECONDS"],"takes_size":false},{"name":"resend-after","words":["learned","MICROSECONDS"],"takes_size":false}]},{"name":"pty","options":[]},{"name":"sysv-queue","options":[{"name":"namespace","words":["private","host"],"takes_size":false}]},{"name":"posix-queue","aliases":["mq"],"options":[{"name":"depth","words":["default"],"takes_size":true}]},{"name":"vmsplice","options":[{"name":"gift","words":["off","on"],"takes_size":false},{"name":"pages","words":["normal","huge"],"takes_size":false},{"name":"wait","words":["sleep","spin"],"takes_size":false},{"name":"capacity","words":["default"],"takes_size":true}]},{"name":"splice","options":[{"name":"pages","words":["normal","huge"],"takes_size":false},{"name":"wait","words":["sleep","spin"],"takes_size":false},{"name":"capacity","words":["default"],"takes_size":true}]},{"name":"process-vm","options":[{"name":"call","words":["readv","writev"],"takes_size":false}]},{"name":"io-uring","options":[{"name":"op","words":["send","msg-ring","futex"],"takes_size":false}]},{"name":"shm-ring","aliases":["shm"],"options":[{"name":"wait","words":["futex","spin","yield","eventfd"],"takes_size":false}]},{"name":"seqlock","options":[]},{"name":"eventfd","options":[]},{"name":"futex","options":[]},{"name":"condvar","options":[]},{"name":"sysv-sem","options":[{"name":"namespace","words":["private","host"],"takes_size":false}]},{"name":"posix-sem","options":[]},{"name":"signal","options":[]}],"variants":[{"variant":"pipe","traits":{"carries":"bytes","framing":"stream","scope":"host","copies":2},"waits":"asleep","bends":[{"name":"one pipe slot, a page","at":"page","only":"always","source":"pipe(7): a slot is a page"},{"name":"PIPE_BUF","at":{"bytes":4096},"only":"always","source":"pipe(7): no larger write is atomic"},{"name":"pipe capacity, {pages} slots","at":{"setting":"pipe_capacity_bytes"},"only":"always","source":"granted: F_GETPIPE_SZ"}]}],"metrics":[{"workload":"latency","bytes":{"name":"latency","unit":"ns","better":"lower","operation":"round_trip","messages":2,"paced":false,"section":"Latency","title":"Round trip","plural":"Round trips","of":" of {}","axis":"round trip","qualifier":"","definition":"A latency is a whole round trip on one clock, one message at a time."},"signals":{"name":"latency","unit":"ns","better":"lower","operation":"round_trip","messages":2,"paced":false,"section":"Latency","title":"Round trip","plural":"Round trips","of":" of {}","axis":"round trip","qualifier":"","definition":"A latency is a whole round trip on one clock, one message at a time."}},{"workload":"throughput","bytes":{"name":"throughput","unit":"bytes_per_sec","better":"higher","operation":"message","messages":1,"paced":false,"section":"Throughput","title":"Throughput","plural":"Transfers","of":" of {} messages","axis":"throughput","qualifier":"throughput","definition":"A throughput is the bytes counted at the receiver over the time from before the first send to the acknowledgement of the last byte."},"signals":{"name":"wakeups","unit":"per_sec","better":"higher","operation":"message","messages":1,"paced":false,"section":"Throughput","title":"Wake-ups one way","plural":"Wake-ups one way","of":"","axis":"wake-ups","qualifier":"throughput","definition":"Wake-ups are counted where they arrive, over the time to the acknowledgement of the last."}},{"workload":"duplex","bytes":{"name":"duplex","unit":"bytes_per_sec","better":"higher","operation":"message","messages":2,"paced":false,"section":"Both ways at once","title":"Throughput, both ways","plural":"Transfers both ways","of":" of {} messages","axis":"throughput of both ways","qualifier":"duplex","definition":"A throughput both ways is the bytes of both directions at once, counted where they arrive, over the time to the acknowledgement of the last."},"signals":{"name":"duplex_wakeups","unit":"per_sec","better":"higher","operation":"message","messages":2,"paced":false,"section":"Both ways at once","title":"Wake-ups both ways","plural":"Wake-ups both ways","of":"","axis":"wake-ups of both ways","qualifier":"duplex","definition":"Wake-ups both ways are counted where they arrive, over the time to the acknowledgement of the last."}},{"workload":"connect","bytes":{"name":"setup","unit":"ns","better":"lower","operation":"set_up","messages":0,"paced":false,"section":"Set-up","title":"Set-up and tear-down","plural":"Set-ups","of":"","axis":"set-up","qualifier":"set-up","definition":"A set-up is a connection to a responder that sleeps in accept(2), until both have closed it again; of what needs no connection all that one worker does to have both ends and to close them."},"signals":{"name":"setup","unit":"ns","better":"lower","operation":"set_up","messages":0,"paced":false,"section":"Set-up","title":"Set-up and tear-down","plural":"Set-ups","of":"","axis":"set-up","qualifier":"set-up","definition":"A set-up is a connection to a responder that sleeps in accept(2), until both have closed it again; of what needs no connection all that one worker does to have both ends and to close them."}},{"workload":"rate","bytes":{"name":"response","unit":"ns","better":"lower","operation":"round_trip","messages":2,"paced":true,"section":"Open loop","title":"Response time","plural":"Responses","of":" to {}","axis":"response time","qualifier":"open loop","definition":"A response time is from when a message was due, by a fixed rate, to its answer."},"signals":{"name":"response","unit":"ns","better":"lower","operation":"round_trip","messages":2,"paced":true,"section":"Open loop","title":"Response time","plural":"Responses","of":" to {}","axis":"response time","qualifier":"open loop","definition":"A response time is from when a message was due, by a fixed rate, to its answer."}},{"workload":"messaging","bytes":{"name":"messaging","unit":"per_sec","better":"higher","operation":"message","messages":1,"paced":false,"section":"A crowd","title":"Messages in a crowd","plural":"Transfers in a crowd","of":" of {} messages","axis":"messages of a crowd","qualifier":"messaging","definition":"Messages in a crowd are those that its senders sent to each of as many receivers, over the time from the word to begin until every receiver had all of its own."},"signals":{"name":"messaging","unit":"per_sec","better":"higher","operation":"message","messages":1,"paced":false,"section":"A crowd","title":"Messages in a crowd","plural":"Transfers in a crowd","of":" of {} messages","axis":"messages of a crowd","qualifier":"messaging","definition":"Messages in a crowd are those that its senders sent to each of as many receivers, over the time from the word to begin until every receiver had all of its own."}},{"workload":"fan-out","bytes":{"name":"fan_out","unit":"ns","better":"lower","operation":"round_trip","messages":16,"paced":false,"section":"One to many","title":"Fan-out","plural":"Messages to several receivers","of":" of {}","axis":"fan-out","qualifier":"fan-out","definition":"A fan-out is from before a message is sent to the first of its receivers, each at a connection of its own, until the last of them has acknowledged it."},"signals":{"name":"fan_out","unit":"ns","better":"lower","operation":"round_trip","messages":16,"paced":false,"section":"One to many","title":"Fan-out","plural":"Messages to several receivers","of":" of {}","axis":"fan-out","qualifier":"fan-out","definition":"A fan-out is from before a message is sent to the first of its receivers, each at a connection of its own, until the last of them has acknowledged it."}}]}',NULL,3028171694);
CREATE TABLE samples (
    launch  INTEGER NOT NULL REFERENCES launches(id) ON DELETE CASCADE,
    part    INTEGER NOT NULL,                   -- parts follow each other
    count   INTEGER NOT NULL,
    ticks   BLOB    NOT NULL,                   -- zlib of count little-endian 64-bit integers
    seal    INTEGER NOT NULL,
    PRIMARY KEY (launch, part)
) STRICT, WITHOUT ROWID;
INSERT INTO "samples" VALUES(1,0,3,X'780173976700833428DD0AA50116BB0190',4175354548);
CREATE TABLE tallies (
    run   INTEGER PRIMARY KEY REFERENCES runs(id) ON DELETE CASCADE,
    rows  INTEGER NOT NULL DEFAULT 0,           -- in nodes, groups, cases, rounds, launches, warnings
    seal  INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO "tallies" VALUES(1,4,1284196213);
CREATE TABLE warnings (
    id    INTEGER PRIMARY KEY,
    run   INTEGER NOT NULL REFERENCES runs(id) ON DELETE CASCADE,
    text  TEXT    NOT NULL,
    seal  INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX cases_of_run ON cases(run);
COMMIT;
