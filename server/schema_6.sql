-- Version 6 of the schema: the structure of modules, by which searches find plans to begin with.

-- Equal for programs that differ in sizes, element types and the number of layers only (docs/command-line.md, fingerprint). NULL: of a
-- module from before this version that was not searched since.
ALTER TABLE modules ADD COLUMN structure TEXT;
CREATE INDEX modules_structure ON modules(structure) WHERE structure IS NOT NULL;

-- Modules of the same structure, and what there is for each: what a search of one of them may begin with.
CREATE VIEW structures AS
SELECT m.structure, m.name AS module, m.fingerprint, m.ops, t.mesh, t.device, t.fits, t.runtime_ns, t.cost_model, t.id AS strategy
FROM modules m JOIN strategies t ON t.module = m.id WHERE m.structure IS NOT NULL AND t.partial = 0;
