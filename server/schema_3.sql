-- Version 3 of the schema: names that people give, requests that may be sent twice, fair service, and what answers are used for.

-- Names of modules: every JAX program is called jit_step.
CREATE TABLE labels (
	module     TEXT NOT NULL REFERENCES modules(id) ON DELETE CASCADE,
	label      TEXT NOT NULL,
	owner      TEXT NOT NULL,                 -- who gave it; only he and an admin take it away
	created_us INTEGER NOT NULL,
	PRIMARY KEY (module, label)
) STRICT, WITHOUT ROWID;
CREATE INDEX labels_label ON labels(label, module);

-- Words that requests gave their search, those that joined it included.
CREATE TABLE tags (
	search TEXT NOT NULL REFERENCES searches(id) ON DELETE CASCADE,
	tag    TEXT NOT NULL,
	PRIMARY KEY (search, tag)
) STRICT, WITHOUT ROWID;
CREATE INDEX tags_tag ON tags(tag, search);

-- What a request with an Idempotency-Key led to. Forgotten after a week.
CREATE TABLE idempotency (
	owner      TEXT NOT NULL,
	key        TEXT NOT NULL,
	digest     TEXT NOT NULL,                 -- of the request: another one with the key is refused
	resource   TEXT NOT NULL,                 -- id of the search or module
	created_us INTEGER NOT NULL,
	PRIMARY KEY (owner, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_age ON idempotency(created_us);

-- What the searches of an owner have taken of the workers, halved every hour since at_us.
CREATE TABLE owners (
	owner   TEXT PRIMARY KEY,
	used_us INTEGER NOT NULL,
	at_us   INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- How often a strategy answered a request from the store, and when it was last asked for.
CREATE TABLE uses (
	strategy TEXT PRIMARY KEY REFERENCES strategies(id) ON DELETE CASCADE,
	hits     INTEGER NOT NULL,
	used_us  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Among the searches of one owner: higher priorities first, then by rank_us, the arrival plus a multiple of the expected time.
ALTER TABLE searches ADD COLUMN priority INTEGER NOT NULL DEFAULT 0;
ALTER TABLE searches ADD COLUMN rank_us INTEGER NOT NULL DEFAULT 0;
UPDATE searches SET rank_us = created_us WHERE state IN ('queued', 'running');
DROP INDEX searches_pick;
CREATE INDEX searches_pick ON searches(owner, priority DESC, rank_us, number) WHERE state = 'queued';
CREATE INDEX searches_live ON searches(owner, state, not_before_us, started_us, number) WHERE state IN ('queued', 'running');
CREATE INDEX searches_strategy ON searches(strategy);
CREATE INDEX searches_ended ON searches(ended_us) WHERE ended_us IS NOT NULL;
CREATE INDEX strategies_created ON strategies(created_us, id); -- created_us itself stands behind the document: reading it walks that
CREATE INDEX modules_created ON modules(created_us, id);

-- What waits and what runs. Service alternates between owners by what they have used; within an owner it has this order.
DROP VIEW queue;
CREATE VIEW queue AS
SELECT s.id, s.state, s.owner, s.priority, s.module, (SELECT min(label) FROM labels l WHERE l.module = s.module) AS label,
	s.mesh, s.device, s.attempt, s.failures, s.evaluations, s.best_runtime_ns, s.best_peak_bytes,
	datetime(s.created_us / 1000000, 'unixepoch') AS created
FROM searches s WHERE s.state IN ('queued', 'running') ORDER BY s.state = 'queued', s.owner, s.priority DESC, s.rank_us, s.number;

-- How often the answers of each owner's searches served again, and when last.
CREATE VIEW strategy_uses AS
SELECT t.id AS strategy, m.name AS module, (SELECT min(label) FROM labels l WHERE l.module = t.module) AS label, t.mesh, t.device, t.cost_model,
	t.partial, coalesce(u.hits, 0) AS hits, datetime(coalesce(u.used_us, t.created_us) / 1000000, 'unixepoch') AS last_used,
	length(CAST(t.document AS BLOB)) AS bytes
FROM strategies t JOIN modules m ON m.id = t.module LEFT JOIN uses u ON u.strategy = t.id;
