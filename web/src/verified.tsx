/** What is known of a strategy's step: predicted here, found by a compiler, measured on machines. */
import { usePolled } from "./api";
import { bytes, count, duration, times } from "./format";
import type { Measurement, Strategy, VerifiedRow } from "./types";
import { Problem, Table } from "./ui";

interface Row { source: string; by: string; step: number | null; peak: number | null; fits: boolean; chosen: boolean; note: string }

const compiled = (r: VerifiedRow): string => `${r.compiler} ${r.version}`.trim();

/** The rows that are of the strategy itself: it was planned, or it is what the compiler chose. */
const isOf = (r: VerifiedRow, id: string, s: Strategy): boolean => (r.strategy ? r.strategy === id : r.plan === "this plan" && r.apply === s.apply);

export function Figures({ id, strategy }: { id: string; strategy: Strategy }) {
	const { data, error } = usePolled<{ verifications: VerifiedRow[] }>(`/v1/strategies/${id}/verifications`, () => false);
	const measurements = usePolled<{ measurements: Measurement[] }>(`/v1/strategies/${id}/measurements`, () => false);
	const measured = measurements.data?.measurements ?? [], found = data?.verifications ?? [], others = found.filter(r => !isOf(r, id, strategy));
	const c = strategy.cost, limit = strategy.memory_limit_bytes;
	const rows: Row[] = [{ source: "predicted", by: "the cost model", step: c.runtime_ns, peak: c.peak_bytes, fits: strategy.fits, chosen: false, note: "" },
		...found.filter(r => isOf(r, id, strategy)).map(r => ({ source: "verified", by: compiled(r), step: r.runtime_ns, peak: r.peak_bytes, fits: r.fits, chosen: r.chosen, note: r.reason ?? (r.source === "compiled" ? "" : r.source) })),
		...measured.map(m => ({ source: "measured", by: [m.hardware, m.compiler].filter(Boolean).join(", ") || "a machine", step: m.step_ns, peak: m.peak_bytes, fits: (m.peak_bytes ?? 0) <= limit, chosen: false, note: [m.device === strategy.device ? "" : `as ${m.device}`, m.steps ? `of ${count(m.steps)} steps` : ""].filter(Boolean).join(", ") }))];
	const most = Math.max(1, ...rows.map(r => r.step ?? 0));
	return <section class="card figures"><h2>Predicted, verified, measured</h2>
		{error || measurements.error ? <Problem>{error || measurements.error}</Problem> : null}
		<Table caption="Figures of the step" rows={rows} keyOf={(_, i) => i} columns={[
			{ title: "Figure", cell: r => <><b>{r.source}</b>{r.chosen ? <span class="by">chosen</span> : null}</> }, { title: "By", wide: true, cell: r => <>{r.by}{r.note ? <span class="soft"> {r.note}</span> : null}</> },
			{ title: "Step", number: true, cell: r => r.step === null ? "–" : <span class="sized"><span class="fill" style={{ width: `${(100 * r.step) / most}%` }} /><span>{duration(r.step)}</span></span> },
			{ title: "Of predicted", number: true, cell: r => r.source === "predicted" ? "" : r.step === null ? "–" : times(r.step, c.runtime_ns) },
			{ title: "Peak", number: true, cell: r => r.peak === null ? "–" : <span class={r.fits ? "" : "over"}>{bytes(r.peak)}</span> },
			{ title: "Of predicted peak", number: true, cell: r => r.source === "predicted" || r.peak === null ? "" : times(r.peak, c.peak_bytes) },
		]} />
		{found.length ? null : <p class="soft">No compiler was asked: a search with programs to verify, and a verifier, would add a line.</p>}
		{others.length ? <details><summary>What else was compiled for the question</summary><Table caption="Other programs" rows={others} keyOf={(_, i) => i} columns={[
			{ title: "Plan", wide: true, cell: r => <>{r.plan}, {r.apply === "exact" ? "exact" : "annotated"}{r.chosen ? <span class="by">chosen</span> : null}</> }, { title: "By", cell: compiled },
			{ title: "Predicted", number: true, cell: r => (r.predicted_runtime_ns === null ? "–" : duration(r.predicted_runtime_ns)) },
			{ title: "Verified", number: true, cell: r => r.runtime_ns === null ? <span class="over">{r.reason ?? "nothing"}</span> : duration(r.runtime_ns) },
			{ title: "Peak", number: true, cell: r => (r.peak_bytes === null ? "–" : <span class={r.fits ? "" : "over"}>{bytes(r.peak_bytes)}</span>) },
		]} /></details> : null}
	</section>;
}
