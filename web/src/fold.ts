/** Names of arguments by pattern, and the rows that the daemon folds them into. */
import type { Argument, Axes, Progression, Sharding, Strategy } from "./types";

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
export const cuts = (a: Pick<Argument, "sharding" | "propagated">): Axes | null => dims(a.sharding) ?? a.propagated ?? null;

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

export const sizesOf = (s: Pick<Strategy, "mesh">): Sizes => new Map(s.mesh.axes.map(a => [a.name, a.size]));

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

/** A row of arguments that are alike. first: its first argument; local: bytes of a device's piece of one. */
export interface Group { name: string; type: string; role: string; cuts: Axes | null; decided: boolean; first: number; count: number; members: Progression[]; local: number }

const known = new WeakMap<Strategy, Group[]>();

export function groupsOf(s: Strategy): Group[] {
	let groups = known.get(s);
	if (!groups) {
		const sizes = sizesOf(s);
		known.set(s, groups = s.rows.map(r => ({ name: r.name, type: r.type, role: r.role, cuts: cuts(r), decided: r.sharding !== null, first: r.members[0]![0], count: r.count, members: r.members, local: localBytes(r.type, cuts(r), sizes) })));
	}
	return groups;
}

/** Whether an argument is one of these. */
export const isIn = (index: number, list: Progression[]): boolean =>
	list.some(([first, n, step]) => (index - first) % step === 0 && (index - first) / step >= 0 && (index - first) / step < n);

export function numbersOf(list: Progression[]): number[] {
	const out: number[] = [];
	for (const [first, n, step] of list) for (let i = 0; i < n; i++) out.push(first + i * step);
	return out;
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
