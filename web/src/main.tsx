/** The page: head, views by route, access token. Whatever the daemon says goes in as text, never as markup. */
import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { access, setToken, usePolled } from "./api";
import { AskView } from "./ask";
import { CacheView } from "./cache";
import { CompareView } from "./compare";
import { ago } from "./format";
import { Home } from "./home";
import { keepPage } from "./kept";
import { ModuleView } from "./module";
import { usePresence } from "./presence";
import { QueueView } from "./queue";
import { link, useRoute } from "./route";
import { StrategyView } from "./strategy";
import type { Search } from "./types";
import { Heading } from "./ui";
import { WatchView } from "./watch";

/** Set by build.mjs. */
declare const LICENCES: { name: string; version: string; text: string }[];

function Licences() {
	return <article class="view"><Heading of="licences">Licences</Heading><p>This page contains the following libraries.</p>
		{LICENCES.map(l => <section class="card" key={l.name}><h2>{l.name} {l.version}</h2><pre class="licence" tabIndex={0}>{l.text}</pre></section>)}</article>;
}

function Token() {
	const [shown, show] = useState(false), [secret, set] = useState("");
	useEffect(() => { access.refused = () => show(true); }, []);
	if (!shown) return null;
	return <form class="token card" onSubmit={e => { e.preventDefault(); show(false); setToken(secret); }}>
		<label>Access token <input type="password" autocomplete="off" size={30} value={secret} onInput={e => set(e.currentTarget.value)} /></label> <button type="submit">Use it</button></form>;
}

function Offline() {
	const { path } = useRoute(), { lost, since } = usePresence(path.slice(1));
	if (!lost) return null;
	const date = since === null ? null : new Date(since);
	return <p class="offline card warn" role="status"><b>Offline: the daemon does not answer.</b> {date ? <>What is shown is of <time dateTime={date.toISOString()}>{date.toLocaleString("en-GB")}</time>, {ago(date.toISOString())}.</> : "Nothing of this view was kept in the browser."} The page goes on by itself when the daemon is back.</p>;
}

function Activity() {
	const { lost } = usePresence([]);
	const { data, error } = usePolled<{ searches: Search[] }>("/v1/searches?page_size=20", d => d.searches.some(s => s.state === "running" || s.state === "queued"));
	const running = data?.searches.filter(s => s.state === "running") ?? [], queued = data?.searches.filter(s => s.state === "queued").length ?? 0;
	if (lost) return <span class="activity over">offline</span>;
	if (error) return <span class="activity over" role="status">{error}</span>;
	return <span class="activity" role="status">{running.length ? <a href={link(["searches", running[0]!.id])}>{running.length} running{queued ? `, ${queued} waiting` : ""}</a> : <span class="soft">idle</span>}</span>;
}

function View() {
	const { path } = useRoute(), [what = "", id = "", other = ""] = path;
	if (!what) return <Home />;
	if (what === "store") return <CacheView />;
	if (what === "queue") return <QueueView />;
	if (what === "ask") return <AskView />;
	if (what === "licences") return <Licences />;
	if (what === "strategies" && id) return <StrategyView key={id} id={id} />;
	if (what === "searches" && id) return <WatchView key={id} id={id} />;
	if (what === "modules" && id) return <ModuleView key={id} id={id} />;
	if (what === "compare" && id && other) return <CompareView key={id + other} a={id} b={other} />;
	return <article class="view"><Heading of="nowhere">There is nothing at this address</Heading><p><a href="#/">All strategies</a></p></article>;
}

function Page() {
	const { path } = useRoute(), at = path[0] ?? "";
	useEffect(() => { document.title = ["Shardwright", at].filter(Boolean).join(" · "); scrollTo(0, 0); }, [path.join("/")]);
	return <>
		<a class="skip" href="#main" onClick={e => { e.preventDefault(); document.getElementById("main")?.focus(); }}>Skip to the content</a>
		<header class="top"><div class="top-in"><a class="brand" href="#/">Shardwright</a>
			<nav aria-label="Views"><a href="#/" aria-current={!at ? "page" : undefined}>Strategies</a><a href="#/ask" aria-current={at === "ask" ? "page" : undefined}>Ask</a><a href="#/queue" aria-current={at === "queue" ? "page" : undefined}>Queue</a><a href="#/store" aria-current={at === "store" ? "page" : undefined}>Store</a></nav><Activity /></div></header>
		<main id="main" tabIndex={-1}><Offline /><Token /><View /></main>
		<footer><a href="/openapi.json">HTTP interface</a> · <a href="#/licences">Licences</a></footer>
	</>;
}

render(<Page />, document.getElementById("page")!);
keepPage();
