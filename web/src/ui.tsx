/** Small parts that several views use. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Axes } from "./types";
import { axisName } from "./fold";
import { percent } from "./format";

/** A long name loses its middle, since names differ at the end. */
export function Name({ text }: { text: string }) {
	const at = Math.max(0, text.length - 16);
	return <span class="mono name" title={text}><span>{text.slice(0, at)}</span><span>{text.slice(at)}</span></span>;
}

const dim = (names: string[], axes: string[]) => names.length
	? names.map((n, i) => <span key={n} class={`seg axis${Math.max(0, axes.indexOf(axisName(n))) % 6}`}>{i ? <span class="hidden">+</span> : null}{n}</span>)
	: <span class="seg">–</span>;

/** Axes have one colour each in all views: their place in the mesh says which. */
export function Chips({ cuts, axes, onDim }: { cuts: Axes | null; axes: string[]; onDim?: (dim: number) => void }) {
	if (!cuts) return <span class="soft">not known</span>;
	if (!cuts.length) return <span class="chip"><span class="seg">scalar</span></span>;
	return <span class="chips">{cuts.map((names, i) => onDim
		? <button type="button" key={i} class="chip" aria-label={`dimension ${i}: ${names.length ? `cut over ${names.join(" and ")}` : "whole"}; change`} onClick={() => onDim(i)}>{dim(names, axes)}</button>
		: <span key={i} class="chip">{dim(names, axes)}</span>)}</span>;
}

export function Fact({ name, children, note }: { name: string; children: ComponentChildren; note?: ComponentChildren }) {
	return <div class="fact"><dt>{name}</dt><dd>{children}</dd>{note ? <dd class="note">{note}</dd> : null}</div>;
}

export interface Part { name: string; value: number; text: string; kind: string }

/** Parts of a whole, with a legend that says what the colours do. */
export function StackedBar({ label, parts, whole }: { label: string; parts: Part[]; whole: number }) {
	const shown = parts.filter(p => p.value > 0);
	return <div class="stacked">
		<div class="bar" role="img" aria-label={`${label}: ${shown.map(p => `${p.name} ${p.text}`).join(", ")}`}>
			{shown.map(p => <span key={p.name} class={`part ${p.kind}`} style={{ width: `${(100 * p.value) / whole}%` }} title={`${p.name}: ${p.text}`} />)}
		</div>
		<ul class="legend">{shown.map(p => <li key={p.name}><span class={`key ${p.kind}`} aria-hidden="true" />{p.name} <b>{p.text}</b> <span class="soft">{percent(p.value, whole)}</span></li>)}</ul>
	</div>;
}

export function Problem({ children }: { children: ComponentChildren }) {
	return <p class="problem" role="alert">{children}</p>;
}

export function Waiting({ what }: { what: string }) {
	return <p class="waiting" role="status"><span class="spinner" aria-hidden="true" />{what}</p>;
}

export function Empty({ children }: { children: ComponentChildren }) { return <p class="empty">{children}</p>; }

export interface TabRow { id: string; title: string; note?: string }

export function Tabs({ tabs, at, onTab, children }: { tabs: TabRow[]; at: string; onTab: (id: string) => void; children: ComponentChildren }) {
	const bar = useRef<HTMLDivElement>(null);
	const move = (e: KeyboardEvent) => {
		const step = e.key === "ArrowRight" ? 1 : e.key === "ArrowLeft" ? -1 : 0;
		if (!step) return;
		e.preventDefault();
		const i = (tabs.findIndex(t => t.id === at) + step + tabs.length) % tabs.length;
		onTab(tabs[i]!.id);
		(bar.current!.children[i] as HTMLElement).focus();
	};
	return <>
		<div class="tabs" role="tablist" ref={bar} onKeyDown={move}>
			{tabs.map(t => <button type="button" key={t.id} role="tab" id={`tab-${t.id}`} aria-controls="panel" aria-selected={t.id === at} tabIndex={t.id === at ? 0 : -1} onClick={() => onTab(t.id)}>
				{t.title}{t.note ? <span class="soft"> {t.note}</span> : null}</button>)}
		</div>
		<div role="tabpanel" id="panel" aria-labelledby={`tab-${at}`} class="panel">{children}</div>
	</>;
}

/** A column: title, cell, and whether it holds numbers. */
export interface Column<T> { title: string; cell: (row: T) => ComponentChildren; number?: boolean; wide?: boolean }

export function Table<T>({ caption, rows, columns, keyOf, empty }: { caption: string; rows: T[]; columns: Column<T>[]; keyOf: (row: T, i: number) => string | number; empty?: string }) {
	if (!rows.length) return <Empty>{empty ?? "None."}</Empty>;
	return <div class="frame">
		<table class="cards"><caption class="hidden">{caption}</caption>
			<thead><tr>{columns.map(c => <th key={c.title} scope="col" class={c.number ? "number" : ""}>{c.title}</th>)}</tr></thead>
			<tbody>{rows.map((row, i) => <tr key={keyOf(row, i)}>{columns.map(c => <td key={c.title} data-name={c.title} class={`${c.number ? "number" : ""}${c.wide ? " wide" : ""}`}><span>{c.cell(row)}</span></td>)}</tr>)}</tbody>
		</table>
	</div>;
}

/** Copies text; says so for a moment. */
export function Copy({ text, label }: { text: string; label: string }) {
	const [done, set] = useState(false);
	useEffect(() => {
		if (!done) return;
		const timer = setTimeout(() => set(false), 1500);
		return () => clearTimeout(timer);
	}, [done]);
	return <button type="button" class="small" onClick={() => navigator.clipboard?.writeText(text).then(() => set(true))}>{done ? "Copied" : label}</button>;
}

export function useMedia(query: string): boolean {
	const [is, set] = useState(() => matchMedia(query).matches);
	useEffect(() => {
		const list = matchMedia(query), update = () => set(list.matches);
		list.addEventListener("change", update);
		return () => list.removeEventListener("change", update);
	}, [query]);
	return is;
}

export const NARROW = "(max-width: 44rem)";

let arrived = false;

/** Moves the focus to a view's heading when the view changes, so that a screen reader hears of it; not on arrival, nor at a refresh. */
export function Heading({ children, of }: { children: ComponentChildren; of: string }) {
	const h = useRef<HTMLHeadingElement>(null);
	useEffect(() => {
		if (arrived && document.activeElement === document.body) h.current?.focus({ preventScroll: true });
		arrived = true;
	}, [of]);
	return <h1 ref={h} tabIndex={-1}>{children}</h1>;
}
