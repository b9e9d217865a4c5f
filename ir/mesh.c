#include "ir/ir.h"

#include <stdlib.h>

/* Meshes and shardings share one index; the lowest bit of an entry tells them apart (see
 * sharding.c). */
enum { TAG_MESH = 1 };

sharding_table *sharding_table_new(void)
{
	sharding_table *t = xcalloc(1, sizeof *t);
	arena_init(&t->mem);
	strtab_init(&t->names);
	index_init(&t->index);
	t->refs = 1;
	/* Id 0 stands for "no attribute"; it is never found by sharding_intern. */
	vec_push(&t->shardings, (sharding){.mesh = ID_NONE});
	return t;
}

sharding_table *sharding_table_ref(sharding_table *t)
{
	t->refs++;
	return t;
}

void sharding_table_unref(sharding_table *t)
{
	if (!t || --t->refs)
		return;
	arena_release(&t->mem);
	strtab_release(&t->names);
	index_release(&t->index);
	vec_release(&t->meshes);
	vec_release(&t->shardings);
	free(t);
}

sharding_table *sharding_table_clone(const sharding_table *t)
{
	sharding_table *c = xcalloc(1, sizeof *c);
	c->refs = 1;
	vec_copy(&c->names.strs, &t->names.strs);
	index_copy(&c->names.index, &t->names.index);
	vec_copy(&c->meshes, &t->meshes);
	vec_copy(&c->shardings, &t->shardings);
	index_copy(&c->index, &t->index);
	return c;
}

static bool is_iota(const int64_t *ids, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (ids[i] != i)
			return false;
	return true;
}

/* Are ids the numbers 0..n-1 in some order? */
static bool is_permutation(const int64_t *ids, uint32_t n)
{
	uint8_t *seen = xcalloc(n, 1);
	bool ok = true;
	for (uint32_t i = 0; i < n && ok; i++) {
		ok = ids[i] >= 0 && ids[i] < n && !seen[ids[i]];
		if (ok)
			seen[ids[i]] = 1;
	}
	free(seen);
	return ok;
}

static status check_axes(
	const sharding_table *t, const device_mesh *m, uint32_t *bad_axis, char *msg, size_t msg_size)
{
	int64_t devices = 1;
	for (uint32_t i = 0; i < m->n_axes; i++) {
		str name = strtab_get(&t->names, m->axis_names[i]);
		*bad_axis = i;
		if (i >= MAX_MESH_AXES) {
			snprintf(msg, msg_size,
				"axis \"" STR_FMT "\" is one too many: a mesh has at most %d axes", STR_ARG(name),
				MAX_MESH_AXES);
			return ST_ERR_LIMIT;
		}
		if (m->axis_sizes[i] < 1) {
			snprintf(msg, msg_size, "axis \"" STR_FMT "\" has size %lld, expected at least 1",
				STR_ARG(name), (long long)m->axis_sizes[i]);
			return ST_ERR_INVALID;
		}
		for (uint32_t k = 0; k < i; k++)
			if (m->axis_names[k] == m->axis_names[i]) {
				snprintf(msg, msg_size, "duplicate axis name \"" STR_FMT "\"", STR_ARG(name));
				return ST_ERR_INVALID;
			}
		devices = sat_mul(devices, m->axis_sizes[i]);
		if (devices > MAX_DEVICES) {
			snprintf(msg, msg_size,
				"axis \"" STR_FMT "\" of size %lld takes the mesh beyond %d devices", STR_ARG(name),
				(long long)m->axis_sizes[i], MAX_DEVICES);
			return ST_ERR_LIMIT;
		}
	}
	return ST_OK;
}

