/** Two strategies side by side: time, memory, communication, and the arguments that they cut in different ways. */
import { useMemo } from "preact/hooks";
import { useOnce } from "./api";
import { cell, common, cuts, localBytes, pattern } from "./fold";
import { bytes, count, duration, short, signed } from "./format";
import { sizesOf } from "./arguments";
import { link } from "./route";
import type { Axes, Cost, Whole } from "./types";
import { Chips, Heading, Problem, Table, Waiting } from "./ui";
import { FiguresOfTwo } from "./verified";

const FIGURES: [string, keyof Cost, (n: number) => string][] = [
	["Step", "runtime_ns", duration], ["Compute", "compute_ns", duration], ["Communication", "communication_ns", duration], ["Exposed communication", "exposed_communication_ns", duration],
	["Peak memory", "peak_bytes", bytes], ["Arguments", "argument_bytes", bytes], ["Results", "output_bytes", bytes], ["In place of arguments", "alias_bytes", bytes], ["Temporary", "temporary_bytes", bytes],
];
const NEUTRAL = new Set<keyof Cost>(["alias_bytes"]);

interface Difference { name: string; type: string; a: Axes | null; b: Axes | null; n: number; bytesA: number; bytesB: number }

function differences(a: Whole, b: Whole): { list: Difference[]; same: number; alone: number } {
	const others = new Map(b.arguments.map(x => [x.name, x])), rows = new Map<string, Difference>(), sa = sizesOf(a), sb = sizesOf(b);
	let same = 0, alone = b.arguments.length;
	for (const x of a.arguments) {
		const y = others.get(x.name);
		if (!y) { alone++; continue; }
		alone--;
		const ca = cuts(x), cb = cuts(y);
		if (cell(ca) === cell(cb)) { same++; continue; }
		const key = `${pattern(x.name)}\0${x.type}\0${cell(ca)}\0${cell(cb)}`, row = rows.get(key);
		if (row) { row.n++; row.name = common(row.name, x.name); }
		else rows.set(key, { name: x.name, type: x.type, a: ca, b: cb, n: 1, bytesA: localBytes(x.type, ca, sa), bytesB: localBytes(y.type, cb, sb) });
	}
	const list = [...rows.values()].sort((p, q) => Math.abs(q.bytesA - q.bytesB) * q.n - Math.abs(p.bytesA - p.bytesB) * p.n);
	return { list, same, alone };
}

const share = (d: number, of: number) => Math.abs(d) < of / 200 ? "below 1%" : signed(`${Math.round((100 * d) / of)}%`, d);
const title = (s: Whole) => `${s.mesh.axes.map(x => `${x.name} ${x.size}`).join(" × ")}, ${s.device}`;

export function CompareView({ a, b }: { a: string; b: string }) {
	const left = useOnce<Whole>(`/v1/strategies/${a}`), right = useOnce<Whole>(`/v1/strategies/${b}`);
	const found = useMemo(() => left.data && right.data ? differences(left.data, right.data) : null, [left.data, right.data]);
	if (left.error || right.error) return <Problem>{left.error || right.error}</Problem>;
	if (!left.data || !right.data || !found) return <Waiting what="Loading both" />;
	const A = left.data, B = right.data, head = (s: Whole, id: string, letter: string) => <a href={link(["strategies", id])}><b>{letter}</b> {title(s)} <span class="soft">{short(id)}</span></a>;
	const change = (x: number, y: number, f: (n: number) => string, neutral = false) => x === y ? <span class="soft">equal</span> : <b class={neutral ? "" : y < x ? "better" : "worse"}>{signed(f(y - x), y - x)}{x ? ` (${share(y - x, x)})` : ""}</b>;
	const kinds = [...new Set([...Object.keys(A.cost.collectives), ...Object.keys(B.cost.collectives)])].filter(k => A.cost.collectives[k]?.count || B.cost.collectives[k]?.count);
	const axesA = A.mesh.axes.map(x => x.name), axesB = B.mesh.axes.map(x => x.name);
	const programs = A.module.fingerprint === B.module.fingerprint;
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
