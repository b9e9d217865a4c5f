-- Version 8 of the schema: when a text was last uploaded. Retention goes by it.

-- upload: order of the last uploads, which a clock that is wrong does not change.
ALTER TABLE modules ADD COLUMN upload INTEGER NOT NULL DEFAULT 0;
ALTER TABLE modules ADD COLUMN uploaded_us INTEGER NOT NULL DEFAULT 0;
UPDATE modules SET upload = n.place, uploaded_us = created_us
FROM (SELECT id, row_number() OVER (ORDER BY created_us, id) AS place FROM modules) n WHERE n.id = modules.id;
CREATE INDEX modules_upload ON modules(upload);
CREATE INDEX modules_uploaded ON modules(uploaded_us, upload);
