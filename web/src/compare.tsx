/** Two strategies side by side: time, memory, communication, and the arguments that they cut in different ways. */
import { useMemo } from "preact/hooks";
import { useOnce } from "./api";
import { type Sizes, cell, common, cuts, localBytes, numbersOf, pattern, sizesOf } from "./fold";
import { bytes, count, duration, short, signed } from "./format";
import { useStrategy } from "./outline";
import { link } from "./route";
import type { Axes, Cost, Strategy, Whole } from "./types";
import { Chips, Heading, Problem, Table, Waiting } from "./ui";
import { FiguresOfTwo } from "./verified";

const FIGURES: [string, keyof Cost, (n: number) => string][] = [
	["Step", "runtime_ns", duration], ["Compute", "compute_ns", duration], ["Communication", "communication_ns", duration], ["Exposed communication", "exposed_communication_ns", duration],
	["Peak memory", "peak_bytes", bytes], ["Arguments", "argument_bytes", bytes], ["Results", "output_bytes", bytes], ["In place of arguments", "alias_bytes", bytes], ["Temporary", "temporary_bytes", bytes],
];
const NEUTRAL = new Set<keyof Cost>(["alias_bytes"]);

interface Difference { name: string; type: string; a: Axes | null; b: Axes | null; n: number; bytesA: number; bytesB: number }

interface Found { list: Difference[]; same: number; alone: number }

/** What differs is put together by pattern, type and both shardings. */
class Differences {
	private readonly rows = new Map<string, Difference>();
	same = 0;
	constructor(private readonly a: Sizes, private readonly b: Sizes) {}
	add(name: string, type: string, ca: Axes | null, cb: Axes | null, n: number, typeB = type): void {
		if (cell(ca) === cell(cb)) { this.same += n; return; }
		const key = `${pattern(name)}\0${type}\0${cell(ca)}\0${cell(cb)}`, row = this.rows.get(key);
		if (row) { row.n += n; row.name = common(row.name, name); }
		else this.rows.set(key, { name, type, a: ca, b: cb, n, bytesA: localBytes(type, ca, this.a), bytesB: localBytes(typeB, cb, this.b) });
	}
	found(alone: number): Found {
		const list = [...this.rows.values()].sort((p, q) => Math.abs(q.bytesA - q.bytesB) * q.n - Math.abs(p.bytesA - p.bytesB) * p.n);
		return { list, same: this.same, alone };
	}
}

/** Of one program: the rows of both say which arguments are cut how. */
function ofOneProgram(a: Strategy, b: Strategy): Found {
	const rowOf = new Int32Array(b.module.arguments), out = new Differences(sizesOf(a), sizesOf(b));
	b.rows.forEach((r, k) => { for (const m of numbersOf(r.members)) rowOf[m] = k; });
	for (const r of a.rows) {
		const with_ = new Map<number, number>();
		for (const m of numbersOf(r.members)) with_.set(rowOf[m]!, (with_.get(rowOf[m]!) ?? 0) + 1);
		for (const [k, n] of with_) out.add(b.rows[k]!.count === n ? b.rows[k]!.name : r.name, r.type, cuts(r), cuts(b.rows[k]!), n);
	}
	return out.found(0);
}

/** Of two programs: what has one name. */
function ofTwoPrograms(a: Whole, b: Whole): Found {
	const others = new Map(b.arguments.map(x => [x.name, x])), out = new Differences(sizesOf(a), sizesOf(b));
	let alone = b.arguments.length;
	for (const x of a.arguments) {
		const y = others.get(x.name);
		alone += y ? -1 : 1;
		if (y) out.add(x.name, x.type, cuts(x), cuts(y), 1, y.type);
	}
	return out.found(alone);
}

const share = (d: number, of: number) => Math.abs(d) < of / 200 ? "below 1%" : signed(`${Math.round((100 * d) / of)}%`, d);
const title = (s: Strategy) => `${s.mesh.axes.map(x => `${x.name} ${x.size}`).join(" × ")}, ${s.device}`;

