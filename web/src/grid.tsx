/** A tree of rows of which only those in sight exist: 100,000 cost no more than 30. Arrow keys move, right and left open and close. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { NARROW, useMedia } from "./ui";

export interface GridColumn { title: string; number?: boolean; class?: string }

interface Props {
	label: string;
	columns: GridColumn[];
	rows: number;
	level: (row: number) => number;
	/** of the whole, for its columns */
	class?: string;
	/** undefined: nothing to open */
	open: (row: number) => boolean | undefined;
	onOpen: (row: number, open: boolean) => void;
	selected: number;
	onSelect: (row: number) => void;
	cells: (row: number) => ComponentChildren[];
}

const WIDE_ROW = 34, NARROW_ROW = 62, MOST_HEIGHT = 30e6, BEYOND = 8;

export function Grid(p: Props) {
	const scroller = useRef<HTMLDivElement>(null);
	const row = useMedia(NARROW) ? NARROW_ROW : WIDE_ROW;
	const [top, setTop] = useState(0), [height, setHeight] = useState(600);
	useEffect(() => {
		const el = scroller.current!;
		const measure = new ResizeObserver(() => setHeight(el.clientHeight));
		measure.observe(el);
		return () => measure.disconnect();
	}, []);
	const show = (i: number) => {
		const el = scroller.current;
		if (!el) return;
		const head = el.querySelector<HTMLElement>(".grid-head")?.offsetHeight ?? 0;
		if (i * row < el.scrollTop) el.scrollTop = i * row;
		else if ((i + 1) * row > el.scrollTop + el.clientHeight - head) el.scrollTop = (i + 1) * row - el.clientHeight + head;
	};
	const key = (e: KeyboardEvent) => {
		const page = Math.max(1, Math.floor(height / row) - 2), at = Math.max(0, p.selected);
		const to: Record<string, number> = { ArrowDown: p.selected + 1, ArrowUp: at - 1, PageDown: at + page, PageUp: at - page, Home: 0, End: p.rows - 1 };
		const is = p.selected >= 0 ? p.open(p.selected) : undefined;
		if (e.key in to) {
			const i = Math.min(p.rows - 1, Math.max(0, to[e.key]!));
			if (i >= 0) { p.onSelect(i); show(i); }
		} else if (is !== undefined && ((e.key === "ArrowRight" && !is) || (e.key === "ArrowLeft" && is) || e.key === "Enter" || e.key === " ")) {
			p.onOpen(p.selected, !is);
		} else return;
		e.preventDefault();
	};
	const first = Math.max(0, Math.floor(top / row) - BEYOND), last = Math.min(p.rows, Math.ceil((top + height) / row) + BEYOND);
	const seen: number[] = [];
	for (let i = first; i < last; i++) seen.push(i);
	return <div class={`grid ${p.class ?? ""}`} role="treegrid" aria-label={p.label} aria-rowcount={p.rows + 1} aria-colcount={p.columns.length} tabIndex={0} ref={scroller}
		aria-activedescendant={p.selected >= first && p.selected < last ? `row-${p.selected}` : undefined}
		onScroll={() => setTop(scroller.current!.scrollTop)} onKeyDown={key}>
		<div class="grid-head" role="row" aria-rowindex={1}>
			{p.columns.map(c => <span key={c.title} role="columnheader" class={`${c.class ?? ""}${c.number ? " number" : ""}`}>{c.title}</span>)}
		</div>
		<div role="rowgroup" class="grid-body" style={{ height: `${Math.min(MOST_HEIGHT, p.rows * row)}px` }}>
			{seen.map(i => {
				const open = p.open(i), cells = p.cells(i);
				return <div key={i} id={`row-${i}`} role="row" class={`grid-row level${p.level(i)}`} style={{ top: `${i * row}px`, height: `${row}px`, "--level": p.level(i) }}
					aria-level={p.level(i)} aria-expanded={open} aria-selected={i === p.selected} aria-rowindex={i + 2}
					onClick={() => { if (open !== undefined && i === p.selected) p.onOpen(i, !open); p.onSelect(i); }}>
					{p.columns.map((c, k) => <span key={c.title} role="gridcell" class={`${c.class ?? ""}${c.number ? " number" : ""}`}>
						{k === 0 ? <span class="twist" aria-hidden="true" onClick={e => { if (open !== undefined) { e.stopPropagation(); p.onOpen(i, !open); } }}>{open === undefined ? "" : open ? "▾" : "▸"}</span> : null}{cells[k]}</span>)}
				</div>;
			})}
		</div>
	</div>;
}
