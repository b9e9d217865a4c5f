/** The first look at a strategy: what limits the step, what takes memory, how it stands against the baselines, what to beware of. */
import { useMemo } from "preact/hooks";
import { useOnce } from "./api";
import { type Group, groupsOf } from "./fold";
import { bytes, count, duration, metric, times } from "./format";
import { link } from "./route";
import { limitsOf, readTrace } from "./trace";
import { TooLarge } from "./too_large";
import type { Explanation, Strategy, Trace } from "./types";
import { Figures } from "./verified";
import { Collectives } from "./collectives";
import { Fact, type Part, Problem, StackedBar, Waiting } from "./ui";

function Limits({ id, strategy }: { id: string; strategy: Strategy }) {
	const { data, error } = useOnce<Trace>(`/v1/strategies/${id}/timeline`);
	const limits = useMemo(() => data && limitsOf(readTrace(data)), [data]);
	const c = strategy.cost;
	if (error) return <Problem>{error}</Problem>;
	if (!limits) return <Waiting what="A worker simulates the step" />;
	const parts: Part[] = [
		{ name: "computing", value: limits.compute, kind: "k-compute", text: duration(limits.compute) },
		{ name: "waiting for memory", value: limits.memory, kind: "k-memory", text: duration(limits.memory) },
		{ name: "starting kernels", value: limits.launch, kind: "k-launch", text: duration(limits.launch) },
		...[...limits.links].map(([name, ns]) => ({ name: `waiting for ${name}`, value: ns, kind: "k-link", text: duration(ns) })),
	];
	const known = parts.reduce((n, p) => n + p.value, 0), rest = c.runtime_ns - known;
	if (rest > c.runtime_ns / 200) parts.push({ name: "other", value: rest, kind: "k-other", text: duration(rest) });
	const hidden = c.communication_ns - c.exposed_communication_ns;
	const most = parts.reduce((a, b) => (b.value > a.value ? b : a), parts[0]!);
	return <>
		<p class="lead">Most of the step is <b>{most.name}</b>.{hidden > 0 ? ` Another ${duration(hidden)} of communication runs beside the work.` : ""}</p>
		<StackedBar label="Where the step's time goes" parts={parts} whole={Math.max(known, c.runtime_ns)} />
	</>;
}

function Memory({ strategy }: { strategy: Strategy }) {
	const c = strategy.cost, limit = strategy.memory_limit_bytes, outputs = c.output_bytes - c.alias_bytes;
	const parts: Part[] = [
		{ name: "arguments", value: c.argument_bytes, kind: "k-arguments", text: bytes(c.argument_bytes) },
		{ name: "results not in place", value: outputs, kind: "k-outputs", text: bytes(outputs) },
		{ name: "temporary", value: c.temporary_bytes, kind: "k-temporary", text: bytes(c.temporary_bytes) },
	];
	if (strategy.fits) parts.push({ name: "free", value: limit - c.peak_bytes, kind: "k-free", text: bytes(limit - c.peak_bytes) });
	return <StackedBar label="Memory of a device at the peak" parts={parts} whole={Math.max(limit, c.peak_bytes)} />;
}

function Baselines({ strategy }: { strategy: Strategy }) {
	const c = strategy.cost, bound = strategy.search.bound;
	const rows = [{ name: "this strategy", ns: c.runtime_ns, peak: c.peak_bytes, fits: strategy.fits, kind: "own" },
		...strategy.baselines.map(b => ({ name: b.name, ns: b.cost.runtime_ns, peak: b.cost.peak_bytes, fits: b.fits, kind: "" })),
		...(bound ? [{ name: "no strategy below", ns: bound.runtime_ns, peak: bound.peak_bytes, fits: true, kind: "bound" }] : [])];
	const most = Math.max(...rows.map(r => r.ns));
	return <ul class="bars">{rows.map(r => <li key={r.name} class={r.kind}>
		<span class="bars-name">{r.name}</span>
		<span class="bars-track" aria-hidden="true"><span class="bars-fill" style={{ width: `${(100 * r.ns) / most}%` }} /></span>
		<span class="bars-value">{duration(r.ns)}</span>
		<span class="bars-note">{r.kind ? "" : times(r.ns, c.runtime_ns)}</span>
		<span class={`bars-peak ${r.fits ? "" : "over"}`}>{bytes(r.peak)}{r.fits ? "" : ", too large"}</span>
	</li>)}</ul>;
}

interface Warning { text: string; more?: string }

