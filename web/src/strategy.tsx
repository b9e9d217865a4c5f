/** A strategy, to be understood. */
import { useMemo, useState } from "preact/hooks";
import { download, save, send, useOnce, usePolled } from "./api";
import { Arguments } from "./arguments";
import { Collectives } from "./collectives";
import { Decisions, steps } from "./decisions";
import { bytes, count, duration, short, times } from "./format";
import { Named, called } from "./labels";
import { useStrategy } from "./outline";
import { Overview } from "./overview";
import { amend, link, useRoute } from "./route";
import { TimelineView } from "./timeline";
import type { Explanation, Strategy, StrategyRow } from "./types";
import { Fact, Heading, Problem, Tabs, Waiting } from "./ui";

/** The strategies for one program, newest first. */
export const useSiblings = (fingerprint: string) => usePolled<{ strategies: StrategyRow[] }>(fingerprint ? `/v1/strategies?page_size=200&module=${fingerprint}` : "", () => false);

const NOTATIONS: [string, string][] = [["JAX", "jax"], ["PyTorch", "dtensor"], ["MindSpore", "mindspore"], ["OneFlow", "sbp"], ["Shardy", "sdy"], ["GSPMD", "gspmd"]];

function Downloads({ id, name }: { id: string; name: string }) {
	const files: [string, string, string][] = [
		["Strategy", `/v1/strategies/${id}`, `${name}.strategy.json`],
		["Module with it", `/v1/strategies/${id}.mlir`, `${name}.mlir`],
		["Module, annotated", `/v1/strategies/${id}.mlir?apply=annotate`, `${name}.annotated.mlir`],
		["Module, exact", `/v1/strategies/${id}.mlir?apply=exact`, `${name}.exact.mlir`],
		["Trace for Perfetto", `/v1/strategies/${id}/timeline`, `${name}.trace.json`],
		["Explanation", `/v1/strategies/${id}/explanation`, `${name}.explanation.json`],
	];
	const [said, say] = useState("");
	/** Where the browser gives no clipboard (no TLS, not this machine), it is a file. */
	const copy = async (title: string, notation: string) => {
		try {
			const text = await (await send(`/v1/strategies/${id}/shardings?to=${notation}`)).text();
			if (navigator.clipboard) await navigator.clipboard.writeText(text);
			else save(new Blob([text]), `${name}.${notation}.txt`);
			say(navigator.clipboard ? `Copied for ${title}` : `Saved for ${title}`);
		} catch (e) { say((e as Error).message); }
	};
	return <details class="menu"><summary>Download</summary><div class="menu-list">
		{files.map(([title, path, file]) => <button type="button" key={title} onClick={e => {
			const button = e.currentTarget;
			button.disabled = true;
			say("");
			download(path, file).catch(error => say(error.message)).finally(() => { button.disabled = false; });
		}}>{title}</button>)}
		<p class="menu-head">Shardings, to paste</p>
		{NOTATIONS.map(([title, notation]) => <button type="button" key={notation} onClick={() => copy(title, notation)}><span class="hidden">Copy for </span>{title}</button>)}
		{said ? <p class="soft" role="status">{said}</p> : null}
	</div></details>;
}

function CompareWith({ id, fingerprint }: { id: string; fingerprint: string }) {
	const { data } = useSiblings(fingerprint);
	const others = (data?.strategies ?? []).filter(s => s.id !== id);
	if (!others.length) return null;
	return <label class="inline">Compare with <select value="" onChange={e => { location.hash = link(["compare", id, e.currentTarget.value]); }}>
		<option value="">…</option>{others.map(s => <option key={s.id} value={s.id}>{s.mesh} {s.device} {duration(s.runtime_ns)} {bytes(s.peak_bytes)} ({short(s.id)})</option>)}</select></label>;
}

export function Summary({ strategy }: { strategy: Strategy }) {
	const c = strategy.cost, rivals = strategy.baselines.filter(b => b.fits || !strategy.fits), best = rivals.reduce<Strategy["baselines"][number] | null>((a, b) => (a && a.cost.runtime_ns <= b.cost.runtime_ns ? a : b), null);
	const devices = strategy.mesh.axes.reduce((n, a) => n * a.size, 1);
	return <dl class="facts big">
		<Fact name="Step" note={best ? `${times(best.cost.runtime_ns, c.runtime_ns)} as fast as ${best.name}` : "no baseline fits"}>{duration(c.runtime_ns)}</Fact>
		<Fact name="Peak of a device" note={`${strategy.fits ? "fits" : "does not fit"} ${bytes(strategy.memory_limit_bytes)}`}><span class={strategy.fits ? "fits" : "over"}>{bytes(c.peak_bytes)}</span></Fact>
		<Fact name="Exposed communication" note={`of ${duration(c.communication_ns)}`}>{duration(c.exposed_communication_ns)}</Fact>
		<Fact name="Mesh" note={`${count(devices)} × ${strategy.device}`}>{strategy.mesh.axes.map((a, i) => <span key={a.name} class="chip"><span class={`seg axis${i % 6}`}>{a.name} {a.size}</span></span>)}</Fact>
	</dl>;
}

export function StrategyView({ id }: { id: string }) {
	const { data, error } = useStrategy(id);
	const { query } = useRoute();
	const tab = query.get("tab") ?? "overview";
	const explained = useOnce<Explanation>(tab === "collectives" ? `/v1/strategies/${id}/explanation` : "");
	const siblings = useSiblings(data?.module.fingerprint ?? "");
	const row = useMemo(() => siblings.data?.strategies.find(s => s.id === id), [siblings.data, id]);
	if (error) return <Problem>{error}</Problem>;
	if (!data) return <Waiting what="Loading the strategy" />;
	return <article class="view">
		<header class="view-head">
			<div><Heading of={id}>{called(data.module.name, row?.labels ?? [])}</Heading>
				<p class="soft">strategy {short(id)}, applied {data.apply === "exact" ? "exactly" : "by annotations"}{row ? <>, <a href={link(["modules", row.module])}>module</a>, <a href={link(["searches", row.search])}>search</a>, <a href={link(["ask"], { module: row.module, mesh: row.mesh, device: row.device })}>ask again</a> <Named labels={row.labels.slice(1)} tags={row.tags} /></> : null}</p></div>
			<div class="actions"><CompareWith id={id} fingerprint={data.module.fingerprint} /><Downloads id={id} name={data.module.name || "module"} /></div>
		</header>
		<Summary strategy={data} />
		<Tabs at={tab} onTab={t => amend({ tab: t === "overview" ? "" : t }, true)} tabs={[{ id: "overview", title: "Overview" },
			{ id: "arguments", title: "Arguments", note: count(data.module.arguments) }, { id: "decisions", title: "Decisions", note: count(steps(data.actions).length) },
			{ id: "collectives", title: "Collectives" }, { id: "timeline", title: "Timeline" }]}>
			{tab === "arguments" ? <Arguments id={id} strategy={data} query={query} />
				: tab === "decisions" ? <Decisions id={id} strategy={data} />
				: tab === "collectives" ? (explained.error ? <Problem>{explained.error}</Problem> : explained.data ? <Collectives rows={explained.data.collectives} total={data.cost.communication_ns} /> : <Waiting what="A worker looks where the collectives come from" />)
				: tab === "timeline" ? <TimelineView id={id} strategy={data} />
				: <Overview id={id} strategy={data} search={row?.search ?? ""} />}
		</Tabs>
	</article>;
}
