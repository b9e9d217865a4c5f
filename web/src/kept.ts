/** Answers that stay in the browser for when the daemon does not answer: strategies, what is derived from them, modules by id. Never a list, a search, a text of a module, or what was asked for with a token. */

/** What the page was built of; set by build.mjs. A new page keeps answers of its own and drops those of the old one. */
declare const BUILD: string;

const PREFIX = "answers ", NAME = PREFIX + BUILD;
const MOST = 200, MOST_BYTES = 64 * 2 ** 20, LARGEST = MOST_BYTES / 4;
const WORTH = /^\/v1\/(strategies\/[\w:]+(\/outline|\/explanation|\/timeline|\/shardings\?to=\w+)?|modules\/[\w:]+(\/arguments)?|layout\?.*)$/;
const SIZE = "Kept-Bytes";

/** No caches outside secure contexts. */
const possible = "caches" in globalThis;
let closed = false, turn: Promise<unknown> = Promise.resolve();

/** One after the other, so that bounds hold; what fails, for want of room for example, is not kept. */
function inTurn(job: () => Promise<unknown>): void {
	if (possible) turn = turn.then(job).catch(() => {});
}

export const isWorth = (path: string): boolean => WORTH.test(path);
/** A proxy in front may forbid it. */
export const isFree = (response: Response): boolean => !/no-store/i.test(response.headers.get("Cache-Control") ?? "");
export const isKept = (response: Response): boolean => response.headers.has(SIZE);

/** The newest stay. */
async function trim(cache: Cache): Promise<void> {
	const newest = (await cache.keys()).toReversed(), sizes = await Promise.all(newest.map(async k => Number((await cache.match(k))?.headers.get(SIZE))));
	let bytes = 0;
	for (const [i, key] of newest.entries())
		if ((bytes += sizes[i]!) > MOST_BYTES || i >= MOST) await cache.delete(key);
}

export function keep(path: string, text: string, date: string): void {
	const body = new Blob([text]);
	if (body.size > LARGEST) return;
	inTurn(async () => {
		if (closed) return;
		const cache = await caches.open(NAME);
		await cache.put(path, new Response(body, { headers: { "Content-Type": "application/json", Date: date, [SIZE]: String(body.size) } }));
		await trim(cache);
	});
}

export async function recall(path: string): Promise<Response | null> {
	try { return (possible && !closed && await caches.match(path, { cacheName: NAME })) || null; } catch { return null; }
}

/** It is no longer there. */
export function drop(path: string): void { inTurn(async () => (await caches.open(NAME)).delete(path)); }

const clear = (which: (name: string) => boolean) => inTurn(async () => { for (const name of await caches.keys()) if (name.startsWith(PREFIX) && which(name)) await caches.delete(name); });

/** The daemon wants tokens: what it says is not for whoever has this browser. Nothing stays, and nothing is kept from now on. */
export function close(): void {
	closed = true;
	clear(() => true);
}

clear(name => name !== NAME);

interface Trusting { trustedTypes?: { createPolicy(name: string, rules: { createScriptURL: () => string }): { createScriptURL(text: string): string } } }

/** The page opens without the daemon from then on. The policy, the only one that may be made, knows one address. Nothing happens where a browser has no service workers for this origin: no TLS, or a certificate it does not trust. */
export function keepPage(): void {
	if (!isSecureContext || !("serviceWorker" in navigator)) return;
	const path = "/worker.js", policy = (globalThis as Trusting).trustedTypes?.createPolicy("shardwright", { createScriptURL: () => path });
	navigator.serviceWorker.register(policy ? policy.createScriptURL(path) : path, { updateViaCache: "none" }).catch(() => {});
}
