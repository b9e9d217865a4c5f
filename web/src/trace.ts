/** One step, read from the daemon's Chrome trace. Times in nanoseconds. */
import type { Live, Trace } from "./types";

export interface Run {
	lane: number; depth: number; start: number; end: number; name: string; location: string;
	/** how often it runs: the trace shows the first time through a loop */
	times: number;
	kind: "compute" | "memory" | "launch" | "link" | "loop";
	bytes: number; exposed: number; trips: number;
}

/** Where temporaries take most: all of them, and those that were listed, together where op and line are the same. */
export interface Peak { at: number; bytes: number; values: number; live: { op: string; location: string; values: number; bytes: number }[] }

export interface Timeline { lanes: string[]; runs: Run[]; end: number; memory: { at: number[]; bytes: number[] }; peak: Peak | null }

function together(list: Live[]): Peak["live"] {
	const rows = new Map<string, Peak["live"][number]>();
	for (const v of list) {
		const key = `${v.op}\0${v.location ?? ""}`, row = rows.get(key);
		if (row) { row.values++; row.bytes += v.bytes; }
		else rows.set(key, { op: v.op, location: v.location ?? "", values: 1, bytes: v.bytes });
	}
	return [...rows.values()].sort((a, b) => b.bytes - a.bytes);
}

export function readTrace(trace: Trace): Timeline {
	const lanes: string[] = [], runs: Run[] = [], memory = { at: [] as number[], bytes: [] as number[] };
	let peak: Peak | null = null;
	for (const e of trace.traceEvents) {
		const start = Math.round((e.ts ?? 0) * 1000);
		if (e.ph === "M") {
			lanes[e.tid!] = e.args.name!;
		} else if (e.ph === "C") {
			memory.at.push(start);
			memory.bytes.push(e.args.bytes!);
		} else if (e.ph === "i" && e.args.live) {
			peak = { at: start, bytes: e.args.bytes!, values: e.args.values!, live: together(e.args.live) };
		} else if (e.ph === "X") {
			const a = e.args, kind = a.trips !== undefined ? "loop" : a.limit ?? "link";
			runs.push({ lane: e.tid!, depth: 0, start, end: start + Math.round(e.dur! * 1000), name: e.name, location: a.location ?? "", times: 1, kind: kind as Run["kind"],
				bytes: a.bytes ?? a.memory_traffic_bytes ?? 0, exposed: a.exposed_ns ?? 0, trips: a.trips ?? 1 });
		}
	}
	runs.sort((a, b) => a.start - b.start || b.end - a.end);
	const within: Run[] = [];
	for (const r of runs) {
		while (within.length && within[within.length - 1]!.end <= r.start) within.pop();
		const loop = within[within.length - 1];
		if (loop) {
			r.times = loop.times * loop.trips;
			r.depth = loop.depth + 1;
		}
		if (r.kind === "loop") within.push(r);
	}
	const order = memory.at.map((_, i) => i).sort((a, b) => memory.at[a]! - memory.at[b]!);
	return { lanes, runs, end: runs.reduce((n, r) => Math.max(n, r.end), 1), memory: { at: order.map(i => memory.at[i]!), bytes: order.map(i => memory.bytes[i]!) }, peak };
}

export interface Limits { compute: number; memory: number; launch: number; links: Map<string, number> }

/** What the step's time goes into. Work of loops counts as often as it runs. */
export function limitsOf(t: Timeline): Limits {
	const out: Limits = { compute: 0, memory: 0, launch: 0, links: new Map() };
	for (const r of t.runs) {
		if (r.kind === "loop") continue;
		if (r.kind === "link") out.links.set(t.lanes[r.lane]!, (out.links.get(t.lanes[r.lane]!) ?? 0) + r.exposed);
		else out[r.kind] += (r.end - r.start) * r.times;
	}
	return out;
}