status mesh_check(
	const sharding_table *t, const device_mesh *m, uint32_t *bad_axis, char *msg, size_t msg_size)
{
	uint32_t ignored;
	bad_axis = bad_axis ? bad_axis : &ignored;
	status s = check_axes(t, m, bad_axis, msg, msg_size);
	if (s != ST_OK)
		return s;
	*bad_axis = ID_NONE;
	if (m->n_device_ids == 0)
		return ST_OK;
	if (m->n_axes == 0) {
		if (m->n_device_ids == 1 && m->device_ids[0] >= 0)
			return ST_OK;
		snprintf(msg, msg_size, "a mesh without axes names at most one device, and none below 0");
		return ST_ERR_INVALID;
	}
	int64_t devices = 1;
	for (uint32_t i = 0; i < m->n_axes; i++)
		devices *= m->axis_sizes[i];
	if (m->n_device_ids != devices) {
		snprintf(msg, msg_size, "%u device ids for %lld devices (product of the axis sizes)",
			m->n_device_ids, (long long)devices);
		return ST_ERR_INVALID;
	}
	if (!is_permutation(m->device_ids, m->n_device_ids)) {
		snprintf(msg, msg_size, "device ids are not the numbers 0 to %lld, each once",
			(long long)devices - 1);
		return ST_ERR_INVALID;
	}
	return ST_OK;
}

bool mesh_same_devices(const sharding_table *t, mesh_id a, mesh_id b)
{
	if (a == b)
		return true;
	const device_mesh *x = &t->meshes.p[a], *y = &t->meshes.p[b];
	if (x->n_axes != y->n_axes || x->n_device_ids != y->n_device_ids)
		return false;
	return (!x->n_axes ||
			   (memcmp(x->axis_names, y->axis_names, x->n_axes * sizeof *x->axis_names) == 0 &&
				   memcmp(x->axis_sizes, y->axis_sizes, x->n_axes * sizeof *x->axis_sizes) == 0)) &&
		(!x->n_device_ids ||
			memcmp(x->device_ids, y->device_ids, x->n_device_ids * sizeof *x->device_ids) == 0);
}

static uint64_t mesh_hash(const device_mesh *m)
{
	uint64_t h = hash_combine(0x6d657368, m->name);
	h = hash_bytes(m->axis_names, m->n_axes * sizeof *m->axis_names, h);
	h = hash_bytes(m->axis_sizes, m->n_axes * sizeof *m->axis_sizes, h);
	return hash_bytes(m->device_ids, m->n_device_ids * sizeof *m->device_ids, h);
}

static void *copy_array(arena *a, const void *p, size_t bytes)
{
	return bytes ? memcpy(arena_alloc(a, bytes), p, bytes) : NULL;
}

mesh_id mesh_intern(sharding_table *t, const device_mesh *given)
{
	device_mesh m = *given;
	m.maximal = m.n_axes == 0 && m.n_device_ids == 1;
	m.n_devices = 1;
	for (uint32_t i = 0; i < m.n_axes; i++)
		m.n_devices *= m.axis_sizes[i];
	if (m.n_axes && is_iota(m.device_ids, m.n_device_ids))
		m.n_device_ids = 0;

	uint64_t h = mesh_hash(&m);
	uint32_t entry, id = t->meshes.n;
	/* Pushed first, so that it can be compared by id; taken back when it exists already. */
	vec_push(&t->meshes, m);
	for (uint32_t it = index_first(&t->index, h); index_next(&t->index, h, &it, &entry);)
		if ((entry & 1) == TAG_MESH && t->meshes.p[entry >> 1].name == m.name &&
			mesh_same_devices(t, entry >> 1, id)) {
			t->meshes.n--;
			return entry >> 1;
		}
	device_mesh *kept = &t->meshes.p[id];
	kept->axis_names = copy_array(&t->mem, m.axis_names, m.n_axes * sizeof *m.axis_names);
	kept->axis_sizes = copy_array(&t->mem, m.axis_sizes, m.n_axes * sizeof *m.axis_sizes);
	kept->device_ids = copy_array(&t->mem, m.device_ids, m.n_device_ids * sizeof *m.device_ids);
	index_add(&t->index, h, id << 1 | TAG_MESH);
	return id;
}

mesh_id mesh_find(const sharding_table *t, str name)
{
	str_id id = strtab_find(&t->names, name);
	if (id == UINT32_MAX || id == 0)
		return ID_NONE;
	/* the youngest: a symbol that was dropped may have been given again */
	for (mesh_id m = t->meshes.n; m-- > 0;)
		if (t->meshes.p[m].name == id)
			return m;
	return ID_NONE;
}

