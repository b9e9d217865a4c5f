/** The service worker: keeps the page itself, so that its address opens while the daemon does not answer. It touches no other request; answers are kept by the page (kept.ts).
 * Whatever the daemon serves goes first, so a new page replaces this one at the next load. */
export {};

interface Lasting extends Event { waitUntil(work: Promise<unknown>): void }
interface Fetching extends Lasting { readonly request: Request; respondWith(answer: Promise<Response>): void }
declare const self: { addEventListener(kind: "install" | "activate", take: (e: Lasting) => void): void; addEventListener(kind: "fetch", take: (e: Fetching) => void): void; skipWaiting(): Promise<void> };

const NAME = "page", PATIENCE_MS = 4000, GATEWAY = [502, 503, 504];

/** Not the sign-in form of a proxy, nor the page of another program at this address, nor what may not be kept. */
const isOurs = (r: Response): boolean => r.status === 200 && !r.redirected && !/no-store/i.test(r.headers.get("Cache-Control") ?? "") && (r.headers.get("Content-Security-Policy") ?? "").includes("trusted-types shardwright");

const kept = (): Promise<Response | undefined> => caches.match("/", { cacheName: NAME, ignoreVary: true });

async function keep(page: Response): Promise<void> {
	const tag = page.headers.get("ETag"), old = await kept();
	if (!tag || tag !== old?.headers.get("ETag")) await (await caches.open(NAME)).put("/", page);
}

async function load(): Promise<void> {
	const page = await fetch("/", { cache: "no-cache" });
	if (!isOurs(page)) throw new Error("there is no page to keep");
	await keep(page);
}

/** The daemon's page; the one that is kept where there is none, or none soon. */
function answer(e: Fetching): Promise<Response> {
	return new Promise((found, failed) => {
		const instead = async (otherwise: () => void) => {
			const old = await kept().catch(() => undefined);
			old ? found(old) : otherwise();
		};
		const timer = setTimeout(() => instead(() => {}), PATIENCE_MS);
		const asked = fetch(e.request).finally(() => clearTimeout(timer));
		asked.then(page => {
			if (GATEWAY.includes(page.status)) { instead(() => found(page)); return; }
			if (isOurs(page)) e.waitUntil(keep(page.clone()).catch(() => {}));
			found(page);
		}, error => instead(() => failed(error)));
		e.waitUntil(asked.catch(() => {}));
	});
}

self.addEventListener("install", e => { self.skipWaiting(); e.waitUntil(load()); });
self.addEventListener("fetch", e => { if (e.request.mode === "navigate" && e.request.method === "GET" && new URL(e.request.url).pathname === "/") e.respondWith(answer(e)); });
