/** What was decided, in order: what each brought, what would be lost without it, what else could be decided. */
import { useOnce } from "./api";
import { pattern } from "./fold";
import { bytes, count, duration, signed } from "./format";
import type { Action, Decision, Explanation, Strategy } from "./types";
import { Chips, Empty, Problem, Table, Waiting } from "./ui";

function target(a: Action, s: Strategy): string {
	if (a.kind === "constrain") return s.constraints[a.constraints?.[0] ?? -1]?.location ?? "an inner value";
	const first = s.arguments[a.members[0] ?? -1]?.name ?? "?";
	return a.members.length > 1 ? pattern(first) : first;
}

function Change({ ns, size }: { ns: number; size: number }) {
	return <span class="change"><b class={ns < 0 ? "better" : ns > 0 ? "worse" : ""}>{signed(duration(ns), ns)}</b> <b class={size < 0 ? "better" : size > 0 ? "worse" : ""}>{signed(bytes(size), size)}</b></span>;
}

function Why({ d, strategy }: { d: Decision; strategy: Strategy }) {
	const c = strategy.cost;
	const what = (a: Decision["alternatives"][number]) => a.kind === "replicate" ? (a.axis ? `keep off ${a.axis}` : "keep whole") : `shard dim ${a.dimension} over ${a.axis}`;
	return <details>
		<summary>Without it <Change ns={d.without.runtime_ns - c.runtime_ns} size={d.without.peak_bytes - c.peak_bytes} />{d.without.fits ? null : <b class="over"> would not fit</b>}</summary>
		{d.names.length > 1 ? <p class="soft">Decides {d.names.map((n, i) => <span key={n}>{i ? ", " : ""}<span class="mono">{n}</span></span>)}</p> : null}
		<div class="two">
			<div><h4>What else could be decided</h4><Table caption="Alternatives" rows={d.alternatives} keyOf={(_, i) => i} empty="Nothing else was tried." columns={[
				{ title: "Instead", cell: what },
				{ title: "Step", number: true, cell: a => signed(duration(a.runtime_ns - c.runtime_ns), a.runtime_ns - c.runtime_ns) },
				{ title: "Peak", number: true, cell: a => <span class={a.fits ? "" : "over"}>{signed(bytes(a.peak_bytes - c.peak_bytes), a.peak_bytes - c.peak_bytes)}{a.fits ? "" : ", too large"}</span> },
			]} /></div>
			<div><h4>Collectives without it</h4><Table caption="Collectives that change without it" rows={d.without.collectives} keyOf={(_, i) => i} empty="The same." columns={[
				{ title: "Line", wide: true, cell: r => <span class="mono">{r.location}</span> },
				{ title: "Kind", cell: r => r.kind.replaceAll("_", " ") },
				{ title: "Executions", number: true, cell: r => signed(count(r.executions), r.executions) },
				{ title: "Time", number: true, cell: r => signed(duration(r.time_ns), r.time_ns) },
			]} /></div>
		</div>
	</details>;
}

export function Decisions({ id, strategy }: { id: string; strategy: Strategy }) {
	const { data, error } = useOnce<Explanation>(`/v1/strategies/${id}/explanation`);
	const axes = strategy.mesh.axes.map(a => a.name), most = Math.max(1, ...strategy.actions.map(a => Math.abs(a.delta.runtime_ns)));
	if (!strategy.actions.length) return <Empty>Nothing was decided: the program stays whole on every device, or as a baseline has it.</Empty>;
	return <>
		{error ? <Problem>{error}</Problem> : data ? null : <Waiting what="A worker measures what each decision brings" />}
		<ol class="decisions">{strategy.actions.map((a, i) => {
			const n = a.kind === "constrain" ? a.constraints?.length ?? 0 : a.members.length, d = data?.decisions[i];
			return <li key={i} class="card">
				<div class="decision">
					<span class="step" aria-hidden="true">{i + 1}</span>
					<div class="decision-what">
						<p>{a.kind === "replicate" ? "Keep" : a.kind === "constrain" ? "Constrain" : "Shard"} {a.kind === "replicate" ? null : <>dimension {a.dimension} of </>}<span class="mono strong">{target(a, strategy)}</span>{n > 1 ? <span class="soft"> and {count(n - 1)} more</span> : null} {a.kind === "replicate" ? "off" : "over"} <Chips cuts={[[a.axis]]} axes={axes} /></p>
						<p class="soft">by {a.tactic}</p>
					</div>
					<div class="decision-change">
						<span class="diverge" aria-hidden="true"><span class={a.delta.runtime_ns <= 0 ? "better" : "worse"} style={{ width: `${(50 * Math.abs(a.delta.runtime_ns)) / most}%` }} /></span>
						<Change ns={a.delta.runtime_ns} size={a.delta.peak_bytes} />
					</div>
				</div>
				{d ? <Why d={d} strategy={strategy} /> : null}
			</li>;
		})}</ol>
	</>;
}
