/** Communication by the line of the model that needs it, costliest first. */
import { bytes, count, duration, percent } from "./format";
import type { SourceCollective } from "./types";
import { Name, Table } from "./ui";

export function Collectives({ rows, total, brief }: { rows: SourceCollective[]; total: number; brief?: boolean }) {
	const sorted = [...rows].sort((a, b) => b.time_ns - a.time_ns), most = Math.max(1, ...sorted.map(r => r.time_ns));
	return <Table caption="Collectives by source line" rows={sorted} keyOf={(r, i) => `${r.kind} ${r.location} ${i}`} empty="The step communicates nothing." columns={[
		{ title: "Line", wide: true, cell: r => brief ? <Name text={r.location || r.op} /> : <span class="mono" title={r.op}>{r.location || r.op}</span> },
		{ title: "Kind", cell: r => <><span class={`kind ${r.kind}`}>{r.kind.replaceAll("_", " ")}</span>{r.windowed_einsum ? <span class="by"> in the contraction's loop</span> : null}</> },
		{ title: "Time of a step", number: true, cell: r => <span class="sized"><span class="fill link" style={{ width: `${(100 * r.time_ns) / most}%` }} /><span>{duration(r.time_ns)}</span></span> },
		{ title: "Share", number: true, cell: (r: SourceCollective) => percent(r.time_ns, total) },
		...(brief ? [] : [{ title: "Executions", number: true, cell: (r: SourceCollective) => count(r.executions) }, { title: "Bytes", number: true, cell: (r: SourceCollective) => bytes(r.bytes) }]),
	]} />;
}
