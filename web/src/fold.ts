/** Arguments folded by layer, as search/report.c folds the table of the command line. */
import type { Argument, Axes, Sharding } from "./types";

// Numbers that count parts of a path: [0], ['0'], .0, layer_0, mlp_1/linear; not those of words, as in ln1.
const NUMBER = /(?<=\[)\d+|(?<=^|[[\]'"./_])\d+(?=$|[\]'"./_])/g;
const BRACKET = 91, EDGE = new Set([..."[]'\"./_"].map(c => c.charCodeAt(0)));
const isDigit = (c: number): boolean => c >= 48 && c <= 57;

/** The end of a number that counts and begins at i; i: none does. Of digits that are a word's the end is told too, as -end. */
function numberAt(name: string, i: number): number {
	const before = i ? name.charCodeAt(i - 1) : 0;
	let end = i;
	while (end < name.length && isDigit(name.charCodeAt(end))) end++;
	const c = end < name.length ? name.charCodeAt(end) : 0;
	return before === BRACKET || ((!i || EDGE.has(before)) && (!c || (c !== BRACKET && EDGE.has(c)))) ? end : -end;
}

/** name.replace(NUMBER, "*"), several times as fast: there may be 100,000 names. */
export function pattern(name: string): string {
	let out = "", from = 0;
	for (let i = 0; i < name.length; ) {
		if (!isDigit(name.charCodeAt(i))) { i++; continue; }
		const end = numberAt(name, i);
		if (end > 0) {
			out += `${name.slice(from, i)}*`;
			from = end;
		}
		i = Math.abs(end);
	}
	return from ? out + name.slice(from) : name;
}

/** A number that names of one pattern have in common, without making the pattern. */
function patternHash(name: string): number {
	let h = 0;
	for (let i = 0; i < name.length; ) {
		const c = name.charCodeAt(i), end = isDigit(c) ? numberAt(name, i) : 0;
		h = Math.imul(h ^ (end > 0 ? 42 : c), 16777619);
		i = end > 0 ? end : i + 1;
		if (end < 0) for (; i < -end; i++) h = Math.imul(h ^ name.charCodeAt(i), 16777619);
	}
	return h;
}

function samePattern(a: string, b: string): boolean {
	let i = 0, k = 0;
	while (i < a.length && k < b.length) {
		const x = a.charCodeAt(i), y = b.charCodeAt(k), m = isDigit(x) ? numberAt(a, i) : 0, n = isDigit(y) ? numberAt(b, k) : 0;
		if (m > 0 && n > 0) { i = m; k = n; continue; }
		// digits of a word, or other characters: equal one by one
		const end = Math.max(i + 1, -m);
		if (m > 0 || n > 0 || Math.max(k + 1, -n) - k !== end - i) return false;
		for (; i < end; i++, k++) if (a.charCodeAt(i) !== b.charCodeAt(k)) return false;
	}
	return i === a.length && k === b.length;
}

const sameAxes = (a: Axes | null, b: Axes | null): boolean => a === b || (a !== null && b !== null && a.length === b.length && a.every((d, i) => d.length === b[i]!.length && d.every((x, k) => x === b[i]![k])));

/** The name that two of one pattern have in common: a number that both have stays. */
export function common(a: string, b: string): string {
	if (a === b) return a;
	const numbers = b.match(NUMBER) ?? [];
	let k = 0;
	return a.replace(/\*/g, "\0").replace(new RegExp(`${NUMBER.source}|\0`, "g"), found => (numbers[k++] === found ? found : "\0")).replace(/\0/g, "*");
}

export function dims(s: Sharding | null | undefined): Axes | null {
	return !s ? null : Array.isArray(s) ? s : s.dims;
}

/** Per dimension the axes that it is cut over, decided or by propagation; null: nothing is known. */
export const cuts = (a: Argument): Axes | null => dims(a.sharding) ?? a.propagated ?? null;

export function cell(axes: Axes | null): string {
	if (!axes) return "?";
	let text = "[";
	for (let i = 0; i < axes.length; i++) text += (i ? ", " : "") + (axes[i]!.length ? axes[i]!.join("+") : "-");
	return `${text}]`;
}

export interface Type { shape: number[]; element: string; bytes: number }

const ELEMENT: Record<string, number> = { i1: 1, f64: 8, i64: 8, ui64: 8, f32: 4, tf32: 4, i32: 4, ui32: 4, bf16: 2, f16: 2, i16: 2, ui16: 2, i8: 1, ui8: 1, i4: 0.5, ui4: 0.5, i2: 0.25, ui2: 0.25, f4E2M1FN: 0.5, "complex<f32>": 8, "complex<f64>": 16 };
const types = new Map<string, Type>();

/** tensor<8x4xf32>; what is no tensor of known sizes has no bytes. */
export function parseType(text: string): Type {
	let t = types.get(text);
	if (t) return t;
	const inner = /^tensor<(.*)>$/.exec(text)?.[1] ?? "";
	const sizes = /^((?:\d+x)*)(.*)$/.exec(inner)!;
	const shape = sizes[1]!.split("x").filter(Boolean).map(Number), element = sizes[2]!.split(",")[0]!;
	const each = ELEMENT[element] ?? (/^f8/.test(element) ? 1 : 0);
	t = { shape, element, bytes: Math.ceil(shape.reduce((n, d) => n * d, 1) * each) };
	types.set(text, t);
	return t;
}

/** 8×4 f32 */
export function typeText(text: string): string {
	const t = parseType(text);
	return t.element ? `${t.shape.join("×")} ${t.element}`.trim() : text;
}

export type Sizes = Map<string, number>;

/** Devices along an axis, or along a sub-axis such as model:(1)2. */
export function axisSize(sizes: Sizes, axis: string): number {
	const sub = /:\(\d+\)(\d+)$/.exec(axis);
	return sub ? Number(sub[1]) : (sizes.get(axis) ?? 1);
}

export const axisName = (axis: string): string => axis.replace(/:\(\d+\)\d+$/, "");

/** Bytes of one device's piece, each dimension rounded up. */
export function localBytes(type: string, axes: Axes | null, sizes: Sizes): number {
	const t = parseType(type);
	if (!axes || !t.shape.length) return t.bytes;
	let whole = 1, local = 1;
	t.shape.forEach((d, i) => {
		const parts = (axes[i] ?? []).reduce((n, a) => n * axisSize(sizes, a), 1);
		whole *= d;
		local *= Math.ceil(d / parts);
	});
	return whole ? Math.ceil((t.bytes / whole) * local) : 0;
}

export interface Group { name: string; type: string; role: string; cuts: Axes | null; decided: boolean; members: Argument[]; local: number }

const folded = new WeakMap<Argument[], Group[]>();

/** Of a strategy's arguments, which no view changes: 100,000 are folded once. */
export function fold(list: Argument[], sizes: Sizes): Group[] {
	const known = folded.get(list), groups = known ?? foldAnew(list, sizes);
	if (!known) folded.set(list, groups);
	return groups;
}

function foldAnew(list: Argument[], sizes: Sizes): Group[] {
	const byHash = new Map<number, (Group & { shape: string })[]>(), groups: Group[] = [];
	for (const a of list) {
		const axes = cuts(a), decided = a.sharding !== null, hash = patternHash(a.name);
		let same = byHash.get(hash);
		if (!same) byHash.set(hash, same = []);
		const g = same.find(x => x.type === a.type && x.role === a.role && x.decided === decided && samePattern(x.members[0]!.name, a.name) && sameAxes(x.cuts, axes));
		if (g) {
			g.members.push(a);
			if (g.name !== g.shape) g.name = common(g.name, a.name);
		} else {
			const made = { name: a.name, type: a.type, role: a.role, cuts: axes, decided, members: [a], local: localBytes(a.type, axes, sizes), shape: pattern(a.name) };
			same.push(made);
			groups.push(made);
		}
	}
	return groups;
}

export interface Filter { text: string; role: string; axis: string }

/** axis: a name; "-": cut over none. A text with * or ? is a glob over the whole name, another one a part of it. */
export function matcher(f: Filter): (a: { name: string; role: string }, axes: Axes | null) => boolean {
	const glob = /[*?]/.test(f.text), text = f.text.toLowerCase();
	const expression = glob ? new RegExp(`^${text.replace(/[.+^${}()|[\]\\]/g, "\\$&").replace(/\*/g, ".*").replace(/\?/g, ".")}$`, "s") : null;
	return (a, axes) => {
		if (f.role && a.role !== f.role) return false;
		if (text) {
			const name = a.name.toLowerCase();
			if (!(expression ? expression.test(name) : name.includes(text))) return false;
		}
		if (!f.axis) return true;
		const used = (axes ?? []).flat();
		return f.axis === "-" ? !used.length : used.some(x => axisName(x) === f.axis);
	};
}
