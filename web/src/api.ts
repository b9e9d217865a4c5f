/** Requests to the daemon. */
import { useEffect, useState } from "preact/hooks";
import { close, drop, isFree, isKept, isWorth, keep, recall } from "./kept";
import { PATIENCE_MS, alive, dated, onReturn, suspect, untilBack } from "./presence";

/** Keeping waits until what came is painted. */
const KEEP_MS = 300;
const kept = new Map<string, Promise<unknown>>();
const MOST_KEPT = 24;

let secret = sessionStorage.getItem("token") ?? "";
const waiting = new Set<() => void>();
if (secret) close();

function wakeAll(): void {
	kept.clear();
	for (const wake of waiting) wake();
}
onReturn(wakeAll);

export function setToken(text: string): void {
	secret = text;
	sessionStorage.setItem("token", text);
	if (text) close();
	wakeAll();
}

/** Called when a token is missing or refused. */
export const access = { refused: (): void => {} };

export class Refusal extends Error {
	constructor(message: string, readonly status: number, readonly detail: { line?: number; column?: number; excerpt?: string; errors?: { pointer: string }[] } = {}) { super(message); }
}

export const headers = (): Record<string, string> => (secret ? { Authorization: `Bearer ${secret}` } : {});

const GATEWAY = [502, 503, 504];

/** An answer that is kept may stand for it. */
const mayKeep = (path: string, options: RequestInit): boolean => !secret && !options.method && isWorth(path);

/** asked, or what is kept where the daemon lets wait and does not answer a short question either. */
function soon(path: string, asked: Promise<Response>): Promise<Response> {
	return new Promise((found, failed) => {
		const timer = setTimeout(async () => {
			if (await alive()) return;
			suspect();
			const old = await recall(path);
			if (old) found(old);
		}, PATIENCE_MS);
		asked.finally(() => clearTimeout(timer)).then(found, failed);
	});
}

/** What the daemon says, or else what is kept. */
async function reach(path: string, options: RequestInit): Promise<Response> {
	const may = mayKeep(path, options);
	try {
		const asked = fetch(path, { ...options, headers: { ...headers(), ...(options.headers as Record<string, string>) } }), response = await (may ? soon(path, asked) : asked);
		if (!GATEWAY.includes(response.status)) return response;
		suspect();
		return (may && await recall(path)) || response;
	} catch (e) {
		if (options.signal?.aborted) throw e;
		suspect();
		const old = may ? await recall(path) : null;
		if (old) return old;
		throw new Error(may ? "The daemon does not answer, and this was not kept in the browser." : "The daemon does not answer.");
	}
}

export async function send(path: string, options: RequestInit = {}): Promise<Response> {
	const response = await reach(path, options);
	if (response.ok) {
		if (!options.method) dated(path, response.headers.get("Date"));
		return response;
	}
	if (response.status === 401 || response.status === 403) { close(); access.refused(); }
	if (response.status === 404 && mayKeep(path, options)) drop(path);
	let body: Refusal["detail"] & { detail?: string } = {};
	try { body = await response.json(); } catch { /* a refusal of the HTTP library has no JSON */ }
	throw new Refusal(body.detail ?? response.statusText, response.status, body);
}

export async function ask<T>(path: string, options: RequestInit = {}): Promise<T> {
	const response = await send(path, options), text = await response.text(), data = JSON.parse(text) as T;
	if (mayKeep(path, options) && !isKept(response) && isFree(response)) setTimeout(() => keep(path, text, response.headers.get("Date") ?? new Date().toUTCString()), KEEP_MS);
	return data;
}

export const post = <T>(path: string, body: unknown): Promise<T> =>
	ask<T>(path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) });


/** What never changes is asked for once. */
export function once<T>(path: string): Promise<T> {
	let p = kept.get(path);
	if (!p) {
		p = ask<T>(path);
		p.catch(() => kept.delete(path));
		kept.set(path, p);
		if (kept.size > MOST_KEPT) kept.delete(kept.keys().next().value!);
	}
	return p as Promise<T>;
}

/** What a change has made untrue. */
export function forget(path: string): void { kept.delete(path); }

export interface Loaded<T> { data: T | null; error: string }

/** path "": nothing is asked. What was shown for another path is gone at once. */
export function useOnce<T>(path: string): Loaded<T> {
	const [state, set] = useState<Loaded<T> & { path: string }>({ data: null, error: "", path });
	const [turn, again] = useState(0);
	useEffect(() => {
		const wake = () => again(n => n + 1);
		waiting.add(wake);
		return () => void waiting.delete(wake);
	}, []);
	useEffect(() => {
		let gone = false;
		if (path)
			once<T>(path).then(data => gone || set({ data, error: "", path }), e => gone || set({ data: null, error: e.message, path }));
		return () => { gone = true; };
	}, [path, turn]);
	return state.path === path ? state : { data: null, error: "" };
}

/** Asked again every now and then, more often while busy(data). What is shown stays while it is asked. path "": nothing is asked. */
export function usePolled<T>(path: string, busy: (data: T) => boolean): Loaded<T> & { refresh: () => void } {
	const [state, set] = useState<Loaded<T>>({ data: null, error: "" });
	const [turn, again] = useState(0);
	useEffect(() => {
		let timer = 0, gone = false;
		if (!path) return;
		const turnOf = async () => {
			let quick = false;
			try {
				const data = await ask<T>(path);
				quick = busy(data);
				if (!gone) set({ data, error: "" });
			} catch (e) {
				if (!gone) set(old => ({ data: old.data, error: (e as Error).message }));
			}
			if (!gone) timer = window.setTimeout(turnOf, document.hidden ? 30000 : quick ? 1500 : 6000);
		};
		turnOf();
		const wake = () => again(n => n + 1);
		waiting.add(wake);
		return () => { gone = true; clearTimeout(timer); waiting.delete(wake); };
	}, [path, turn]);
	return { ...state, refresh: () => again(n => n + 1) };
}

/** Server-sent events by fetch, since an EventSource sends no token. Ends after the last event; resumes where it was cut off. */
export async function follow(path: string, signal: AbortSignal, take: (kind: string, data: unknown) => void): Promise<void> {
	let last = "";
	for (let failures = 0; !signal.aborted && failures < 5; failures++) {
		try {
			const response = await send(path + (last ? `?last_event_id=${last}` : ""), { signal });
			const reader = response.body!.pipeThrough(new TextDecoderStream() as ReadableWritablePair<string, Uint8Array<ArrayBuffer>>).getReader();
			for (let text = ""; ;) {
				const { done, value } = await reader.read();
				if (done) return;
				const blocks = (text + value).split("\n\n");
				text = blocks.pop()!;
				for (const block of blocks) {
					const data = /^data: (.*)$/m.exec(block)?.[1];
					last = /^id: (.*)$/m.exec(block)?.[1] ?? last;
					if (data) take(/^event: (.*)$/m.exec(block)?.[1] ?? "", JSON.parse(data));
				}
			}
		} catch (e) {
			if (signal.aborted) return;
			if (e instanceof Refusal) throw e;
			await new Promise(wake => setTimeout(wake, 1000));
			if (await untilBack(signal)) failures = 0;
		}
	}
}

/** A file for the person. The daemon's answer needs the token, so a plain link would not do. */
export async function download(path: string, name: string): Promise<void> {
	save(await (await send(path)).blob(), name);
}

export function save(data: Blob, name: string): void {
	const link = document.createElement("a");
	link.href = URL.createObjectURL(data);
	link.download = name;
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 60000);
}
