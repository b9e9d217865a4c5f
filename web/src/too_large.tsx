/** A strategy that does not fit: step time over memory, the limit beside it, and what would help. */
import { useMemo } from "preact/hooks";
import { useOnce } from "./api";
import { questionOf } from "./ask";
import { bytes, duration } from "./format";
import { type Spot, called, draw, fitsFrom, frontOf, hints, limitOf, reason } from "./front";
import { link } from "./route";
import type { FrontPoint, Search, Strategy } from "./types";
import { Table } from "./ui";

/** A name stands where the front is not: right above a point, or below it where the edge is near. */
function Mark({ x, y, point }: Spot) {
	const left = x > 55, name = called(point);
	return <>
		<circle cx={`${x}%`} cy={`${y}%`} r={point.answer ? 7 : 4.5} class={point.answer ? "front-own" : "front-at"}><title>{`${bytes(point.peak_bytes)}: ${duration(point.runtime_ns)}${name ? `, ${name}` : ""}`}</title></circle>
		{name ? <text x={`${x}%`} y={`${y}%`} dx={left ? -8 : 8} dy={left ? 18 : -9} text-anchor={left ? "end" : "start"} class={point.answer ? "front-name" : ""}>{name}</text> : null}
	</>;
}

/** In percent, so that its words are as large on a phone as on a desk. The table beside it says the same. */
function Chart({ front, limit }: { front: FrontPoint[]; limit: number }) {
	const d = useMemo(() => draw(front, limit), [front, limit]), first = d.spots[0]!, last = d.spots[d.spots.length - 1]!;
	const label = `Step time over memory of a device: from ${duration(first.point.runtime_ns)} with ${bytes(first.point.peak_bytes)} to ${duration(last.point.runtime_ns)} with ${bytes(last.point.peak_bytes)}. The limit is ${bytes(limit)}.`;
	return <figure class="front"><svg role="img" aria-label={label}>
		<rect x="0" y="0" width={`${d.limit}%`} height="100%" class="front-room" />
		<line x1="0" y1="0" x2="0" y2="100%" class="axis-line" /><line x1="0" y1="100%" x2="100%" y2="100%" class="axis-line" />
		<line x1={`${d.limit}%`} y1="0" x2={`${d.limit}%`} y2="100%" class="front-limit" />
		<text x={`${d.limit}%`} y="14" dx="6" class="front-over">{d.near ? "" : "← "}limit {bytes(limit)}</text>
		{d.spots.map((s, i) => {
			const next = d.spots[i + 1];
			return <g key={i}><line x1={`${s.x}%`} y1={`${s.y}%`} x2={`${next?.x ?? 100}%`} y2={`${s.y}%`} class="front-line" />
				{next ? <line x1={`${next.x}%`} y1={`${s.y}%`} x2={`${next.x}%`} y2={`${next.y}%`} class="front-line" /> : null}</g>;
		})}
		{d.spots.map((s, i) => <Mark key={i} {...s} />)}
		{[first, last].map((s, i) => <g key={i}><text x={`${s.x}%`} y="100%" dy="18" text-anchor="middle">{bytes(s.point.peak_bytes)}</text><text x="0" y={`${s.y}%`} dx="-8" dy="4" text-anchor="end">{duration(s.point.runtime_ns)}</text></g>)}
	</svg><figcaption class="soft">Step time (up) over memory of a device (right), both logarithmic.{d.near ? "" : " The limit is further left than it is drawn."}</figcaption></figure>;
}

/** search: the search that found it, "" where it is not known; amounts of memory lead to its question with that limit. */
export function TooLarge({ strategy, search }: { strategy: Strategy; search: string }) {
	const asked = useOnce<Search>(search ? `/v1/searches/${search}` : ""), front = frontOf(strategy), large = strategy.too_large, why = reason(strategy), list = hints(strategy);
	if (!large) return null;
	const ask = (memory: string, text: string) => asked.data ? <a href={link(["ask"], { ...questionOf(asked.data), memory })}>{text}</a> : text;
	const need = fitsFrom(large.smallest_peak_bytes);
	return <section class="card too-large" aria-labelledby="too-large"><h2 id="too-large">What would fit</h2>
		{why ? <p class="lead">{why}</p> : null}
		<ul class="plain"><li>Fits from {ask(need, `--memory ${need}`)} on.</li>{list.map(t => <li key={t}>{t}</li>)}</ul>
		{front.length ? <div class="two"><Chart front={front} limit={strategy.memory_limit_bytes} />
			<div><h3>The fastest step that was found for</h3><Table caption="The fastest step that was found for" rows={front} keyOf={(_, i) => i} columns={[{ title: "Memory", number: true, cell: p => ask(limitOf(p.peak_bytes), bytes(p.peak_bytes)) },
				{ title: "Step", number: true, cell: p => duration(p.runtime_ns) }, { title: "Plan", cell: p => p.answer ? <b>{called(p)}</b> : called(p) || <span class="soft">another plan</span> }]} /></div></div> : null}
	</section>;
}
