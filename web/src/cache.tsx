/** The answers that the store keeps, and how often they were given without a search. */
import { useEffect, useState } from "preact/hooks";
import { ask, send, usePolled } from "./api";
import { ago, bytes, count, duration, percent, short } from "./format";
import { Named, called } from "./labels";
import { amend, link, useRoute } from "./route";
import type { StrategyRow } from "./types";
import { type Column, Fact, Heading, Problem, Table, Waiting } from "./ui";

interface Page { strategies: StrategyRow[]; next_page?: string | null }

const PAGE = 200;

/** The newest page is asked again now and then; older ones are added by hand. */
function usePages(): { rows: StrategyRow[]; more: (() => void) | null; error: string; loaded: boolean } {
	const first = usePolled<Page>(`/v1/strategies?page_size=${PAGE}`, () => false), [older, setOlder] = useState<Page[]>([]), [error, setError] = useState("");
	const next = (older[older.length - 1] ?? first.data)?.next_page, seen = new Set<string>();
	const rows = [first.data, ...older].flatMap(p => p?.strategies ?? []).filter(s => !seen.has(s.id) && seen.add(s.id));
	const more = next ? () => { ask<Page>(`/v1/strategies?page_size=${PAGE}&page_token=${encodeURIComponent(next)}`).then(p => setOlder(list => [...list, p]), e => setError(e.message)); } : null;
	return { rows, more, error: first.error || error, loaded: first.data !== null };
}

/** Counters of the daemon since it was started. */
function useCounters(): Map<string, number> {
	const [counters, set] = useState<Map<string, number>>(new Map());
	useEffect(() => {
		let gone = false;
		const read = () => send("/metrics").then(r => r.text()).then(text => { if (!gone) set(new Map([...text.matchAll(/^shardwright_(\w+) (\d+)$/gm)].map(m => [m[1]!, Number(m[2])]))); }, () => {});
		read();
		const timer = setInterval(() => { if (!document.hidden) read(); }, 6000);
		return () => { gone = true; clearInterval(timer); };
	}, []);
	return counters;
}

const ORDERS: Record<string, [string, (s: StrategyRow) => number]> = {
	hits: ["hits", s => -s.hits], used: ["last hit", s => -(s.last_hit ? Date.parse(s.last_hit) : 0)], new: ["newest", s => -Date.parse(s.created)], step: ["fastest step", s => s.runtime_ns],
};

const COLUMNS: Column<StrategyRow>[] = [
	{ title: "Module", wide: true, cell: s => <><a href={link(["strategies", s.id])}><b>{called(s.name, s.labels)}</b> <span class="soft mono">{short(s.module)}</span></a> <Named labels={s.labels.slice(1)} tags={s.tags} /></> },
	{ title: "Question", cell: s => <>{s.mesh.replaceAll(",", " × ").replaceAll("=", " ")} <span class="soft">{s.device}, {bytes(s.memory_limit_bytes)}{s.objective === "memory" ? ", least memory" : ""}</span></> },
	{ title: "Step", number: true, cell: s => duration(s.runtime_ns) }, { title: "Peak", number: true, cell: s => <span class={s.fits ? "" : "over"}>{bytes(s.peak_bytes)}</span> },
	{ title: "Hits", number: true, cell: s => <b>{count(s.hits)}</b> }, { title: "Last hit", cell: s => (s.last_hit ? ago(s.last_hit) : <span class="soft">never</span>) },
	{ title: "Found", cell: s => ago(s.created) }, { title: "Cost model", cell: s => <span class="soft">{s.cost_model}</span> },
];

export function CacheView() {
	const { query } = useRoute(), { rows, more, error, loaded } = usePages(), counters = useCounters();
	const text = (query.get("q") ?? "").toLowerCase(), order = query.get("order") ?? "hits", by = (ORDERS[order] ?? ORDERS.hits!)[1];
	const shown = rows.filter(s => !text || `${s.name} ${s.labels.join(" ")} ${s.tags.join(" ")} ${s.module} ${s.mesh} ${s.device} ${s.id}`.toLowerCase().includes(text)).sort((a, b) => by(a) - by(b));
	const hits = counters.get("cache_hits") ?? 0, misses = counters.get("cache_misses") ?? 0;
	return <article class="view">
		<header class="view-head"><Heading of="cache">Answers in the store</Heading></header>
		{error ? <Problem>{error}</Problem> : null}
		<dl class="facts big"><Fact name="Answers" note={more ? "loaded so far" : ""}>{count(rows.length)}</Fact><Fact name="Hits of these">{count(rows.reduce((n, s) => n + s.hits, 0))}</Fact>
			<Fact name="Given without a search" note="since the daemon was started">{hits + misses ? percent(hits, hits + misses) : "–"}</Fact><Fact name="Questions" note={`${count(hits)} answered from the store`}>{count(hits + misses)}</Fact></dl>
		<section>
			<div class="filters"><label>Name, label, mesh, device or id <input type="search" value={query.get("q") ?? ""} onInput={e => amend({ q: e.currentTarget.value })} /></label>
				<label>Order <select value={order} onChange={e => amend({ order: e.currentTarget.value })}>{Object.entries(ORDERS).map(([key, [title]]) => <option key={key} value={key}>{title}</option>)}</select></label>
				<span class="soft" role="status">{loaded ? `${count(shown.length)} answers` : ""}</span></div>
			{loaded ? <Table caption="Answers" rows={shown} keyOf={s => s.id} empty="No answer is like that." columns={COLUMNS} /> : error ? null : <Waiting what="Loading" />}
			{more ? <p><button type="button" onClick={more}>Load older ones</button></p> : null}
		</section>
	</article>;
}
