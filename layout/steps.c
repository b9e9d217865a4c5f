#include "layout/pieces.h"

void layout_steps_of(const layout *l, const sharding_edit *e, layout_steps *out)
{
	mesh_pieces p;
	int64_t stride = 1;
	out->l = l;
	out->n = 0;
	for (uint32_t d = 0; d < l->rank; d++)
		for (uint32_t i = l->first_digit[d]; i < l->first_digit[d + 1]; i++)
			if (l->digits.p[i].size > 1)
				out->at[out->n++] = (layout_step){
					l->digits.p[i].ref, d, l->digits.p[i].divisor, l->digits.p[i].size};
	if (l->table->meshes.p[e->mesh].maximal)
		return;
	sharding_edit cuts = *e; /* summands of the whole are copies as far as slices go */
	cuts.unreduced.n = 0;
	pieces_of(l->table, &cuts, &p);
	for (uint32_t i = p.n; i-- > 0;) {
		if (!p.used[i] && axis_size(p.a[i]) > 1)
			out->at[out->n++] = (layout_step){p.a[i], ID_NONE, stride, axis_size(p.a[i])};
		stride *= axis_size(p.a[i]);
	}
}

static int64_t coordinate(const layout_step *s, int64_t position)
{
	return position / s->divisor % s->size;
}

bool layout_held_after(const layout_steps *s, uint32_t done, int64_t position)
{
	for (uint32_t i = done; i < s->n; i++)
		if (coordinate(&s->at[i], position))
			return false;
	return true;
}

/* Index of the device's piece of a dim, of so many. */
static int64_t index_after(
	const layout_steps *s, uint32_t done, int64_t position, uint32_t dim, int64_t *parts)
{
	int64_t index = 0;
	*parts = 1;
	for (uint32_t i = 0; i < done; i++)
		if (s->at[i].dim == dim) {
			index = index * s->at[i].size + coordinate(&s->at[i], position);
			*parts *= s->at[i].size;
		}
	return index;
}

int64_t layout_slice_after(const layout_steps *s, uint32_t done, int64_t position)
{
	int64_t number = 0, parts;
	for (uint32_t d = 0; d < s->l->rank; d++) {
		int64_t index = index_after(s, done, position, d, &parts);
		number = number * parts + index;
	}
	return number;
}

/* A position whose device has shard `index` of a dim in the end. */
static int64_t position_with(const layout *l, uint32_t dim, int64_t index)
{
	int64_t position = 0;
	for (uint32_t i = l->first_digit[dim]; i < l->first_digit[dim + 1]; i++)
		position += index / l->digits.p[i].weight % l->digits.p[i].size * l->digits.p[i].divisor;
	return position;
}

index_range range_of_part(const layout *l, uint32_t dim, int64_t index, int64_t parts)
{
	int64_t rest = l->parts[dim] / parts, first = index * rest, last = first + rest - 1;
	index_range a = cut_range(l, dim, position_with(l, dim, first), first),
				b = cut_range(l, dim, position_with(l, dim, last), last);
	return (index_range){a.begin, MAX(a.end, b.end)};
}

void layout_ranges_after(const layout_steps *s, uint32_t done, int64_t position, index_range *out)
{
	for (uint32_t d = 0; d < s->l->rank; d++) {
		int64_t parts, index = index_after(s, done, position, d, &parts);
		out[d] = range_of_part(s->l, d, index, parts);
	}
}

void axis_name_print(const layout *l, axis_ref a, strbuf *out)
{
	const device_mesh *m = &l->table->meshes.p[l->mesh];
	uint32_t axis = axis_index(a);
	strbuf_str(out, strtab_get(&l->table->names, m->axis_names[axis]));
	if (axis_size(a) != m->axis_sizes[axis])
		strbuf_printf(out, ":(%lld)%lld", (long long)axis_pre(a), (long long)axis_size(a));
}

