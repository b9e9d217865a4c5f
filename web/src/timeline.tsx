/** One step: the core and the links, what the core waits for, memory below; wheel, buttons and keys zoom. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import uPlot from "uplot";
import { useOnce } from "./api";
import { bytes, count, duration, percent } from "./format";
import { Plot, axis, color } from "./plot";
import { type Run, type Timeline, readTrace } from "./trace";
import type { Strategy, Trace } from "./types";
import { Empty, Problem, Table, Waiting, useMedia } from "./ui";

const LANE = 44, GAP = 8, RULER = 22, LEFT = 76;
const KINDS: Record<Run["kind"], string> = { compute: "--k-compute", memory: "--k-memory", launch: "--k-launch", link: "--k-hidden", loop: "--k-other" };

type View = [number, number];

function ticks([from, to]: View, width: number): number[] {
	const rough = ((to - from) / Math.max(1, width)) * 80, ten = 10 ** Math.floor(Math.log10(Math.max(1, rough)));
	const step = [1, 2, 5, 10].map(k => k * ten).find(s => s >= rough) ?? ten * 10;
	const out: number[] = [];
	for (let t = Math.ceil(from / step) * step; t <= to; t += step) out.push(t);
	return out;
}

/** Runs too narrow to see are drawn as one, so that 100,000 of them cost no more than the pixels there are. */
function draw(canvas: HTMLCanvasElement, t: Timeline, lanes: number[], [from, to]: View, chosen: Run | null): void {
	const scale = devicePixelRatio || 1, width = canvas.clientWidth, height = canvas.clientHeight, c = canvas.getContext("2d")!;
	canvas.width = Math.round(width * scale);
	canvas.height = Math.round(height * scale);
	c.scale(scale, scale);
	const inner = width - LEFT, x = (ns: number) => LEFT + ((ns - from) / (to - from)) * inner;
	c.font = "12px system-ui, sans-serif";
	c.textBaseline = "middle";
	for (const at of ticks([from, to], inner)) {
		c.fillStyle = color("--line");
		c.fillRect(x(at), RULER - 4, 1, height);
		c.fillStyle = color("--soft");
		if (x(at) + 3 + c.measureText(duration(at)).width < width) c.fillText(duration(at), x(at) + 3, RULER / 2);
	}
	const exposed = color("--k-link"), text = color("--on-kind"), outline = color("--text");
	lanes.forEach((lane, row) => {
		const y = RULER + row * (LANE + GAP);
		let until = -1;
		for (const r of t.runs) {
			if (r.lane !== lane || r.end < from || r.start > to) continue;
			const a = Math.max(LEFT, x(r.start)), b = Math.min(width, x(r.end)), w = Math.max(0.6, b - a);
			if (b <= until && b - a < 0.6 && r !== chosen) continue;
			until = Math.max(until, b);
			const inset = r.kind === "loop" ? 0 : Math.min(3, r.depth) * 4;
			c.fillStyle = color(KINDS[r.kind]);
			c.fillRect(a, y + inset, w > 3 ? w - 0.7 : w, LANE - inset);
			const waited = r.kind === "link" ? Math.min(1, r.exposed / r.times / Math.max(1, r.end - r.start)) : 0;
			if (waited > 0) {
				const start = Math.max(LEFT, x(r.end - waited * (r.end - r.start)));
				c.fillStyle = exposed;
				c.fillRect(start, y + inset, Math.max(0.6, b - start - (w > 3 ? 0.7 : 0)), LANE - inset);
			}
			if (w > 46 && r.kind !== "loop") {
				c.save();
				c.beginPath();
				c.rect(a, y, w - 2, LANE);
				c.clip();
				c.fillStyle = text;
				c.fillText(r.name.replace(/^stablehlo\./, ""), a + 5, y + (LANE + inset) / 2);
				c.restore();
			}
			if (r === chosen) {
				c.strokeStyle = outline;
				c.lineWidth = 2;
				c.strokeRect(a + 1, y + inset + 1, Math.max(2, w - 2), LANE - inset - 2);
			}
		}
		c.fillStyle = color("--card");
		c.fillRect(0, y, LEFT - 2, LANE);
		c.fillStyle = outline;
		c.fillText(t.lanes[lane]!, 4, y + LANE / 2);
	});
}

function Detail({ run, timeline }: { run: Run; timeline: Timeline }) {
	const parts = [`${duration(run.start)} to ${duration(run.end)}`, duration(run.end - run.start)];
	if (run.times > 1) parts.push(`${count(run.times)} times in a step`);
	if (run.kind === "link") parts.push(`${bytes(run.bytes)} over ${timeline.lanes[run.lane]}`, run.exposed ? `${duration(run.exposed)} exposed` : "hidden behind the work");
	else if (run.kind === "loop") parts.push(`${count(run.trips)} times through`);
	else parts.push(`${bytes(run.bytes)} of memory traffic`, run.kind === "launch" ? "mostly starting" : `limited by ${run.kind}`);
	return <p class="run" role="status"><b class="mono">{run.name}</b> {run.location ? <span class="mono soft">{run.location}</span> : null} {parts.join(" · ")}</p>;
}

