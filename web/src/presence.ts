/** Whether the daemon answers, and of when is what is shown. */
import { useEffect, useState } from "preact/hooks";

export const PATIENCE_MS = 3000;
const AGAIN_MS = 2000, AGAIN_HIDDEN_MS = 30000, MOST_DATES = 400;

const changed = new Set<() => void>(), returned = new Set<() => void>();
let lost = false, timer = 0, asked: Promise<boolean> | null = null;

/** Asks the daemon itself: nothing on the way may answer for it. */
export function alive(): Promise<boolean> {
	asked ??= fetch("/healthz", { cache: "no-store", signal: AbortSignal.timeout(PATIENCE_MS) }).then(r => r.ok, () => false).finally(() => { asked = null; });
	return asked;
}

function set(now: boolean): void {
	if (lost === now) return;
	lost = now;
	for (const f of changed) f();
	if (!now) for (const f of [...returned]) f();
}

async function look(): Promise<void> {
	clearTimeout(timer);
	const there = await alive();
	set(!there);
	clearTimeout(timer);
	if (!there) timer = window.setTimeout(look, document.hidden ? AGAIN_HIDDEN_MS : AGAIN_MS);
}

/** A request got no answer. */
export function suspect(): void { if (!lost) look(); }

addEventListener("online", () => { if (lost) look(); });
document.addEventListener("visibilitychange", () => { if (lost && !document.hidden) look(); });

/** Calls wake each time that the daemon is back; what comes back ends that. */
export function onReturn(wake: () => void): () => void {
	returned.add(wake);
	return () => void returned.delete(wake);
}

/** At once where the daemon is not known to be gone. True: it was. */
export function untilBack(signal: AbortSignal): Promise<boolean> {
	if (!lost) return Promise.resolve(false);
	return new Promise(done => {
		const end = () => { stop(); signal.removeEventListener("abort", end); done(true); }, stop = onReturn(end);
		signal.addEventListener("abort", end);
	});
}

const dates = new Map<string, number>();

/** What is shown for a path was said then. */
export function dated(path: string, date: string | null): void {
	const at = Date.parse(date ?? "");
	if (Number.isNaN(at)) return;
	dates.delete(path);
	dates.set(path, at);
	if (dates.size > MOST_DATES) dates.delete(dates.keys().next().value!);
	if (lost) for (const f of changed) f();
}

/** ids: of what the view is about. null: nothing of it is here. */
function since(ids: string[]): number | null {
	const list = [...dates].filter(([path]) => !ids.length || ids.some(id => path.includes(id))).map(([, at]) => at);
	return !list.length ? null : ids.length ? Math.min(...list) : Math.max(...list);
}

export function usePresence(ids: string[]): { lost: boolean; since: number | null } {
	const [, again] = useState(0);
	useEffect(() => {
		const update = () => again(n => n + 1);
		changed.add(update);
		update();
		return () => void changed.delete(update);
	}, []);
	return { lost, since: lost ? since(ids) : null };
}
