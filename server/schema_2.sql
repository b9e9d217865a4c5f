-- Version 2 of the schema: views for comparing meshes, baselines and cost models. docs/database.md shows each with an example.

-- One row per baseline of a strategy. objective is the strategy's.
CREATE VIEW strategy_baselines AS
SELECT s.id AS strategy, s.objective, b.value ->> 'name' AS name, b.value ->> '$.cost.runtime_ns' AS runtime_ns,
	b.value ->> '$.cost.peak_bytes' AS peak_bytes, b.value ->> 'fits' AS fits
FROM strategies s, json_each(s.document, '$.baselines') b;

-- The meshes that strategies are for, with the number of their axes and devices.
CREATE VIEW meshes AS
WITH RECURSIVE
	shape(mesh, sizes) AS (
		SELECT mesh, (SELECT json_group_array(value) FROM json_each('{"' || replace(replace(mesh, '=', '":'), ',', ',"') || '}'))
		FROM (SELECT DISTINCT mesh FROM strategies)),
	product(mesh, sizes, axes, devices) AS (
		SELECT mesh, sizes, 0, 1 FROM shape
		UNION ALL
		SELECT mesh, sizes, axes + 1, devices * (sizes ->> axes) FROM product WHERE axes < json_array_length(sizes))
SELECT mesh, axes, devices FROM product WHERE axes = json_array_length(sizes);

-- The best strategy per program, mesh, device, memory, objective and cost model: costs of two cost models do not compare.
CREATE VIEW model_best AS
SELECT * FROM (
	SELECT s.*, row_number() OVER (PARTITION BY fingerprint, mesh, device, memory_limit_bytes, objective, cost_model
		ORDER BY fits DESC, CASE objective WHEN 'memory' THEN peak_bytes ELSE runtime_ns END, number) AS place,
		max(number) OVER (PARTITION BY fingerprint, mesh, device, memory_limit_bytes, objective, cost_model) AS newest
	FROM strategies s)
WHERE place = 1;

-- The best strategy per program and mesh by the newest cost model that it was searched with, beside its best baseline.
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
	round((t.baseline ->> '$.cost.runtime_ns') * 1.0 / t.runtime_ns, 3) AS faster, t.cost_model, t.id AS strategy
FROM newest t JOIN modules m ON m.id = t.module JOIN meshes n ON n.mesh = t.mesh;

-- The meshes of as many devices, best first, per program, device, memory and objective.
CREATE VIEW mesh_ranking AS
SELECT b.module, b.fingerprint, b.device, b.memory_limit_bytes, b.objective, b.devices,
	row_number() OVER place AS place, b.mesh, b.runtime_ns, b.peak_bytes, b.fits,
	round(b.runtime_ns * 1.0 / first_value(b.runtime_ns) OVER place, 3) AS of_best, b.cost_model, b.strategy
FROM best_per_mesh b
WINDOW place AS (PARTITION BY b.fingerprint, b.device, b.memory_limit_bytes, b.objective, b.cost_model, b.devices
	ORDER BY b.fits DESC, CASE b.objective WHEN 'memory' THEN b.peak_bytes ELSE b.runtime_ns END, b.mesh);

-- How the answer to a question changed from one cost model to the next, in the order of their first strategies.
CREATE VIEW cost_model_history AS
SELECT m.name AS module, t.fingerprint, n.devices, t.mesh, t.device, t.memory_limit_bytes, t.objective,
	row_number() OVER history AS step, t.cost_model, t.runtime_ns, t.peak_bytes, t.fits,
	round(t.runtime_ns * 1.0 / lag(t.runtime_ns) OVER history, 3) AS of_previous,
	datetime(t.created_us / 1000000, 'unixepoch') AS created, t.id AS strategy
FROM model_best t JOIN modules m ON m.id = t.module JOIN meshes n ON n.mesh = t.mesh
WINDOW history AS (PARTITION BY t.fingerprint, t.mesh, t.device, t.memory_limit_bytes, t.objective ORDER BY t.newest);
