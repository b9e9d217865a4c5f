/** A module: its strategies over meshes and devices. */
import { useOnce } from "./api";
import { ago, bytes, count, duration, short, signed } from "./format";
import { CompareBar, StrategyTable } from "./home";
import { Labels, called } from "./labels";
import { link, useRoute } from "./route";
import { useSiblings } from "./strategy";
import type { Module, StrategyRow } from "./types";
import { Fact, Heading, Problem, Table, Waiting } from "./ui";

/** Step time against peak memory of all strategies: what is below and left of another one is better in both. */
function Field({ rows }: { rows: StrategyRow[] }) {
	const W = 640, H = 260, L = 64, B = 34, log = (v: number, lo: number, hi: number) => (hi > lo ? Math.log(v / lo) / Math.log(hi / lo) : 0.5);
	const xs = rows.map(r => Math.max(1, r.peak_bytes)), ys = rows.map(r => Math.max(1, r.runtime_ns)), x0 = Math.min(...xs), x1 = Math.max(...xs), y0 = Math.min(...ys), y1 = Math.max(...ys);
	return <figure><svg viewBox={`0 0 ${W} ${H}`} class="field" role="group" aria-label="Step time against peak memory; each point is a strategy">
		<line x1={L} y1={10} x2={L} y2={H - B} class="axis-line" /><line x1={L} y1={H - B} x2={W - 10} y2={H - B} class="axis-line" />
		<text x={L - 6} y={20} text-anchor="end">{duration(y1)}</text><text x={L - 6} y={H - B - 4} text-anchor="end">{duration(y0)}</text>
		<text x={L + 4} y={H - 12}>{bytes(x0)}</text><text x={W - 12} y={H - 12} text-anchor="end">{bytes(x1)} of a device</text>
		{rows.map((r, i) => {
			const x = L + 16 + log(xs[i]!, x0, x1) * (W - L - 150), y = H - B - 16 - log(ys[i]!, y0, y1) * (H - B - 44);
			return <a key={r.id} href={link(["strategies", r.id])} aria-label={`${r.mesh} of ${r.device}: ${duration(r.runtime_ns)}, ${bytes(r.peak_bytes)}`}>
				<circle cx={x} cy={y} r={6} class={r.fits ? "point" : "point over"}><title>{`${r.mesh} ${r.device}: ${duration(r.runtime_ns)}, ${bytes(r.peak_bytes)}`}</title></circle>
				{rows.length <= 14 ? <text x={x + 9} y={y + 4}>{r.mesh.replaceAll(",", " × ").replaceAll("=", " ")}</text> : null}</a>;
		})}
	</svg><figcaption class="soft">Step time (up) against peak memory (right), both logarithmic.</figcaption></figure>;
}

/** The best answer of each mesh on each device, with how many there are. */
function Matrix({ rows }: { rows: StrategyRow[] }) {
	const devices = [...new Set(rows.map(r => r.device))].sort(), meshes = [...new Set(rows.map(r => r.mesh))].sort((a, b) => sizeOf(a) - sizeOf(b) || (a < b ? -1 : 1));
	const best = (mesh: string, device: string) => {
		const list = rows.filter(r => r.mesh === mesh && r.device === device).sort((a, b) => Number(b.fits) - Number(a.fits) || a.runtime_ns - b.runtime_ns), r = list[0];
		if (!r) return <span class="soft">–</span>;
		return <><a href={link(["strategies", r.id])}>{duration(r.runtime_ns)}</a> <span class={r.fits ? "soft" : "over"}>{bytes(r.peak_bytes)}{r.fits ? "" : ", too large"}</span>{list.length > 1 ? <span class="soft"> ({count(list.length)})</span> : null}</>;
	};
	return <Table caption="Best step by mesh and device" rows={meshes} keyOf={m => m} columns={[{ title: "Mesh", cell: m => m.replaceAll(",", " × ").replaceAll("=", " ") }, { title: "Devices", number: true, cell: m => count(sizeOf(m)) },
		...devices.map(d => ({ title: d, cell: (m: string) => best(m, d) }))]} />;
}

const sizeOf = (mesh: string): number => mesh.split(",").reduce((n, axis) => n * (Number(axis.split("=")[1]) || 1), 1);

/** How the best answer of each question came down with time: oldest first, what was no better is soft. */
function History({ rows }: { rows: StrategyRow[] }) {
	const best = new Map<string, number>();
	const list = [...rows].sort((a, b) => Date.parse(a.created) - Date.parse(b.created)).map(r => {
		const key = `${r.mesh} ${r.device} ${r.memory_limit_bytes} ${r.objective}`, before = best.get(key), better = before === undefined || r.runtime_ns < before;
		if (better) best.set(key, r.runtime_ns);
		return { r, before, better };
	});
	return <Table caption="History" rows={list.toReversed()} keyOf={x => x.r.id} columns={[{ title: "Found", cell: x => ago(x.r.created) }, { title: "Mesh and device", wide: true, cell: x => <a href={link(["strategies", x.r.id])}>{x.r.mesh.replaceAll(",", " × ").replaceAll("=", " ")} on {x.r.device}</a> },
		{ title: "Evaluations", number: true, cell: x => count(x.r.evaluations) }, { title: "Step", number: true, cell: x => duration(x.r.runtime_ns) },
		{ title: "Against the best before", number: true, cell: x => x.before === undefined ? <span class="soft">the first</span> : <span class={x.better ? "better" : "soft"}>{signed(`${((100 * (x.r.runtime_ns - x.before)) / x.before).toFixed(1)}%`, x.r.runtime_ns - x.before)}</span> },
		{ title: "Hits", number: true, cell: x => count(x.r.hits) }, { title: "Cost model", cell: x => <span class="soft">{x.r.cost_model}</span> }]} />;
}

export function ModuleView({ id }: { id: string }) {
	const { query } = useRoute();
	const { data: m, error } = useOnce<Module>(`/v1/modules/${id}`), siblings = useSiblings(m?.fingerprint ?? "");
	if (error) return <Problem>{error}</Problem>;
	if (!m) return <Waiting what="Loading the module" />;
	const rows = siblings.data?.strategies ?? [], chosen = (query.get("pick") ?? "").split(" ").filter(Boolean);
	return <article class="view">
		<header class="view-head"><div><Heading of={id}>{called(m.name, m.labels)}</Heading><p class="soft mono">{m.name} {id}</p><Labels key={id} module={m} /></div><div class="actions"><a class="button main" href={link(["ask"], { module: id })}>Ask for a strategy</a></div></header>
		<dl class="facts big"><Fact name="Arguments">{count(m.arguments)}</Fact><Fact name="Ops">{count(m.ops)}</Fact><Fact name="Text">{bytes(m.bytes)}</Fact><Fact name="Program" note="equal for texts that differ in names only">{short(m.fingerprint)}</Fact></dl>
		{rows.length > 1 ? <section class="card"><h2>Over meshes and devices</h2><Matrix rows={rows} /><Field rows={rows} /></section> : null}
		{rows.length > 1 ? <section class="card"><h2>History</h2><History rows={rows} /></section> : null}
		<section><h2>Strategies for this program</h2><CompareBar chosen={chosen} />{siblings.data ? <StrategyTable rows={rows} chosen={chosen} /> : siblings.error ? <Problem>{siblings.error}</Problem> : <Waiting what="Loading" />}</section>
	</article>;
}