uint32_t mesh_axis_find(const sharding_table *t, mesh_id m, str name)
{
	str_id id = strtab_find(&t->names, name);
	if (id == UINT32_MAX)
		return ID_NONE;
	const device_mesh *mesh = &t->meshes.p[m];
	for (uint32_t i = 0; i < mesh->n_axes; i++)
		if (mesh->axis_names[i] == id)
			return i;
	return ID_NONE;
}

axis_ref mesh_full_axis(const sharding_table *t, mesh_id m, uint32_t axis)
{
	assert(axis < t->meshes.p[m].n_axes);
	return axis_make(axis, 1, t->meshes.p[m].axis_sizes[axis]);
}

static str trimmed(str s)
{
	while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
		s = (str){s.p + 1, s.n - 1};
	while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
		s.n--;
	return s;
}

/* An axis name of a flag goes into quoted text, JSON and other notations unescaped. */
static bool plain_name(str s)
{
	for (size_t i = 0; i < s.n; i++) {
		unsigned char c = (unsigned char)s.p[i];
		if (c < 0x20 || c == 0x7f || strchr("\"\\'`:,=()[]{}<>", c))
			return false;
	}
	return s.n > 0;
}

static status flag_axis(
	sharding_table *t, str text, str item, str_id *name_out, int64_t *size_out, diag *d)
{
	size_t at = (size_t)(item.p - text.p);
	const char *eq = item.n ? memchr(item.p, '=', item.n) : NULL;
	if (!eq)
		return diag_at(d, text.p, text.n, at, ST_ERR_PARSE,
			"expected axis=size, found '" STR_FMT "' in mesh '" STR_FMT "'", STR_ARG(item),
			STR_ARG(text));
	str name = trimmed((str){item.p, (size_t)(eq - item.p)});
	str size = trimmed((str){eq + 1, item.n - (size_t)(eq + 1 - item.p)});
	if (!plain_name(name))
		return diag_at(d, text.p, text.n, at, ST_ERR_PARSE,
			"expected an axis name before '=', found '" STR_FMT "'", STR_ARG(name));
	if (!str_to_i64(size, size_out))
		return diag_at(d, text.p, text.n, (size_t)(eq + 1 - text.p), ST_ERR_PARSE,
			"axis \"" STR_FMT "\" has size '" STR_FMT "', expected a whole number", STR_ARG(name),
			STR_ARG(size));
	*name_out = strtab_add(&t->names, name);
	return ST_OK;
}

status mesh_parse_flag(sharding_table *t, const char *flag, mesh_id *out, diag *d)
{
	str text = str_of(flag);
	str_id names[MAX_MESH_AXES + 1];
	int64_t sizes[MAX_MESH_AXES + 1];
	size_t offsets[MAX_MESH_AXES + 1];
	uint32_t n = 0;
	if (trimmed(text).n == 0)
		return diag_at(d, text.p, text.n, 0, ST_ERR_PARSE,
			"the mesh is empty, expected axis=size,axis=size,..");
	/* One axis beyond the limit is read, for mesh_check to name. */
	for (size_t at = 0; at <= text.n && n <= MAX_MESH_AXES; n++) {
		const char *comma = at < text.n ? memchr(text.p + at, ',', text.n - at) : NULL;
		size_t end = comma ? (size_t)(comma - text.p) : text.n;
		offsets[n] = at;
		TRY(flag_axis(t, text, trimmed((str){text.p + at, end - at}), &names[n], &sizes[n], d));
		at = end + 1;
	}
	device_mesh m = {.name = strtab_add(&t->names, STR("mesh")),
		.n_axes = n,
		.axis_names = names,
		.axis_sizes = sizes};
	char msg[256];
	uint32_t bad;
	status s = mesh_check(t, &m, &bad, msg, sizeof msg);
	if (s != ST_OK)
		return diag_at(d, text.p, text.n, bad == ID_NONE ? 0 : offsets[bad], s, "%s", msg);
	*out = mesh_intern(t, &m);
	return ST_OK;
}
