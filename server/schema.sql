-- Schema of a Shardwright store (shardwright.db), version 1. It is public: query it with sqlite3 while the daemon runs
-- (open it read-only: sqlite3 'file:shardwright.db?mode=ro'). docs/database.md explains it with examples.
-- Times are microseconds since 1970 (UTC), run times nanoseconds, sizes bytes; ids of modules and strategies are
-- "sha256:" and 64 hex digits.

-- A StableHLO text that was uploaded. The text itself lies in objects/, compressed.
CREATE TABLE modules (
	id           TEXT PRIMARY KEY,            -- sha256 of the text
	fingerprint  TEXT NOT NULL,               -- of the program: names, locations and spacing do not change it
	shardings    TEXT NOT NULL,               -- of the shardings it already carries
	name         TEXT NOT NULL,
	ops          INTEGER NOT NULL,
	arguments    INTEGER NOT NULL,
	text_bytes   INTEGER NOT NULL,
	stored_bytes INTEGER NOT NULL,
	created_us   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX modules_fingerprint ON modules(fingerprint);

-- A request to find a strategy, and how it went.
CREATE TABLE searches (
	number        INTEGER PRIMARY KEY AUTOINCREMENT, -- order of arrival
	id            TEXT NOT NULL UNIQUE,
	key           TEXT NOT NULL,              -- equal keys ask the same question (all but budget, seed and threads)
	budget        TEXT NOT NULL CHECK (budget IN ('default', 'evaluations', 'seconds')),
	budget_amount INTEGER NOT NULL,           -- evaluations, or milliseconds
	module        TEXT NOT NULL REFERENCES modules(id),
	fingerprint   TEXT NOT NULL,
	mesh          TEXT NOT NULL,              -- data=4,model=4
	device        TEXT NOT NULL,
	memory_bytes  INTEGER NOT NULL,           -- 0: what the device has
	objective     TEXT NOT NULL,
	request       TEXT NOT NULL CHECK (json_valid(request)),
	owner         TEXT NOT NULL DEFAULT '',   -- name of the access token
	state         TEXT NOT NULL CHECK (state IN ('queued', 'running', 'succeeded', 'failed', 'canceled')),
	cancel        INTEGER NOT NULL DEFAULT 0, -- 1: canceled while it ran
	attempt       INTEGER NOT NULL DEFAULT 0, -- how often a worker was started; fences late results
	failures      INTEGER NOT NULL DEFAULT 0, -- how often a worker crashed
	max_failures  INTEGER NOT NULL,
	not_before_us INTEGER NOT NULL DEFAULT 0, -- a crashed one waits a little
	lease_us      INTEGER,                    -- a running one without a heartbeat until then goes back to the queue
	evaluations   INTEGER NOT NULL DEFAULT 0, -- progress
	best_runtime_ns INTEGER,
	best_peak_bytes INTEGER,
	best_fits     INTEGER,
	strategy      TEXT REFERENCES strategies(id),
	partial       INTEGER NOT NULL DEFAULT 0, -- 1: ended early, the strategy is the best until then
	error         TEXT CHECK (error IS NULL OR json_valid(error)), -- RFC 9457 problem
	created_us    INTEGER NOT NULL,
	started_us    INTEGER,
	ended_us      INTEGER,
	revision      INTEGER NOT NULL DEFAULT 1  -- grows with every change
) STRICT;
CREATE INDEX searches_pick ON searches(number) WHERE state = 'queued';
CREATE INDEX searches_running ON searches(lease_us) WHERE state = 'running';
CREATE INDEX searches_flight ON searches(key) WHERE state IN ('queued', 'running');
CREATE INDEX searches_answer ON searches(key, budget, budget_amount) WHERE state = 'succeeded' AND partial = 0;
CREATE INDEX searches_state ON searches(state, number);
CREATE INDEX searches_module ON searches(module, number);

-- A strategy document (format shardwright.strategy/1) with the columns one filters and sorts by.
CREATE TABLE strategies (
	number       INTEGER PRIMARY KEY AUTOINCREMENT,
	id           TEXT NOT NULL UNIQUE,        -- sha256 of the document
	search       TEXT NOT NULL,
	module       TEXT NOT NULL REFERENCES modules(id),
	fingerprint  TEXT NOT NULL,
	mesh         TEXT NOT NULL,
	device       TEXT NOT NULL,
	objective    TEXT NOT NULL,
	memory_limit_bytes INTEGER NOT NULL,
	fits         INTEGER NOT NULL,
	partial      INTEGER NOT NULL,
	runtime_ns   INTEGER NOT NULL,
	peak_bytes   INTEGER NOT NULL,
	communication_ns INTEGER NOT NULL,
	evaluations  INTEGER NOT NULL,
	cost_model   TEXT NOT NULL,
	document     TEXT NOT NULL CHECK (json_valid(document)),
	created_us   INTEGER NOT NULL
) STRICT;
CREATE INDEX strategies_module ON strategies(module, mesh, device);
CREATE INDEX strategies_fingerprint ON strategies(fingerprint, mesh, device);

-- What happened to a search, as its event stream tells it. Progress rows are dropped when it ends.
CREATE TABLE events (
	search   TEXT NOT NULL REFERENCES searches(id) ON DELETE CASCADE,
	sequence INTEGER NOT NULL,
	kind     TEXT NOT NULL CHECK (kind IN ('state', 'progress', 'incumbent')),
	at_us    INTEGER NOT NULL,
	body     TEXT NOT NULL CHECK (json_valid(body)),
	PRIMARY KEY (search, sequence)
) STRICT, WITHOUT ROWID;

-- The best strategy per program, mesh, device, memory and objective.
CREATE VIEW best_strategies AS
SELECT * FROM (
	SELECT s.*, row_number() OVER (PARTITION BY fingerprint, mesh, device, memory_limit_bytes, objective
		ORDER BY fits DESC, CASE objective WHEN 'memory' THEN peak_bytes ELSE runtime_ns END, number) AS place
	FROM strategies s)
WHERE place = 1;

-- What waits and what runs, in the order of service.
CREATE VIEW queue AS
SELECT id, state, module, mesh, device, attempt, failures, evaluations, best_runtime_ns, best_peak_bytes,
	datetime(created_us / 1000000, 'unixepoch') AS created
FROM searches WHERE state IN ('queued', 'running') ORDER BY state = 'queued', number;

-- One row per kind of collective of a strategy.
CREATE VIEW strategy_collectives AS
SELECT s.id AS strategy, c.key AS kind, c.value ->> 'count' AS count, c.value ->> 'dynamic_count' AS dynamic_count,
	c.value ->> 'bytes' AS bytes
FROM strategies s, json_each(s.document, '$.cost.collectives') c;

-- One row per argument of a strategy.
CREATE VIEW strategy_arguments AS
SELECT s.id AS strategy, a.value ->> 'index' AS argument, a.value ->> 'name' AS name, a.value ->> 'type' AS type,
	a.value ->> 'role' AS role, a.value -> 'sharding' AS sharding
FROM strategies s, json_each(s.document, '$.arguments') a;
