/** What waits and what is being worked at: searches, and verifications of what they found. */
import { usePolled } from "./api";
import { ago, count, duration, short } from "./format";
import { State } from "./home";
import { Named } from "./labels";
import { link } from "./route";
import type { Search } from "./types";
import { type Column, Heading, Problem, Table, Waiting } from "./ui";

const asked = (s: Search) => <><a href={link(["searches", s.id])}>{s.labels[0] ? <b>{s.labels[0]} </b> : null}<span class="mono">{short(s.id)}</span></a> <Named labels={[]} tags={s.tags} /></>;
const question: Column<Search>[] = [{ title: "Search", wide: true, cell: asked }, { title: "Mesh", cell: s => s.mesh.replaceAll(",", " × ").replaceAll("=", " ") }, { title: "Device", cell: s => s.device },
	{ title: "Owner", cell: s => s.owner || <span class="soft">–</span> }];

const SEARCHES: Column<Search>[] = [...question, { title: "State", cell: s => <State search={s} /> }, { title: "Priority", number: true, cell: s => count(s.priority) },
	{ title: "Evaluations", number: true, cell: s => count(s.evaluations) }, { title: "Asked", cell: s => ago(s.created) }];

/** done, or why not. */
function Outcome({ search: s }: { search: Search }) {
	const v = s.verification!;
	if (v.state === "failed") return <span class="over">{v.error}</span>;
	if (v.state !== "done") return v.verifier ? <span class="soft">by {v.verifier}, attempt {v.attempt}</span> : null;
	if (!v.best) return <span class="over">nothing that was compiled fits</span>;
	return <><a href={link(["strategies", s.strategy ?? ""])}>{v.best.plan}</a> <span class="soft">{v.best.runtime_ns === null ? "" : duration(v.best.runtime_ns)}{v.planned !== s.strategy ? ", another one than was planned" : ""}</span></>;
}

const VERIFICATIONS: Column<Search>[] = [...question, { title: "State", cell: s => <span class={`state ${s.verification!.state === "done" ? "succeeded" : s.verification!.state}`}>{s.verification!.state}</span> },
	{ title: "Programs", number: true, cell: s => count(s.verification!.plans) }, { title: "Asked", cell: s => ago(s.verification!.created) }, { title: "Outcome", cell: s => <Outcome search={s} /> }];

const PLACE: Record<string, number> = { running: 0, queued: 1, failed: 2, canceled: 3, done: 4 };

export function QueueView() {
	const running = usePolled<{ searches: Search[] }>("/v1/searches?state=running&page_size=100", d => d.searches.length > 0), queued = usePolled<{ searches: Search[] }>("/v1/searches?state=queued&page_size=100", d => d.searches.length > 0);
	const newest = usePolled<{ searches: Search[] }>("/v1/searches?verification=any&page_size=100", d => d.searches.some(s => s.verification?.state === "running"));
	const searches = [...(running.data?.searches ?? []), ...(queued.data?.searches ?? []).toReversed()];
	const verified = [...(newest.data?.searches ?? [])].sort((a, b) => PLACE[a.verification!.state]! - PLACE[b.verification!.state]!);
	const error = running.error || queued.error || newest.error;
	return <article class="view">
		<header class="view-head"><Heading of="queue">Queue</Heading></header>
		{error ? <Problem>{error}</Problem> : null}
		<section><h2>Searches</h2>{running.data && queued.data ? <Table caption="Searches under way and waiting" rows={searches} keyOf={s => s.id} empty="No search is under way, none waits." columns={SEARCHES} /> : error ? null : <Waiting what="Loading" />}
			<p class="soft">Those that wait come oldest first. Who is served next depends on owners and priorities.</p></section>
		<section><h2>Verifications</h2>{newest.data ? <Table caption="Verifications, the newest 100" rows={verified} keyOf={s => s.id} empty="Nobody has asked for a verification." columns={VERIFICATIONS} /> : error ? null : <Waiting what="Loading" />}</section>
	</article>;
}
