/** What is known of a strategy's step: predicted here, found by a compiler, measured on machines. */
import type { ComponentChildren } from "preact";
import { usePolled } from "./api";
import { bytes, count, duration, times } from "./format";
import type { Measurement, Strategy, VerifiedRow } from "./types";
import { Problem, Table } from "./ui";

type Figured = Pick<Strategy, "cost" | "memory_limit_bytes" | "fits" | "device" | "apply">;

export interface Row { source: string; by: string; step: number | null; peak: number | null; fits: boolean; chosen: boolean; note: string }

const compiled = (r: VerifiedRow): string => `${r.compiler} ${r.version}`.trim();

/** The rows that are of the strategy itself: it was planned, or it is what the compiler chose. */
const isOf = (r: VerifiedRow, id: string, s: Figured): boolean => (r.strategy ? r.strategy === id : r.plan === "this plan" && r.apply === s.apply);

/** All that is known of a strategy, and what a compiler found for other plans of its question. strategy null: nothing is asked yet. */
export function useFigures(id: string, strategy: Figured | null): { rows: Row[]; others: VerifiedRow[]; asked: boolean; error: string } {
	const { data, error } = usePolled<{ verifications: VerifiedRow[] }>(`/v1/strategies/${id}/verifications`, () => false);
	const measurements = usePolled<{ measurements: Measurement[] }>(`/v1/strategies/${id}/measurements`, () => false);
	const measured = measurements.data?.measurements ?? [], found = data?.verifications ?? [];
	if (!strategy) return { rows: [], others: [], asked: false, error: error || measurements.error };
	const c = strategy.cost, limit = strategy.memory_limit_bytes;
	const rows: Row[] = [{ source: "predicted", by: "the cost model", step: c.runtime_ns, peak: c.peak_bytes, fits: strategy.fits, chosen: false, note: "" },
		...found.filter(r => isOf(r, id, strategy)).map(r => ({ source: "verified", by: compiled(r), step: r.runtime_ns, peak: r.peak_bytes, fits: r.fits, chosen: r.chosen, note: r.reason ?? (r.source === "compiled" ? "" : r.source) })),
		...measured.map(m => ({ source: "measured", by: [m.hardware, m.compiler].filter(Boolean).join(", ") || "a machine", step: m.step_ns, peak: m.peak_bytes, fits: (m.peak_bytes ?? 0) <= limit, chosen: false, note: [m.device === strategy.device ? "" : `as ${m.device}`, m.steps ? `of ${count(m.steps)} steps` : ""].filter(Boolean).join(", ") }))];
	return { rows, others: found.filter(r => !isOf(r, id, strategy)), asked: !data || found.length > 0, error: error || measurements.error };
}

export function Figures({ id, strategy }: { id: string; strategy: Strategy }) {
	const { rows, others, asked, error } = useFigures(id, strategy), c = strategy.cost;
	const most = Math.max(1, ...rows.map(r => r.step ?? 0));
	return <section class="card figures"><h2>Predicted, verified, measured</h2>
		{error ? <Problem>{error}</Problem> : null}
		<Table caption="Figures of the step" rows={rows} keyOf={(_, i) => i} columns={[
			{ title: "Figure", cell: r => <><b>{r.source}</b>{r.chosen ? <span class="by">chosen</span> : null}</> }, { title: "By", wide: true, cell: r => <>{r.by}{r.note ? <span class="soft"> {r.note}</span> : null}</> },
			{ title: "Step", number: true, cell: r => r.step === null ? "–" : <span class="sized"><span class="fill" style={{ width: `${(100 * r.step) / most}%` }} /><span>{duration(r.step)}</span></span> },
			{ title: "Of predicted", number: true, cell: r => r.source === "predicted" ? "" : r.step === null ? "–" : times(r.step, c.runtime_ns) },
			{ title: "Peak", number: true, cell: r => r.peak === null ? "–" : <span class={r.fits ? "" : "over"}>{bytes(r.peak)}</span> },
			{ title: "Of predicted peak", number: true, cell: r => r.source === "predicted" || r.peak === null ? "" : times(r.peak, c.peak_bytes) },
		]} />
		{asked ? null : <p class="soft">No compiler was asked: a search with programs to verify, and a verifier, would add a line.</p>}
		{others.length ? <details><summary>What else was compiled for the question</summary><Table caption="Other programs" rows={others} keyOf={(_, i) => i} columns={[
			{ title: "Plan", wide: true, cell: r => <>{r.plan}, {r.apply === "exact" ? "exact" : "annotated"}{r.chosen ? <span class="by">chosen</span> : null}</> }, { title: "By", cell: compiled },
			{ title: "Predicted", number: true, cell: r => (r.predicted_runtime_ns === null ? "–" : duration(r.predicted_runtime_ns)) },
			{ title: "Verified", number: true, cell: r => r.runtime_ns === null ? <span class="over">{r.reason ?? "nothing"}</span> : duration(r.runtime_ns) },
			{ title: "Peak", number: true, cell: r => (r.peak_bytes === null ? "–" : <span class={r.fits ? "" : "over"}>{bytes(r.peak_bytes)}</span>) },
		]} /></details> : null}
	</section>;
}

