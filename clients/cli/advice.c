/* What looks like a mistake in a question, said before it is answered. */
#include "clients/cli/cli.h"

/* The data arguments' largest extents: what batch and sequence could be cut over. */
static bool divides_data(const module *m, const role *roles, int64_t size, uint32_t *first)
{
	const func *main = module_main(m);
	value_id args = op_region(m, main->op, 0)->args;
	*first = ID_NONE;
	for (uint32_t a = 0; a < main->n_args; a++) {
		const ir_type *t = value_type(m, args + a);
		if (roles[a] != ROLE_DATA || !t->rank)
			continue;
		if (*first == ID_NONE)
			*first = a;
		for (uint32_t k = 0; k < t->rank; k++)
			if (t->dims[k] % size == 0)
				return true;
	}
	return *first == ID_NONE;
}

void cli_warn_of_limit(const device *dev, int64_t memory_limit)
{
	if (memory_limit <= dev->usable_bytes)
		return;
	strbuf limit = {0}, usable = {0};
	strbuf_bytes(&limit, memory_limit);
	strbuf_bytes(&usable, dev->usable_bytes);
	fprintf(stderr, "warning: --memory %s is more than a program can use of %s: %s\n", limit.p,
		dev->name, usable.p);
	strbuf_release(&limit);
	strbuf_release(&usable);
}

void cli_warn_of_axes(const module *m, mesh_id mesh_of)
{
	const device_mesh *grid = &m->shardings->meshes.p[mesh_of];
	const func *main = module_main(m);
	if (!main)
		return; /* the search says so */
	role *roles = xcalloc(main->n_args + 1, sizeof *roles);
	diag unused = {0};
	if (search_roles(m, roles, &unused) == ST_OK)
		for (uint32_t i = 0; i < grid->n_axes; i++) {
			uint32_t a;
			int64_t size = grid->axis_sizes[i];
			if (size < 2 || divides_data(m, roles, size, &a))
				continue;
			str axis = strtab_get(&m->shardings->names, grid->axis_names[i]);
			const ir_type *t = value_type(m, op_region(m, main->op, 0)->args + a);
			strbuf name = {0};
			module_arg_name(m, a, &name);
			fprintf(stderr,
				"warning: axis '" STR_FMT
				"' of %lld divides no dimension of the data arguments (%s: " STR_FMT
				"); they stay whole over it\n",
				STR_ARG(axis), (long long)size, name.p, STR_ARG(t->text));
			strbuf_release(&name);
		}
	free(roles);
}
