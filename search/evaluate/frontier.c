/* Plans of which none takes both less memory and less time than another one. */
#include "search/evaluate/evaluate.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_POINTS = 96, KEPT_POINTS = 48 /* then those stay that say most */ };

bool frontier_add(frontier *f, const plan *pl, const cost *c)
{
	uint32_t at = 0, end;
	while (at < f->points.n && f->points.p[at].c.peak_bytes < c->peak_bytes)
		at++;
	bool beaten = at && f->points.p[at - 1].c.runtime_ns <= c->runtime_ns;
	for (end = at; end < f->points.n && !beaten; end++) {
		const cost *more = &f->points.p[end].c;
		beaten = more->peak_bytes == c->peak_bytes && more->runtime_ns <= c->runtime_ns;
		if (more->runtime_ns < c->runtime_ns)
			break;
	}
	if (beaten || !is_costed(c))
		return false;
	vec_reserve(&f->points, f->points.n + 1);
	near_plan *p = f->points.p;
	memmove(p + at + 1, p + end, (f->points.n - end) * sizeof *p);
	p[at] = (near_plan){*pl, *c};
	f->points.n += 1 + at - end;
	if (f->points.n > MOST_POINTS)
		frontier_thin(f, KEPT_POINTS);
	return true;
}

/* Of the area above the curve, both ways in logarithms, what a point between two others adds. */
static double adds(const frontier *f, uint32_t i)
{
	const cost *c = &f->points.p[i].c, *smaller = &f->points.p[i - 1].c,
			   *faster = &f->points.p[i + 1].c;
	return log((double)faster->peak_bytes / (double)MAX(c->peak_bytes, 1)) *
		log((double)smaller->runtime_ns / (double)MAX(c->runtime_ns, 1));
}

void frontier_thin(frontier *f, uint32_t most)
{
	while (f->points.n > MAX(most, 2u)) {
		near_plan *p = f->points.p;
		uint32_t least = 1;
		for (uint32_t i = 2; i + 1 < f->points.n; i++)
			if (adds(f, i) < adds(f, least))
				least = i;
		memmove(p + least, p + least + 1, (f->points.n - least - 1) * sizeof *p);
		f->points.n--;
	}
}

void frontier_release(frontier *f) { vec_release(&f->points); }
