/** A search while it runs: the best so far against the baselines, what is spent of the budget, and a way to end it. */
import { useEffect, useMemo, useState } from "preact/hooks";
import uPlot from "uplot";
import { ask, follow, post } from "./api";
import { questionOf } from "./ask";
import { bytes, count, duration, short } from "./format";
import { State } from "./home";
import { Named } from "./labels";
import { useStrategy } from "./outline";
import { Plot, axis, color } from "./plot";
import { onReturn } from "./presence";
import { link } from "./route";
import { SearchTree } from "./tree";
import type { Baseline, Incumbent, Progress, Search, Strategy, TreeNode } from "./types";
import { Empty, Fact, Heading, Problem, Table, Waiting } from "./ui";

const FINAL = ["succeeded", "failed", "canceled"];

function useSearch(id: string) {
	const [search, setSearch] = useState<Search | null>(null), [error, setError] = useState(""), [best, setBest] = useState<Incumbent[]>([]), [progress, setProgress] = useState<Progress>({ evaluation: 0, seconds: 0 });
	const [tree, setTree] = useState<TreeNode[]>([]), [baselines, setBaselines] = useState<Baseline[]>([]);
	const [turn, again] = useState(0);
	useEffect(() => error ? onReturn(() => again(n => n + 1)) : undefined, [error]);
	useEffect(() => {
		const control = new AbortController();
		const load = () => ask<Search>(`/v1/searches/${id}`).then(s => { if (!control.signal.aborted) setSearch(s); });
		setSearch(null); setBest([]); setError(""); setProgress({ evaluation: 0, seconds: 0 }); setTree([]); setBaselines([]);
		load().then(() => follow(`/v1/searches/${id}/events`, control.signal, (kind, data) => {
			if (kind === "incumbent") setBest(list => [...list, data as Incumbent]);
			if (kind === "incumbent" || kind === "progress") setProgress(data as Progress);
			const told = data as Progress;
			if (told.tree?.length) setTree(told.tree);
			if (told.baselines) setBaselines(told.baselines);
			if (kind === "state") load();
		})).then(load).catch(e => control.signal.aborted || setError(e.message));
		return () => control.abort();
	}, [id, turn]);
	const verifies = search !== null && FINAL.includes(search.state) && ["queued", "running"].includes(search.verification?.state ?? "");
	useEffect(() => {
		if (!verifies) return;
		const timer = setInterval(() => { if (!document.hidden) ask<Search>(`/v1/searches/${id}`).then(setSearch, () => {}); }, 3000);
		return () => clearInterval(timer);
	}, [id, verifies]);
	return { search, error, best, progress, tree, baselines };
}

function Curve({ best, progress, document, told }: { best: Incumbent[]; progress: Progress; document: Strategy | null; told: Baseline[] }) {
	/* Those of the document are as it is applied. */
	const baselines = useMemo(() => document ? document.baselines.map(b => ({ name: b.name, runtime_ns: b.cost.runtime_ns })) : told, [document, told]), bound = document?.search.bound?.runtime_ns;
	const last = Math.max(progress.seconds, best[best.length - 1]?.seconds ?? 0, 0.001);
	const data = useMemo(() => {
		const x = best.map(b => b.seconds), y = best.map(b => b.runtime_ns);
		if (x.length && last > x[x.length - 1]!) { x.push(last); y.push(y[y.length - 1]!); }
		return [x, y, ...baselines.map(b => x.map(() => b.runtime_ns)), ...(bound ? [x.map(() => bound)] : [])] as uPlot.AlignedData;
	}, [best, last, baselines, bound]);
	const lines = [...baselines.map(b => ({ name: b.name, ns: b.runtime_ns })), ...(bound ? [{ name: "no strategy below", ns: bound }] : [])];
	const first = best[0], now = best[best.length - 1];
	const label = first && now ? `Best step time: from ${duration(first.runtime_ns)} to ${duration(now.runtime_ns)} in ${count(best.length)} steps` : "Best step time";
	return <Plot label={label} height={300} keep={lines.map(l => l.name).join()} data={data} options={() => ({
		scales: { x: { time: false }, y: { distr: 3 } }, cursor: { drag: { x: true, y: false } },
		axes: [axis(v => `${v} s`, "time of the search", 44), axis(duration, "step time", 70)],
		series: [{ label: "after", value: (_, v) => `${(v ?? last).toFixed(2)} s` },
			{ label: "best so far", stroke: color("--accent"), width: 2.5, paths: uPlot.paths.stepped!({ align: 1 }), points: { show: true, size: 6, fill: color("--accent") }, value: (_, v) => (v || now ? duration(v ?? now!.runtime_ns) : "") },
			...lines.map((l, i) => ({ label: l.name, stroke: color(`--line${i % 6}`), dash: [6, 4], width: 1.5, points: { show: false }, value: () => duration(l.ns) }))],
	})} />;
}

