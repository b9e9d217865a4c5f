-- Version 5 of the schema: what programs took on real machines, beside what was predicted and what compilers said. docs/database.md shows it.

-- A step that somebody measured with a strategy applied.
CREATE TABLE measurements (
	number     INTEGER PRIMARY KEY AUTOINCREMENT,
	id         TEXT NOT NULL UNIQUE,        -- 'm-' and 32 hex digits; stays when stores are merged
	strategy   TEXT NOT NULL REFERENCES strategies(id) ON DELETE CASCADE,
	device     TEXT NOT NULL,               -- profile of the devices it ran on; counts for answers when it is the strategy's
	step_ns    INTEGER NOT NULL CHECK (step_ns > 0),
	peak_bytes INTEGER CHECK (peak_bytes > 0), -- per device; NULL: not measured
	steps      INTEGER,                     -- how many steps the time is taken from
	hardware   TEXT,                        -- as the runtime calls it: 'TPU v5 lite'
	jax        TEXT,                        -- versions
	jaxlib     TEXT,
	compiler   TEXT,                        -- 'libtpu 0.0.51'
	options    TEXT NOT NULL CHECK (json_valid(options)), -- of the compiler
	source     TEXT,                        -- how it was measured: 'profiler', 'wall clock'
	owner      TEXT NOT NULL,               -- name of the access token
	measured_us INTEGER NOT NULL,           -- when it ran
	created_us INTEGER NOT NULL             -- when the store heard of it
) STRICT;
CREATE INDEX measurements_strategy ON measurements(strategy, device);

-- What a strategy takes by its measurements on the devices it was made for: the median step, the largest peak.
CREATE VIEW measured_strategies AS
SELECT strategy, count(*) AS measurements, max(CASE WHEN place = (rows + 1) / 2 THEN step_ns END) AS step_ns,
	max(peak_bytes) AS peak_bytes, max(measured_us) AS measured_us
FROM (SELECT r.strategy, r.step_ns, r.peak_bytes, r.measured_us, row_number() OVER (PARTITION BY r.strategy ORDER BY r.step_ns, r.number) AS place,
		count(*) OVER (PARTITION BY r.strategy) AS rows
	FROM measurements r JOIN strategies t ON t.id = r.strategy WHERE r.device = t.device)
GROUP BY strategy;

-- What the compiler said of a strategy that it chose, the last time it was asked.
CREATE VIEW verified_strategies AS
SELECT strategy, compiler, version, runtime_ns AS step_ns, peak_bytes, created_us FROM (
	SELECT v.*, row_number() OVER (PARTITION BY strategy ORDER BY number DESC) AS place FROM verifications v WHERE chosen AND strategy IS NOT NULL)
WHERE place = 1;

-- One row per measurement, beside what was predicted of its strategy and what a compiler said.
CREATE VIEW measured AS
SELECT m.name AS module, t.fingerprint, n.devices, t.mesh, t.device, t.runtime_ns AS predicted_step_ns, v.step_ns AS verified_step_ns,
	r.step_ns, round(r.step_ns * 1.0 / t.runtime_ns, 3) AS of_predicted_step, round(r.step_ns * 1.0 / v.step_ns, 3) AS of_verified_step,
	t.peak_bytes AS predicted_peak_bytes, v.peak_bytes AS verified_peak_bytes, r.peak_bytes,
	round(r.peak_bytes * 1.0 / t.peak_bytes, 3) AS of_predicted_peak, r.device AS ran_on, r.hardware, r.jax, r.jaxlib, r.compiler, r.steps, r.source,
	r.owner, datetime(r.measured_us / 1000000, 'unixepoch') AS measured, t.cost_model, t.id AS strategy, r.id AS measurement
FROM measurements r JOIN strategies t ON t.id = r.strategy JOIN modules m ON m.id = t.module JOIN meshes n ON n.mesh = t.mesh
	LEFT JOIN verified_strategies v ON v.strategy = t.id;

-- The best strategy per program and mesh by the best that is known of it: measured before verified before predicted. known: which.
CREATE VIEW best_known AS
SELECT module, fingerprint, devices, mesh, device, memory_limit_bytes, objective, known, step_ns, peak_bytes, predicted_step_ns, predicted_peak_bytes,
	fits, measurements, cost_model, strategy
FROM (
	SELECT k.*, row_number() OVER (PARTITION BY fingerprint, mesh, device, memory_limit_bytes, objective
		ORDER BY CASE known WHEN 'measured' THEN 0 WHEN 'verified' THEN 1 ELSE 2 END, fits DESC,
		CASE objective WHEN 'memory' THEN peak_bytes ELSE step_ns END, number) AS place
	FROM (
		SELECT m.name AS module, t.fingerprint, n.devices, t.mesh, t.device, t.memory_limit_bytes, t.objective,
			CASE WHEN r.strategy IS NOT NULL THEN 'measured' WHEN v.step_ns IS NOT NULL THEN 'verified' ELSE 'predicted' END AS known,
			coalesce(r.step_ns, v.step_ns, t.runtime_ns) AS step_ns, coalesce(r.peak_bytes, v.peak_bytes, t.peak_bytes) AS peak_bytes,
			t.runtime_ns AS predicted_step_ns, t.peak_bytes AS predicted_peak_bytes, t.fits, coalesce(r.measurements, 0) AS measurements,
			t.cost_model, t.id AS strategy, t.number
		FROM strategies t JOIN modules m ON m.id = t.module JOIN meshes n ON n.mesh = t.mesh
			LEFT JOIN measured_strategies r ON r.strategy = t.id LEFT JOIN verified_strategies v ON v.strategy = t.id
		WHERE t.partial = 0) k)
WHERE place = 1;

-- How far the predictions of each cost model were off, over the strategies that were measured. error: mean of |predicted / measured - 1|.
CREATE VIEW cost_model_accuracy AS
SELECT t.cost_model, t.device, count(*) AS strategies, sum(r.measurements) AS measurements,
	round(avg(abs(t.runtime_ns * 1.0 / r.step_ns - 1)), 3) AS step_error, round(avg(t.runtime_ns * 1.0 / r.step_ns), 3) AS predicted_of_measured,
	count(r.peak_bytes) AS peaks, round(avg(abs(t.peak_bytes * 1.0 / r.peak_bytes - 1)), 3) AS peak_error
FROM measured_strategies r JOIN strategies t ON t.id = r.strategy GROUP BY t.cost_model, t.device;
