/** Where we are: the part of the URL behind #, as /view/id?query. Everything that is shown can be had from it. */
import { useEffect, useState } from "preact/hooks";

export interface Route { path: string[]; query: URLSearchParams }

function read(): Route {
	const [path = "", query = ""] = location.hash.replace(/^#\/?/, "").split(/\?(.*)/s);
	return { path: path.split("/").filter(Boolean).map(p => { try { return decodeURIComponent(p); } catch { return p; } }), query: new URLSearchParams(query) };
}

export function link(path: string[], query: Record<string, string> = {}): string {
	const kept = Object.entries(query).filter(([, v]) => v);
	return `#/${path.map(p => encodeURIComponent(p).replace(/%3A/g, ":")).join("/")}${kept.length ? `?${new URLSearchParams(kept)}` : ""}`;
}

const listeners = new Set<() => void>();
const changed = () => { for (const l of listeners) l(); };
addEventListener("hashchange", changed);

export function go(path: string[], query: Record<string, string> = {}): void { location.hash = link(path, query); }

/** Changes some fields of the query; "" drops one. No new entry of the history, unless asked for. */
export function amend(fields: Record<string, string>, push = false): void {
	const { path, query } = read();
	for (const [k, v] of Object.entries(fields)) v ? query.set(k, v) : query.delete(k);
	const to = link(path, Object.fromEntries(query));
	if (to === location.hash) return;
	push ? history.pushState(null, "", to) : history.replaceState(null, "", to);
	changed();
}

export function useRoute(): Route {
	const [route, set] = useState(read);
	useEffect(() => {
		const update = () => set(read());
		listeners.add(update);
		return () => void listeners.delete(update);
	}, []);
	return route;
}