function Budget({ search: s, progress }: { search: Search; progress: Progress }) {
	const [, tick] = useState(0), running = s.state === "running";
	useEffect(() => {
		if (!running) return;
		const timer = setInterval(() => tick(n => n + 1), 500);
		return () => clearInterval(timer);
	}, [running]);
	const spent = s.started ? ((s.ended ? Date.parse(s.ended) : Date.now()) - Date.parse(s.started)) / 1000 : 0, evaluations = Math.max(s.evaluations, progress.evaluation);
	const seconds = s.request?.seconds, most = s.request?.evaluations;
	const share = seconds ? spent / seconds : most ? evaluations / most : 0;
	const left = seconds ? seconds - spent : most && evaluations ? (spent / evaluations) * (most - evaluations) : 0;
	return <>
		<Fact name="Evaluations" note={most ? `of ${count(most)}` : ""}>{count(evaluations)}</Fact>
		<Fact name="Time" note={running && left > 0 ? `about ${left.toFixed(0)} s left` : seconds ? `of ${seconds} s` : s.budget === "default" ? "default budget" : ""}>{`${spent.toFixed(1)} s`}
			{share && running ? <progress aria-label="Budget spent" max={1} value={Math.min(1, share)} /> : null}</Fact>
	</>;
}

export function WatchView({ id }: { id: string }) {
	const { search: s, error, best, progress, tree, baselines } = useSearch(id);
	const [refused, setRefused] = useState("");
	const document = useStrategy(s?.strategy ?? "");
	/** The stream drops what came too quickly; the document has all. */
	const all = document.data && document.data.search.incumbents.length >= best.length ? document.data.search.incumbents : best;
	if (error && !s) return <Problem>{error}</Problem>;
	if (!s) return <Waiting what="Loading the search" />;
	const now = best[best.length - 1] ?? s.best, done = FINAL.includes(s.state), device = s.device === "default" ? "" : s.device;
	return <article class="view">
		<header class="view-head"><div><Heading of={id}>Search {short(id)}</Heading><p class="soft">{s.mesh.replaceAll(",", " × ").replaceAll("=", " ")} of {device || "the default device"}, <a href={link(["modules", s.module])}>module {s.labels[0] ?? short(s.module)}</a> <Named labels={s.labels.slice(1)} tags={s.tags} /></p></div>
			<div class="actions">{s.strategy ? <a class="button main" href={link(["strategies", s.strategy])}>See the strategy</a> : null}
				{done ? <a class="button" href={link(["ask"], questionOf(s))}>{s.state === "failed" ? "Change the question" : "Ask again"}</a>
					: <button type="button" disabled={s.canceling} onClick={() => post(`/v1/searches/${id}/cancel`, {}).catch(e => setRefused(e.message))}>Cancel, keep the best</button>}</div></header>
		{error ? <Problem>{error}</Problem> : null}{refused ? <Problem>{refused}</Problem> : null}{s.error ? <Problem>{s.error.detail}</Problem> : null}
		<dl class="facts big"><Fact name="State"><State search={s} /></Fact>
			<Fact name="Best step">{now ? duration(now.runtime_ns) : "–"}</Fact><Fact name="Peak of a device" note={now ? (now.fits ? "fits" : s.strategy ? <a href={link(["strategies", s.strategy])}>does not fit: what would</a> : "does not fit") : ""}>{now ? <span class={now.fits ? "fits" : "over"}>{bytes(now.peak_bytes)}</span> : "–"}</Fact>
			<Budget search={s} progress={progress} />
			{s.verification ? <Fact name="Verification" note={s.verification.error ?? (s.verification.best ? `${s.verification.best.plan}: ${s.verification.best.runtime_ns === null ? "no time" : duration(s.verification.best.runtime_ns)} by ${s.verification.best.compiler}` : `${count(s.verification.plans)} programs`)}>{s.verification.state}</Fact> : null}</dl>
		<section class="card"><h2>Best so far{document.data || baselines.length ? ", against the baselines" : ""}</h2>
			{all.length ? <Curve best={all} progress={progress} document={document.data} told={baselines} /> : done ? <p class="empty">No improvement was reported.</p> : <Waiting what={s.state === "queued" ? "It waits for a free worker" : "The first strategies are being costed"} />}
			{all.length ? <details><summary>As a table</summary><Table caption="Incumbents" rows={all} keyOf={(_, i) => i} columns={[{ title: "After", number: true, cell: b => `${b.seconds.toFixed(2)} s` }, { title: "Evaluation", number: true, cell: b => count(b.evaluation) },
				{ title: "Step", number: true, cell: b => duration(b.runtime_ns) }, { title: "Peak", number: true, cell: b => bytes(b.peak_bytes) }]} /></details> : null}
		</section>
		<section class="card"><h2>What the search tries</h2>
			{tree.length ? <>
				<p class="soft lead">A Monte Carlo tree over tactics. Each row adds one to the row above it: which axes work together, what an axis cuts, how state is cut. Evaluations go where the best plans are expected.</p>
				<SearchTree tree={tree} />
			</> : done ? <Empty>No tree was reported: the answer was there before, or the schedule leaves nothing to search.</Empty> : <Waiting what={s.state === "queued" ? "It waits for a free worker" : "Tactics are being looked for, an axis at a time"} />}
		</section>
	</article>;
}
