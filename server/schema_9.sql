-- Version 9 of the schema: views that tell answers of one cost model from those of another, and searches that ended early from whole ones.
-- partial: 1 where the search ended early; among plans that fit, and among those that do not, it counts after the others.

DROP VIEW best_strategies;
DROP VIEW best_per_mesh;
DROP VIEW mesh_ranking;
DROP VIEW cost_model_history;
DROP VIEW best_known;
DROP VIEW model_best;

-- The best strategy per program, mesh, device, memory, objective and cost model: costs of two cost models do not compare.
CREATE VIEW model_best AS
SELECT * FROM (
	SELECT s.*, row_number() OVER (PARTITION BY fingerprint, mesh, device, memory_limit_bytes, objective, cost_model
		ORDER BY fits DESC, partial, CASE objective WHEN 'memory' THEN peak_bytes ELSE runtime_ns END, number) AS place,
		max(number) OVER (PARTITION BY fingerprint, mesh, device, memory_limit_bytes, objective, cost_model) AS newest
	FROM strategies s)
WHERE place = 1;

-- The best strategy by the newest cost model that the question was searched with.
CREATE VIEW best_strategies AS
SELECT * FROM (
	SELECT *, row_number() OVER (PARTITION BY fingerprint, mesh, device, memory_limit_bytes, objective ORDER BY newest DESC) AS age FROM model_best)
WHERE age = 1;

-- The same, beside its best baseline.
CREATE VIEW best_per_mesh AS
WITH newest AS MATERIALIZED (
	SELECT t.*, (SELECT value FROM (
			SELECT b.value, b.value ->> 'fits' AS fits,
				CASE t.objective WHEN 'memory' THEN b.value ->> '$.cost.peak_bytes' ELSE b.value ->> '$.cost.runtime_ns' END AS cost
			FROM json_each(t.document, '$.baselines') b)
		ORDER BY fits DESC, cost LIMIT 1) AS baseline
	FROM (
		SELECT *, row_number() OVER (PARTITION BY fingerprint, mesh, device, memory_limit_bytes, objective ORDER BY newest DESC) AS age
		FROM model_best) t
	WHERE t.age = 1)
SELECT m.name AS module, t.fingerprint, n.devices, t.mesh, t.device, t.memory_limit_bytes, t.objective, t.runtime_ns, t.peak_bytes, t.fits,
	t.baseline ->> 'name' AS baseline, t.baseline ->> '$.cost.runtime_ns' AS baseline_runtime_ns,
	t.baseline ->> '$.cost.peak_bytes' AS baseline_peak_bytes, t.baseline ->> 'fits' AS baseline_fits,
	round((t.baseline ->> '$.cost.runtime_ns') * 1.0 / t.runtime_ns, 3) AS faster, t.cost_model, t.partial, t.id AS strategy
FROM newest t JOIN modules m ON m.id = t.module JOIN meshes n ON n.mesh = t.mesh;

-- The meshes of as many devices, best first, per program, device, memory and objective; those whose search ended early among each other.
CREATE VIEW mesh_ranking AS
SELECT b.module, b.fingerprint, b.device, b.memory_limit_bytes, b.objective, b.devices,
	row_number() OVER place AS place, b.mesh, b.runtime_ns, b.peak_bytes, b.fits,
	round(b.runtime_ns * 1.0 / first_value(b.runtime_ns) OVER place, 3) AS of_best, b.cost_model, b.partial, b.strategy
FROM best_per_mesh b
WINDOW place AS (PARTITION BY b.fingerprint, b.device, b.memory_limit_bytes, b.objective, b.cost_model, b.partial, b.devices
	ORDER BY b.fits DESC, CASE b.objective WHEN 'memory' THEN b.peak_bytes ELSE b.runtime_ns END, b.mesh);

-- How the answer to a question changed from one cost model to the next, in the order of their first strategies.
CREATE VIEW cost_model_history AS
SELECT m.name AS module, t.fingerprint, n.devices, t.mesh, t.device, t.memory_limit_bytes, t.objective,
	row_number() OVER history AS step, t.cost_model, t.runtime_ns, t.peak_bytes, t.fits, t.partial,
	round(t.runtime_ns * 1.0 / lag(t.runtime_ns) OVER history, 3) AS of_previous,
	datetime(t.created_us / 1000000, 'unixepoch') AS created, t.id AS strategy
FROM model_best t JOIN modules m ON m.id = t.module JOIN meshes n ON n.mesh = t.mesh
WINDOW history AS (PARTITION BY t.fingerprint, t.mesh, t.device, t.memory_limit_bytes, t.objective ORDER BY t.newest);

-- The best strategy per program and mesh by the best that is known of it: measured before verified before predicted by the newest cost model.
CREATE VIEW best_known AS
SELECT module, fingerprint, devices, mesh, device, memory_limit_bytes, objective, known, step_ns, peak_bytes, predicted_step_ns, predicted_peak_bytes,
	fits, measurements, cost_model, strategy
FROM (
	SELECT k.*, row_number() OVER (PARTITION BY fingerprint, mesh, device, memory_limit_bytes, objective
		ORDER BY CASE known WHEN 'measured' THEN 0 WHEN 'verified' THEN 1 ELSE 2 END,
		CASE known WHEN 'predicted' THEN newest END DESC, fits DESC,
		CASE objective WHEN 'memory' THEN peak_bytes ELSE step_ns END, number) AS place
	FROM (
		SELECT m.name AS module, t.fingerprint, n.devices, t.mesh, t.device, t.memory_limit_bytes, t.objective,
			CASE WHEN r.strategy IS NOT NULL THEN 'measured' WHEN v.step_ns IS NOT NULL THEN 'verified' ELSE 'predicted' END AS known,
			coalesce(r.step_ns, v.step_ns, t.runtime_ns) AS step_ns, coalesce(r.peak_bytes, v.peak_bytes, t.peak_bytes) AS peak_bytes,
			t.runtime_ns AS predicted_step_ns, t.peak_bytes AS predicted_peak_bytes, t.fits, coalesce(r.measurements, 0) AS measurements,
			t.cost_model, t.id AS strategy, t.number,
			max(t.number) OVER (PARTITION BY t.fingerprint, t.mesh, t.device, t.memory_limit_bytes, t.objective, t.cost_model) AS newest
		FROM strategies t JOIN modules m ON m.id = t.module JOIN meshes n ON n.mesh = t.mesh
			LEFT JOIN measured_strategies r ON r.strategy = t.id LEFT JOIN verified_strategies v ON v.strategy = t.id
		WHERE t.partial = 0) k)
WHERE place = 1;