export function warnings(s: Strategy): Warning[] {
	const out: Warning[] = [];
	if (!s.fits) out.push({ text: `It does not fit: the peak is ${bytes(s.cost.peak_bytes)}, the limit ${bytes(s.memory_limit_bytes)}.` });
	if (s.search.interrupted) out.push({ text: "The search was ended early: this is the best until then." });
	for (const u of s.unsupported) out.push({ text: `${u.op} has no sharding rule: shardings stop there.`, more: `${count(u.count)} at ${u.location}, ${bytes(u.bytes)} of operands and results` });
	for (const u of s.runs_whole ?? []) out.push({ text: `${u.op} runs on whole operands, which are gathered around it.`, more: `${count(u.count)} at ${u.location}, ${bytes(u.bytes)}` });
	for (const u of s.cost.uncounted_loops ?? [])
		out.push(
			u.by === "bound"
				? { text: `The loop at ${u.location} counts ${count(u.trips)} times, the bound of its counter: it may end early.`, more: "trip_count in a request gives another number" }
				: u.trips > 1
					? { text: `The loop at ${u.location} counts ${count(u.trips)} times, as the request says.`, more: "" }
					: { text: `The loop at ${u.location} counts once: its trip count is not known.`, more: "trip_count in a request gives it" },
		);
	const whole = groupsOf(s).filter(g => g.cuts && !g.cuts.flat().length && g.local * g.count > s.memory_limit_bytes / 100);
	for (const g of whole) out.push({ text: `${g.name}${g.count > 1 ? ` (×${count(g.count)})` : ""} is whole on every device: ${bytes(g.local * g.count)} of each.` });
	if (!s.cost.alias_bytes && s.rows.some(a => a.role === "state"))
		out.push({ text: "Nothing is donated: parameters and optimizer state count twice.", more: "jax.jit(step, donate_argnums=..)" });
	return out;
}

/** search: what found it; "" where that is not known. */
export function Overview({ id, strategy, search }: { id: string; strategy: Strategy; search: string }) {
	const explained = useOnce<Explanation>(`/v1/strategies/${id}/explanation`);
	const list = useMemo(() => warnings(strategy), [strategy]);
	const largest = useMemo(() => groupsOf(strategy).reduce<Group | null>((best, g) => (best && best.local >= g.local ? best : g), null), [strategy]);
	return <div class="overview">
		{list.length ? <section class="card warn" aria-label="Warnings"><h2>Beware</h2><ul class="plain">{list.map((w, i) => <li key={i}>{w.text}{w.more ? <span class="soft"> {w.more}</span> : null}</li>)}</ul></section> : null}
		<TooLarge strategy={strategy} search={search} />
		<section class="card"><h2>What limits the step</h2><Limits id={id} strategy={strategy} /></section>
		<section class="card"><h2>Memory of a device at the peak</h2><Memory strategy={strategy} />
			{largest ? <p class="soft">Largest argument of a device: <a class="mono" href={link(["strategies", id], { tab: "arguments", arg: String(largest.first) })}>{largest.name}</a>, {bytes(largest.local)}{largest.count > 1 ? " each" : ""}</p> : null}</section>
		<section class="card"><h2>Against the baselines</h2><Baselines strategy={strategy} /></section>
		<section class="card brief"><h2>Costliest collectives</h2>
			{explained.error ? <Problem>{explained.error}</Problem> : explained.data ? <Collectives rows={explained.data.collectives.slice(0, 5)} total={strategy.cost.communication_ns} brief />
				: <Waiting what="A worker looks where the collectives come from" />}
			{explained.data && explained.data.collectives.length > 5 ? <p><a href={link(["strategies", id], { tab: "collectives" })}>All {count(explained.data.collectives.length)}</a></p> : null}</section>
		<Figures id={id} strategy={strategy} />
		<section class="card"><h2>Facts</h2><dl class="facts">
			<Fact name="Compute">{duration(strategy.cost.compute_ns)}</Fact><Fact name="Communication">{duration(strategy.cost.communication_ns)}</Fact>
			<Fact name="Of it exposed">{duration(strategy.cost.exposed_communication_ns)}</Fact><Fact name="Floating point work">{`${metric(strategy.cost.flops_per_device)}FLOP`}</Fact>
			<Fact name="Evaluations">{count(strategy.search.evaluations)}</Fact><Fact name="Replays">{count(strategy.search.replays)}</Fact><Fact name="Searched for">{`${strategy.search.seconds.toFixed(1)} s`}</Fact>
			<Fact name="Ops">{count(strategy.module.ops)}</Fact>
		</dl></section>
	</div>;
}
