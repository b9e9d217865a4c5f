-- What compilers said of the programs of a search, and the queue of searches that wait for their word. docs/database.md shows both.

-- A search whose plans a verifier is to compile. It can be taken once the search has succeeded.
CREATE TABLE verification_jobs (
	search     TEXT PRIMARY KEY REFERENCES searches(id) ON DELETE CASCADE,
	plans      INTEGER NOT NULL,            -- how many programs are to be compiled
	state      TEXT NOT NULL CHECK (state IN ('queued', 'running', 'done', 'failed')),
	attempt    INTEGER NOT NULL DEFAULT 0,  -- how often it was taken; fences late results
	losses     INTEGER NOT NULL DEFAULT 0,  -- leases that ran out: the verifier died
	lease_us   INTEGER,                     -- a running one without a heartbeat until then can be taken again
	verifier   TEXT,                        -- what the last one calls itself
	planned    TEXT REFERENCES strategies(id), -- the answer of the search itself, once a verified one may have replaced it
	error      TEXT,
	created_us INTEGER NOT NULL,
	started_us INTEGER,
	ended_us   INTEGER
) STRICT, WITHOUT ROWID;
CREATE INDEX verification_jobs_open ON verification_jobs(created_us) WHERE state IN ('queued', 'running');
CREATE INDEX verification_jobs_planned ON verification_jobs(planned) WHERE planned IS NOT NULL;

-- Whoever waits for a change of the search hears of its verification too.
CREATE TRIGGER verification_asked AFTER INSERT ON verification_jobs
	BEGIN UPDATE searches SET revision = revision + 1 WHERE id = NEW.search; END;
CREATE TRIGGER verification_changed AFTER UPDATE OF state ON verification_jobs WHEN NEW.state <> OLD.state OR NEW.attempt <> OLD.attempt
	BEGIN UPDATE searches SET revision = revision + 1 WHERE id = NEW.search; END;

-- One program that was compiled or run, or that was refused.
CREATE TABLE verifications (
	number     INTEGER PRIMARY KEY AUTOINCREMENT,
	search     TEXT NOT NULL REFERENCES searches(id) ON DELETE CASCADE,
	attempt    INTEGER NOT NULL,            -- of its job
	strategy   TEXT REFERENCES strategies(id), -- its document; NULL where it was not kept: neither planned nor chosen
	plan       TEXT NOT NULL,               -- 'this plan', 'alternative 1', 'zero3'
	apply      TEXT NOT NULL CHECK (apply IN ('annotate', 'exact')),
	source     TEXT NOT NULL CHECK (source IN ('compiled', 'measured')),
	compiler   TEXT,                        -- 'XLA for tpu'
	version    TEXT,                        -- 'libtpu 0.0.51'
	options    TEXT NOT NULL CHECK (json_valid(options)),
	runtime_ns INTEGER,                     -- of a step; NULL: the compiler says nothing of it, or it was refused
	peak_bytes INTEGER,
	fits       INTEGER NOT NULL,
	predicted_runtime_ns INTEGER NOT NULL,
	predicted_peak_bytes INTEGER NOT NULL,
	seconds    REAL NOT NULL,               -- that the compile took
	reason     TEXT,                        -- why it fell out
	chosen     INTEGER NOT NULL,
	created_us INTEGER NOT NULL
) STRICT;
CREATE INDEX verifications_search ON verifications(search);
CREATE INDEX verifications_strategy ON verifications(strategy) WHERE strategy IS NOT NULL;

-- What was predicted of each program beside what was found.
CREATE VIEW predicted_and_verified AS
SELECT m.name AS module, s.fingerprint, n.devices, s.mesh, t.device, v.plan, v.apply, v.source, v.compiler, v.version,
	v.predicted_runtime_ns, v.runtime_ns, round(v.runtime_ns * 1.0 / v.predicted_runtime_ns, 3) AS of_predicted_runtime,
	v.predicted_peak_bytes, v.peak_bytes, round(v.peak_bytes * 1.0 / v.predicted_peak_bytes, 3) AS of_predicted_peak,
	v.fits, v.chosen, t.cost_model, v.search, v.strategy, v.reason
FROM verifications v JOIN verification_jobs j ON j.search = v.search JOIN searches s ON s.id = v.search
	JOIN strategies t ON t.id = j.planned JOIN modules m ON m.id = s.module JOIN meshes n ON n.mesh = s.mesh
WHERE v.attempt = (SELECT max(attempt) FROM verifications w WHERE w.search = v.search);

-- What waits for a verifier and what one has taken, in the order of service.
CREATE VIEW verification_queue AS
SELECT j.search, j.state, s.state AS search_state, s.module, s.mesh, s.device, j.plans, j.attempt, j.losses, j.verifier,
	datetime(j.created_us / 1000000, 'unixepoch') AS created
FROM verification_jobs j JOIN searches s ON s.id = j.search
WHERE j.state IN ('queued', 'running') AND s.state NOT IN ('failed', 'canceled') ORDER BY j.state = 'queued', j.created_us;
