/** What was asked and found. */
import { ago, bytes, count, duration, short } from "./format";
import { post, usePolled } from "./api";
import { Named, called } from "./labels";
import { amend, link, useRoute } from "./route";
import type { Search, StrategyRow } from "./types";
import { Heading, Problem, Table, Waiting } from "./ui";

export function State({ search: s }: { search: Search }) {
	return <span class={`state ${s.state}`}>{s.canceling ? "canceling" : s.state}{s.partial ? " (partial)" : ""}</span>;
}

export function StrategyTable({ rows, chosen }: { rows: StrategyRow[]; chosen: string[] }) {
	const toggle = (id: string) => amend({ pick: (chosen.includes(id) ? chosen.filter(c => c !== id) : [...chosen, id].slice(-2)).join(" ") });
	return <Table caption="Strategies" rows={rows} keyOf={s => s.id} empty="No strategy is like that." columns={[
		{ title: "Module", wide: true, cell: s => <><a href={link(["strategies", s.id])}><b>{called(s.name, s.labels)}</b> <span class="soft mono">{short(s.module)}</span></a> <Named labels={s.labels.slice(1)} tags={s.tags} /></> },
		{ title: "Mesh", cell: s => s.mesh.replaceAll(",", " × ").replaceAll("=", " ") }, { title: "Device", cell: s => s.device },
		{ title: "Step", number: true, cell: s => <b>{duration(s.runtime_ns)}</b> }, { title: "Communication", number: true, cell: s => duration(s.communication_ns) },
		{ title: "Peak", number: true, cell: s => <span class={s.fits ? "" : "over"}>{bytes(s.peak_bytes)}{s.fits ? "" : ", too large"}</span> },
		{ title: "Found", cell: s => ago(s.created) },
		{ title: "Compare", cell: s => <input type="checkbox" aria-label={`compare ${s.name} on ${s.mesh}, ${short(s.id)}`} checked={chosen.includes(s.id)} onChange={() => toggle(s.id)} /> },
	]} />;
}

export function CompareBar({ chosen }: { chosen: string[] }) {
	return chosen.length === 2 ? <p class="compare-bar" role="status"><a class="button" href={link(["compare", chosen[0]!, chosen[1]!])}>Compare the two</a></p>
		: chosen.length ? <p class="compare-bar soft" role="status">Choose one more to compare.</p> : null;
}

export function Home() {
	const { query } = useRoute(), text = (query.get("q") ?? "").toLowerCase(), chosen = (query.get("pick") ?? "").split(" ").filter(Boolean);
	const label = query.get("label") ?? "", tag = query.get("tag") ?? "", named = new URLSearchParams({ ...(label ? { label } : {}), ...(tag ? { tag } : {}) });
	const searches = usePolled<{ searches: Search[] }>(`/v1/searches?page_size=50&${named}`, d => d.searches.some(s => s.state === "running" || s.state === "queued"));
	const strategies = usePolled<{ strategies: StrategyRow[] }>(`/v1/strategies?page_size=200&${named}`, () => false);
	const rows = (strategies.data?.strategies ?? []).filter(s => !text || `${s.name} ${s.labels.join(" ")} ${s.tags.join(" ")} ${s.module} ${s.mesh} ${s.device} ${s.id}`.toLowerCase().includes(text));
	const active = (searches.data?.searches ?? []).filter(s => s.state !== "succeeded").slice(0, 20);
	const cancel = (s: Search) => post(`/v1/searches/${s.id}/cancel`, {}).finally(searches.refresh);
	const error = searches.error || strategies.error;
	return <article class="view">
		<header class="view-head"><Heading of="home">Strategies</Heading><div class="actions"><a class="button main" href={link(["ask"])}>Ask for one</a></div></header>
		{error ? <Problem>{error}</Problem> : null}
		{active.length ? <section><h2>Searches under way or ended without an answer</h2><Table caption="Searches" rows={active} keyOf={s => s.id} columns={[
			{ title: "Search", wide: true, cell: s => <><a href={link(["searches", s.id])}>{s.labels[0] ? <b>{s.labels[0]} </b> : null}<span class="mono">{short(s.id)}</span></a> <Named labels={[]} tags={s.tags} /></> }, { title: "State", cell: s => <State search={s} /> },
			{ title: "Mesh", cell: s => s.mesh }, { title: "Device", cell: s => s.device }, { title: "Evaluations", number: true, cell: s => count(s.evaluations) },
			{ title: "Best step", number: true, cell: s => (s.best ? duration(s.best.runtime_ns) : "–") }, { title: "Asked", cell: s => ago(s.created) },
			{ title: "Note", cell: s => s.state === "running" || s.state === "queued" ? <button type="button" class="small" aria-label={`cancel ${short(s.id)}`} onClick={() => cancel(s)}>Cancel</button> : s.error?.detail ?? "" },
		]} /></section> : null}
		<section>
			<div class="filters"><label>Name, label, mesh, device or id <input type="search" value={query.get("q") ?? ""} onInput={e => amend({ q: e.currentTarget.value })} /></label>{label ? <span class="label">{label}<button type="button" aria-label={`show all labels, not only ${label}`} onClick={() => amend({ label: "" })}>×</button></span> : null}
				{tag ? <span class="label tag">{tag}<button type="button" aria-label={`show all tags, not only ${tag}`} onClick={() => amend({ tag: "" })}>×</button></span> : null}
				<span class="soft" role="status">{strategies.data ? `${count(rows.length)} strategies` : ""}</span></div>
			<CompareBar chosen={chosen} />
			{strategies.data ? <StrategyTable rows={rows} chosen={chosen} /> : error ? null : <Waiting what="Loading" />}
		</section>
	</article>;
}
