/** What was decided, in order: what each brought, what would be lost without it, what else could be decided. */
import { useOnce } from "./api";
import { bytes, count, duration, signed } from "./format";
import type { Action, Decision, Explanation, Strategy } from "./types";
import { Chips, Empty, Problem, Table, Waiting } from "./ui";

/** What an action is on, each with how many of it there are. */
export function targets(a: Action, s: Strategy): { name: string; count: number }[] {
	if (a.kind === "constrain") return [{ name: s.constraints[a.constraints?.[0] ?? -1]?.location ?? "an inner value", count: a.constraints?.length ?? 0 }];
	return a.targets;
}

/** Actions of one step are one decision, on a whole role: the first has what they bring together. */
export function steps(list: Action[]): { action: Action; at: number }[][] {
	const out: { action: Action; at: number }[][] = [];
	for (const [at, action] of list.entries()) {
		if (at && list[at - 1]!.step === action.step) out[out.length - 1]!.push({ action, at });
		else out.push([{ action, at }]);
	}
	return out;
}

const MOST_NAMES = 3;

/** What an action does, in words: shards a dimension of some arguments, or keeps them off an axis. */
export function What({ action: a, strategy }: { action: Action; strategy: Strategy }) {
	const list = targets(a, strategy), shown = list.slice(0, MOST_NAMES), rest = list.slice(MOST_NAMES).reduce((n, t) => n + t.count, 0), axes = strategy.mesh.axes.map(x => x.name);
	const names = <>{shown.map((t, i) => <span key={t.name}>{i ? ", " : ""}<span class="mono strong">{t.name}</span>{t.count > 1 ? <span class="soft"> ×{count(t.count)}</span> : null}</span>)}{rest ? <span class="soft"> and {count(rest)} more</span> : null}</>;
	const over = <Chips cuts={[[a.axis]]} axes={axes} />;
	if (a.kind === "replicate") return <>Keep {names} off {over}</>;
	return <>{a.kind === "constrain" ? "Constrain" : "Shard"} dimension {a.dimension} of {names} over {over}</>;
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
	const most = Math.max(1, ...strategy.actions.map(a => Math.abs(a.delta.runtime_ns)));
	if (!strategy.actions.length) return <Empty>Nothing was decided: the program stays whole on every device, or as a baseline has it.</Empty>;
	return <>
		{error ? <Problem>{error}</Problem> : data ? null : <Waiting what="A worker measures what each decision brings" />}
		<ol class="decisions">{steps(strategy.actions).map((parts, i) => {
			const first = parts[0]!.action;
			return <li key={i} class="card">
				<div class="decision">
					<span class="step" aria-hidden="true">{i + 1}</span>
					<p class="soft">by {first.tactic}</p>
					<div class="decision-change">
						<span class="diverge" aria-hidden="true"><span class={first.delta.runtime_ns <= 0 ? "better" : "worse"} style={{ width: `${(50 * Math.abs(first.delta.runtime_ns)) / most}%` }} /></span>
						<Change ns={first.delta.runtime_ns} size={first.delta.peak_bytes} />
					</div>
				</div>
				{parts.map(({ action, at }) => <div class="decision-part" key={at}>
					<p><What action={action} strategy={strategy} /></p>
					{data?.decisions[at] ? <Why d={data.decisions[at]} strategy={strategy} /> : null}
				</div>)}
			</li>;
		})}</ol>
	</>;
}