function Picture({ timeline, limit, arguments_ }: { timeline: Timeline; limit: number; arguments_: number }) {
	const canvas = useRef<HTMLCanvasElement>(null);
	const [view, setView] = useState<View>([0, timeline.end]), [chosen, setChosen] = useState<Run | null>(null), [width, setWidth] = useState(0);
	const dark = useMedia("(prefers-color-scheme: dark)");
	const lanes = useMemo(() => [...new Set(timeline.runs.map(r => r.lane))].sort((a, b) => a - b), [timeline]);
	const height = RULER + lanes.length * (LANE + GAP);
	useEffect(() => {
		const sizes = new ResizeObserver(() => canvas.current && setWidth(canvas.current.clientWidth));
		sizes.observe(canvas.current!);
		return () => sizes.disconnect();
	}, []);
	useEffect(() => { if (canvas.current) draw(canvas.current, timeline, lanes, view, chosen); }, [timeline, lanes, view, chosen, width, dark]);
	const move = (from: number, to: number) => {
		const least = Math.min(timeline.end, 200), span = Math.min(timeline.end, Math.max(least, to - from));
		const start = Math.min(timeline.end - span, Math.max(0, from + (to - from - span) / 2));
		setView([start, start + span]);
	};
	const zoom = (by: number, at = 0.5) => {
		const span = view[1] - view[0], middle = view[0] + span * at;
		move(middle - span * by * at, middle + span * by * (1 - at));
	};
	const step = (way: number) => {
		const list = timeline.runs, i = chosen ? list.indexOf(chosen) + way : way > 0 ? 0 : list.length - 1, r = list[i];
		if (!r) return;
		setChosen(r);
		if (r.end < view[0] || r.start > view[1]) { const half = (view[1] - view[0]) / 2; move(r.start - half, r.start + half); }
	};
	const key = (e: KeyboardEvent) => {
		const quarter = (view[1] - view[0]) / 4;
		const does: Record<string, () => void> = { "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1.7), 0: () => move(0, timeline.end), ArrowLeft: () => move(view[0] - quarter, view[1] - quarter),
			ArrowRight: () => move(view[0] + quarter, view[1] + quarter), n: () => step(1), p: () => step(-1) };
		const act = does[e.key];
		if (act && !e.ctrlKey && !e.metaKey) { e.preventDefault(); act(); }
	};
	const share = (e: MouseEvent) => Math.min(1, Math.max(0, (e.offsetX - LEFT) / Math.max(1, width - LEFT)));
	const wheel = (e: WheelEvent) => {
		if (!e.ctrlKey && Math.abs(e.deltaX) <= Math.abs(e.deltaY) && !e.shiftKey) { e.preventDefault(); zoom(e.deltaY > 0 ? 1.25 : 0.8, share(e)); }
		else if (!e.ctrlKey) { e.preventDefault(); const by = ((e.deltaX || e.deltaY) / width) * (view[1] - view[0]); move(view[0] + by, view[1] + by); }
	};
	const drag = useRef<{ x: number; view: View; moved: boolean } | null>(null);
	const hit = (e: MouseEvent) => {
		const lane = lanes[Math.floor((e.offsetY - RULER) / (LANE + GAP))], at = view[0] + share(e) * (view[1] - view[0]), slack = (view[1] - view[0]) / Math.max(1, width) * 2;
		let best: Run | null = null;
		for (const r of timeline.runs) if (r.lane === lane && r.start - slack <= at && r.end + slack >= at && (!best || r.depth >= best.depth)) best = r;
		setChosen(best);
	};
	const m = timeline.memory;
	const data = useMemo(() => [m.at, m.bytes.map(b => b + arguments_)] as [number[], number[]], [m, arguments_]);
	const most = m.bytes.reduce((n, b) => Math.max(n, b), 0) + arguments_;
	return <>
		<div class="toolbar">
			<button type="button" class="small" onClick={() => zoom(0.6)}>Zoom in</button><button type="button" class="small" onClick={() => zoom(1.7)}>Zoom out</button>
			<button type="button" class="small" onClick={() => move(0, timeline.end)}>Whole step</button>
			<button type="button" class="small" onClick={() => step(-1)}>Previous</button><button type="button" class="small" onClick={() => step(1)}>Next</button>
			<ul class="legend"><li><span class="key k-compute" />limited by compute</li><li><span class="key k-memory" />by memory</li><li><span class="key k-launch" />by launches</li><li><span class="key k-hidden" />communication beside work</li><li><span class="key k-link" />exposed</li></ul>
		</div>
		<canvas ref={canvas} class="timeline" style={{ height: `${height}px` }} tabIndex={0} role="application" aria-roledescription="timeline" onKeyDown={key} onWheel={wheel}
			aria-label={`Timeline of a step of ${duration(timeline.end)}; plus and minus zoom, arrows move, n and p go through ${count(timeline.runs.length)} runs`}
			onPointerDown={e => { drag.current = { x: e.clientX, view, moved: false }; e.currentTarget.setPointerCapture(e.pointerId); }}
			onPointerMove={e => { const d = drag.current; if (d && Math.abs(e.clientX - d.x) > 3) { d.moved = true; const by = ((d.x - e.clientX) / Math.max(1, width - LEFT)) * (d.view[1] - d.view[0]); move(d.view[0] + by, d.view[1] + by); } }}
			onPointerUp={e => { if (drag.current && !drag.current.moved) hit(e); drag.current = null; }} />
		{chosen ? <Detail run={chosen} timeline={timeline} /> : <p class="soft run">Click a bar, or press n, to see what it is.</p>}
		<h2>Memory over the step</h2>
		{m.at.length > 1 ? <Plot label={`Memory of a device over the step, at most ${bytes(most)}`} height={170} keep={`${timeline.end} ${limit}`} range={view} data={data} options={() => ({
			scales: { x: { time: false }, y: { range: (_u, _lo, hi) => [0, Math.max(hi, arguments_) * 1.08] } }, padding: [8, 0, 0, 0], legend: { show: false }, cursor: { y: false, drag: { x: false, y: false } },
			axes: [{ ...axis(duration, "time in the step", 44), space: 80, values: (u, list) => list.map(v => (u.valToPos(v, "x") > u.over.clientWidth - 24 ? "" : duration(v))) }, axis(bytes, "", LEFT, true)],
			series: [{}, { stroke: color("--k-temporary"), fill: `${color("--k-temporary")}44`, width: 1.5, paths: paths() }],
		})} /> : <Empty>No temporary memory was recorded.</Empty>}
		<p class="soft">Arguments and results hold {bytes(arguments_)} all the time; the rest are temporaries. The limit is {bytes(limit)}.</p>
	</>;
}