export function CompareView({ a, b }: { a: string; b: string }) {
	const left = useStrategy(a), right = useStrategy(b), programs = left.data && right.data ? left.data.module.fingerprint === right.data.module.fingerprint : true;
	const wholeA = useOnce<Whole>(programs ? "" : `/v1/strategies/${a}`), wholeB = useOnce<Whole>(programs ? "" : `/v1/strategies/${b}`);
	const found = useMemo(() => !left.data || !right.data ? null : programs ? ofOneProgram(left.data, right.data) : wholeA.data && wholeB.data ? ofTwoPrograms(wholeA.data, wholeB.data) : null, [left.data, right.data, wholeA.data, wholeB.data, programs]);
	const error = left.error || right.error || wholeA.error || wholeB.error;
	if (error) return <Problem>{error}</Problem>;
	if (!left.data || !right.data || !found) return <Waiting what="Loading both" />;
	const A = left.data, B = right.data, head = (s: Strategy, id: string, letter: string) => <a href={link(["strategies", id])}><b>{letter}</b> {title(s)} <span class="soft">{short(id)}</span></a>;
	const change = (x: number, y: number, f: (n: number) => string, neutral = false) => x === y ? <span class="soft">equal</span> : <b class={neutral ? "" : y < x ? "better" : "worse"}>{signed(f(y - x), y - x)}{x ? ` (${share(y - x, x)})` : ""}</b>;
	const kinds = [...new Set([...Object.keys(A.cost.collectives), ...Object.keys(B.cost.collectives)])].filter(k => A.cost.collectives[k]?.count || B.cost.collectives[k]?.count);
	const axesA = A.mesh.axes.map(x => x.name), axesB = B.mesh.axes.map(x => x.name);
	return <article class="view">
		<header class="view-head"><div><Heading of={a + b}>Two strategies for {A.module.name || "a module"}</Heading><p class="versus">{head(A, a, "A")} <span class="soft">against</span> {head(B, b, "B")}</p></div>
			<div class="actions"><a class="button" href={link(["compare", b, a])}>Swap</a></div></header>
		{programs ? null : <p class="card warn">They are of different programs: arguments are matched by name.</p>}
		<section class="card"><h2>What it costs</h2><Table caption="Cost" rows={FIGURES} keyOf={f => f[0]} columns={[{ title: "Of a device and step", wide: true, cell: f => f[0] }, { title: "A", number: true, cell: f => f[2](A.cost[f[1]] as number) }, { title: "B", number: true, cell: f => f[2](B.cost[f[1]] as number) },
			{ title: "B less A", number: true, cell: f => change(A.cost[f[1]] as number, B.cost[f[1]] as number, f[2], NEUTRAL.has(f[1])) }]} /></section>
		<FiguresOfTwo ids={[a, b]} strategies={[A, B]} change={change} />
		<section class="card"><h2>Collectives</h2><Table caption="Collectives by kind" rows={kinds} keyOf={k => k} empty="Neither communicates." columns={[{ title: "Kind", wide: true, cell: k => k.replaceAll("_", " ") },
			{ title: "Executions of A", number: true, cell: k => count(A.cost.collectives[k]?.dynamic_count ?? 0) }, { title: "Of B", number: true, cell: k => count(B.cost.collectives[k]?.dynamic_count ?? 0) },
			{ title: "Bytes of A", number: true, cell: k => bytes(A.cost.collectives[k]?.bytes ?? 0) }, { title: "Bytes of B", number: true, cell: k => bytes(B.cost.collectives[k]?.bytes ?? 0) },
			{ title: "B less A", number: true, cell: k => change(A.cost.collectives[k]?.bytes ?? 0, B.cost.collectives[k]?.bytes ?? 0, bytes) }]} /></section>
		<section class="card"><h2>Arguments that differ</h2><p class="soft">{count(found.same)} are cut alike{found.alone ? `, ${count(found.alone)} are in one of them only` : ""}.{found.list.length > 200 ? ` The first 200 of ${count(found.list.length)} rows.` : ""}</p>
			<Table caption="Arguments that differ" rows={found.list.slice(0, 200)} keyOf={(_, i) => i} empty="All are cut alike." columns={[{ title: "Argument", wide: true, cell: d => <><span class="mono">{d.name}</span>{d.n > 1 ? <span class="soft"> ×{count(d.n)}</span> : null}</> },
				{ title: "A", cell: d => <Chips cuts={d.a} axes={axesA} /> }, { title: "B", cell: d => <Chips cuts={d.b} axes={axesB} /> }, { title: "Per device", number: true, cell: d => change(d.bytesA * d.n, d.bytesB * d.n, bytes) }]} /></section>
	</article>;
}