void layout_step_text(const layout_steps *s, uint32_t step, strbuf *out)
{
	if (step == 0) {
		strbuf_printf(
			out, "the whole tensor is on device %lld", (long long)layout_device_at(s->l, 0));
		return;
	}
	const layout_step *x = &s->at[step - 1];
	axis_name_print(s->l, x->axis, out);
	if (x->dim == ID_NONE)
		strbuf_printf(out, " copies %lld times", (long long)x->size);
	else
		strbuf_printf(out, " cuts dimension %u into %lld", x->dim, (long long)x->size);
}

static void add_string(const char *text, strbuf *out)
{
	strbuf_putc(out, '"');
	for (; *text; text++) {
		if (*text == '"' || *text == '\\')
			strbuf_putc(out, '\\');
		if ((unsigned char)*text < 0x20)
			strbuf_printf(out, "\\u%04x", (unsigned char)*text);
		else
			strbuf_putc(out, *text);
	}
	strbuf_putc(out, '"');
}

static void add_devices(const layout_steps *s, uint32_t done, strbuf *out)
{
	bool first = true;
	for (int64_t i = 0; i < s->l->n_devices; i++) {
		int64_t position = layout_position_of(s->l, i);
		index_range r[MAX_RANK];
		if (!layout_held_after(s, done, position))
			continue;
		layout_ranges_after(s, done, position, r);
		strbuf_printf(out, "%s{\"device\":%lld,\"slice\":%lld,\"ranges\":[", first ? "" : ",",
			(long long)layout_device_at(s->l, position),
			(long long)layout_slice_after(s, done, position));
		for (uint32_t d = 0; d < s->l->rank; d++)
			strbuf_printf(
				out, "%s[%lld,%lld]", d ? "," : "", (long long)r[d].begin, (long long)r[d].end);
		strbuf_puts(out, "]}");
		first = false;
	}
}

status layout_steps_json(const layout_steps *s, strbuf *out, diag *d)
{
	strbuf text;
	if (s->l->n_devices > MAX_STEP_DEVICES)
		return diag_set(d, ST_ERR_LIMIT, "steps of %lld devices, at most %d are shown",
			(long long)s->l->n_devices, MAX_STEP_DEVICES);
	strbuf_init(&text);
	strbuf_puts(out, "{\"device_matrix\":[");
	for (uint32_t i = 0; i < s->l->n_axes; i++)
		strbuf_printf(out, "%s%lld", i ? "," : "", (long long)s->l->axis_sizes[i]);
	strbuf_puts(out, "],\"alias_name\":[");
	for (uint32_t i = 0; i < s->l->n_axes; i++) {
		strbuf_clear(&text);
		strbuf_str(&text,
			strtab_get(&s->l->table->names, s->l->table->meshes.p[s->l->mesh].axis_names[i]));
		strbuf_puts(out, i ? "," : "");
		add_string(text.p, out);
	}
	strbuf_puts(out, "],\n\"steps\":[");
	for (uint32_t step = 0; step <= s->n; step++) {
		const layout_step *x = step ? &s->at[step - 1] : NULL;
		strbuf_clear(&text);
		layout_step_text(s, step, &text);
		strbuf_printf(out, "%s\n{\"step\":%u,\"text\":", step ? "," : "", step);
		add_string(text.p, out);
		strbuf_printf(out, ",\"action\":\"%s\"", !x ? "place" : x->dim == ID_NONE ? "copy" : "cut");
		if (x) {
			strbuf_clear(&text);
			axis_name_print(s->l, x->axis, &text);
			strbuf_puts(out, ",\"axis\":");
			add_string(text.p, out);
		}
		if (x && x->dim != ID_NONE)
			strbuf_printf(out, ",\"dimension\":%u", x->dim);
		strbuf_puts(out, ",\"devices\":[");
		add_devices(s, step, out);
		strbuf_puts(out, "]}");
	}
	strbuf_puts(out, "],\n\"devices\":[");
	layout_json(s->l, 0, s->l->n_devices, out);
	strbuf_puts(out, "\n]}\n");
	strbuf_release(&text);
	return ST_OK;
}
