/** Where nothing fits: the front of step time over memory as it is drawn, and what would help. */
import { bytes, count, duration } from "./format";
import type { FrontPoint, Strategy } from "./types";

type Large = Pick<Strategy, "memory_limit_bytes" | "search" | "too_large">;

/** Where a point is drawn, in percent of the width and of the height. */
export interface Spot { x: number; y: number; point: FrontPoint }

/** near: the limit stands where it is; else it would squeeze the front, and stands at the edge. */
export interface Drawing { spots: Spot[]; limit: number; near: boolean }

const between = (v: number, lo: number, hi: number): number => (hi > lo ? Math.log(v / lo) / Math.log(hi / lo) : 0.5);

/** Both axes are logarithmic. The front has a third of the width at least. */
export function draw(front: FrontPoint[], limit: number): Drawing {
	const peaks = front.map(p => Math.max(1, p.peak_bytes)), times = front.map(p => Math.max(1, p.runtime_ns));
	const least = Math.min(...peaks), most = Math.max(...peaks), fast = Math.min(...times), slow = Math.max(...times);
	const near = limit > 0 && Math.log(least / limit) <= 2 * Math.log(most / least), from = near ? 8 : 14, lo = near ? limit : least;
	const spots = front.map((point, i) => ({ x: from + (92 - from) * between(peaks[i]!, lo, most), y: 90 - 68 * between(times[i]!, fast, slow), point }));
	return { spots, limit: near ? from : 3, near };
}

const MIB = 1 << 20;

/** The limit that the command line says, in MiB. A search with another limit goes other ways, so it is a little more than what was found. */
export const fitsFrom = (smallest: number): string => `${Math.ceil((smallest + Math.floor(smallest / 32)) / MIB)}MiB`;

/** A limit as people write it, which a plan of so many bytes keeps. */
export function limitOf(peak: number): string {
	const [unit, size] = peak >= 64 * MIB ? ["MiB", MIB] as const : peak >= 65536 ? ["KiB", 1024] as const : ["B", 1] as const;
	return `${Math.ceil(peak / size)}${unit}`;
}

/** The front, where there is more to it than the answer; documents of earlier versions have none. */
export function frontOf(s: Large): FrontPoint[] {
	const list = s.too_large?.pareto ?? [];
	return list.length > 1 ? list : [];
}

/** What a point of the front is. */
export const called = (p: FrontPoint): string => (p.answer ? "this strategy" : p.baseline ?? "");

/** Why nothing fits, in the words of the command line; "": it is not known that nothing can. */
export function reason(s: Large): string {
	const least = s.search.bound?.peak_bytes ?? 0;
	return least > s.memory_limit_bytes ? `No strategy fits: cut over all devices, the arguments alone take ${bytes(least)} of each.` : "";
}

/** What would help besides a larger limit, in the words of the command line. */
export function hints(s: Large): string[] {
	const t = s.too_large, out: string[] = [];
	if (!t) return out;
	if (!frontOf(s).length) out.push(`The smallest strategy that was tried takes ${bytes(t.smallest_peak_bytes)} and ${duration(t.smallest_runtime_ns)}.`);
	if (t.donation_saves_bytes) out.push(`No argument is donated: donating what results replace saves up to ${bytes(t.donation_saves_bytes)}.`);
	if (t.rematerialise_bytes) out.push(`Too much is kept for later: jax.checkpoint has to save ${bytes(t.rematerialise_bytes)}.`);
	if (t.least_devices) out.push(`The arguments alone need ${count(t.least_devices)} devices.`);
	return out;
}