interface Pair { source: string; by: string; a: Row | null; b: Row | null }

/** The same source and the same teller on both sides are one line: the last figure of each. */
function pairs(a: Row[], b: Row[]): Pair[] {
	const out = new Map<string, Pair>();
	for (const [side, list] of [["a", a], ["b", b]] as const)
		for (const r of list) {
			const key = `${r.source}\0${r.by}`, pair = out.get(key) ?? { source: r.source, by: r.by, a: null, b: null };
			pair[side] = r;
			out.set(key, pair);
		}
	const order = ["predicted", "verified", "measured"];
	return [...out.values()].sort((x, y) => order.indexOf(x.source) - order.indexOf(y.source));
}

/** What is known of both: change shows a difference. */
export function FiguresOfTwo({ ids, strategies, change }: { ids: [string, string]; strategies: [Figured, Figured]; change: (x: number, y: number, f: (n: number) => string) => ComponentChildren }) {
	const a = useFigures(ids[0], strategies[0]), b = useFigures(ids[1], strategies[1]), error = a.error || b.error, rows = pairs(a.rows, b.rows);
	const step = (r: Row | null) => !r ? <span class="soft">–</span> : r.step === null ? <span class="over">{r.note || "nothing"}</span> : <>{duration(r.step)}{r.chosen ? <span class="by">chosen</span> : null}</>;
	const peak = (r: Row | null) => r?.peak == null ? <span class="soft">–</span> : <span class={r.fits ? "" : "over"}>{bytes(r.peak)}</span>;
	const note = (p: Pair) => [...new Set([p.a?.note, p.b?.note].filter(Boolean))].join(" and ");
	return <section class="card figures"><h2>Predicted, verified, measured</h2>
		{error ? <Problem>{error}</Problem> : null}
		<Table caption="Figures of both" rows={rows} keyOf={p => `${p.source} ${p.by}`} columns={[
			{ title: "Figure", cell: p => <b>{p.source}</b> }, { title: "By", wide: true, cell: p => <>{p.by}{note(p) ? <span class="soft"> {note(p)}</span> : null}</> },
			{ title: "Step of A", number: true, cell: p => step(p.a) }, { title: "Step of B", number: true, cell: p => step(p.b) },
			{ title: "B less A", number: true, cell: p => p.a?.step == null || p.b?.step == null ? <span class="soft">–</span> : change(p.a.step, p.b.step, duration) },
			{ title: "Peak of A", number: true, cell: p => peak(p.a) }, { title: "Peak of B", number: true, cell: p => peak(p.b) },
		]} />
		{error || rows.some(p => p.source !== "predicted") ? null : <p class="soft">No compiler was asked and nothing was measured for either: <code>verify</code> in a search, or a measurement of a strategy, would add a line.</p>}
	</section>;
}
