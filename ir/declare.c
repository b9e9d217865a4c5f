#include "ir/ir.h"

op_id mesh_declare(module *m, mesh_id id)
{
	op_id last = ID_NONE;
	for (op_id o = m->regions.p[m->body].first; o != ID_NONE; o = op_at(m, o)->next)
		if (op_at(m, o)->kind == OP_SDY_MESH)
			last = o;
	strbuf body = {0};
	strbuf_puts(&body, "#sdy.mesh");
	mesh_print(m->shardings, id, &body);
	str name = strtab_get(&m->shardings->names, m->shardings->meshes.p[id].name);
	op_id o = op_new(m, OP_SDY_MESH, strtab_add(&m->strs, STR("sdy.mesh")), NULL, 0, NULL, 0, 0, 0);
	op_attr_set(
		m, o, "sym_name", attr_string(m, (str){arena_strdup(&m->mem, name.p, name.n), name.n}));
	op_attr_set(m, o, "mesh",
		attr_new(m,
			&(attr){.kind = ATTR_RAW,
				.type = ID_NONE,
				.text = {arena_strdup(&m->mem, body.p, body.n), body.n}}));
	strbuf_release(&body);
	op_id first = m->regions.p[m->body].first;
	if (last != ID_NONE)
		op_insert_after(m, o, last);
	else if (first != ID_NONE)
		op_insert_before(m, o, first);
	else
		op_append(m, o, m->body);
	return o;
}

mesh_id mesh_declared(const module *m, op_id o)
{
	mesh_id id;
	attr_id a = op_attr(m, o, "mesh");
	str text = a == ID_NONE ? (str){0} : attr_get(m, a)->text;
	size_t head = sizeof "#sdy.mesh" - 1;
	if (text.n <= head ||
		mesh_parse(m->shardings, (str){text.p + head, text.n - head}, op_text(m, o, "sym_name"),
			&id, NULL) != ST_OK)
		return ID_NONE;
	return id;
}