const paths = () => uPlot.paths.stepped!({ align: 1 });

export function TimelineView({ id, strategy }: { id: string; strategy: Strategy }) {
	const { data, error } = useOnce<Trace>(`/v1/strategies/${id}/timeline`);
	const timeline = useMemo(() => data && readTrace(data), [data]);
	const longest = useMemo(() => timeline ? timeline.runs.filter(r => r.kind !== "loop").sort((a, b) => (b.end - b.start) * b.times - (a.end - a.start) * a.times).slice(0, 12) : [], [timeline]);
	if (error) return <Problem>{error}</Problem>;
	if (!timeline) return <Waiting what="A worker simulates the step" />;
	const c = strategy.cost, peak = timeline.peak, listed = peak?.live.reduce((n, v) => n + v.values, 0) ?? 0;
	return <div class="timeline-view card">
		<Picture timeline={timeline} limit={strategy.memory_limit_bytes} arguments_={c.argument_bytes + c.output_bytes - c.alias_bytes} />
		{peak ? <>
			<h2>What is live at the peak</h2>
			<p class="soft lead">{count(peak.values)} temporaries, {bytes(peak.bytes)}, at {duration(peak.at)} of the step{listed < peak.values ? `; the largest ${count(listed)} are listed` : ""}.</p>
			<Table caption="Live at the peak" rows={peak.live.slice(0, 12)} keyOf={v => `${v.op} ${v.location}`} columns={[
				{ title: "Value of", cell: v => <span class="mono">{v.op}</span> }, { title: "Line", wide: true, cell: v => <span class="mono">{v.location}</span> }, { title: "Values", number: true, cell: v => count(v.values) },
				{ title: "Bytes", number: true, cell: v => <span class="sized"><span class="fill" style={{ width: `${(100 * v.bytes) / peak.bytes}%` }} /><span>{bytes(v.bytes)}</span></span> }, { title: "Share", number: true, cell: v => percent(v.bytes, peak.bytes) },
			]} />
		</> : null}
		<h2>What takes longest</h2>
		<Table caption="Longest runs" rows={longest} keyOf={(_, i) => i} columns={[
			{ title: "Op", cell: r => <span class="mono">{r.name}</span> }, { title: "Line", wide: true, cell: r => <span class="mono">{r.location}</span> },
			{ title: "On", cell: r => timeline.lanes[r.lane] }, { title: "Limited by", cell: r => r.kind === "link" ? (r.exposed ? "link, exposed" : "hidden") : r.kind },
			{ title: "Times", number: true, cell: r => count(r.times) }, { title: "Of a step", number: true, cell: r => duration((r.end - r.start) * r.times) },
		]} />
	</div>;
}
