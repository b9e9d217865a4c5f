/** Which piece of a tensor each device holds: the tensor in pieces, and the mesh in the same colours. */
import { useState } from "preact/hooks";
import { useOnce } from "./api";
import { cell, parseType, type Type, typeText } from "./fold";
import { bytes, count } from "./format";
import type { Axes, Layout, Strategy } from "./types";
import { Copy, Problem } from "./ui";

const MOST_CELLS = 512;

const hue = (piece: number, pieces: number): string => {
	if (pieces <= 1) return "var(--piece-one)";
	return `hsl(${Math.round((360 * piece) / Math.min(pieces, 360) + 205) % 360} var(--piece-s) ${piece % 2 ? "var(--piece-l1)" : "var(--piece-l2)"})`;
};

interface Piece { number: number; ranges: [number, number][]; holders: number }

function piecesOf(layout: Layout): { of: number[]; pieces: Piece[] } {
	const seen = new Map<string, Piece>();
	const of = layout.devices.map(d => {
		const key = d.ranges.join(";");
		let p = seen.get(key);
		if (!p) seen.set(key, p = { number: seen.size, ranges: d.ranges, holders: 0 });
		p.holders++;
		return p.number;
	});
	return { of, pieces: [...seen.values()] };
}

const rangesText = (ranges: [number, number][]): string => (ranges.length ? `[${ranges.map(([a, b]) => `${a}:${b}`).join(", ")}]` : "the scalar");

function Tensor({ pieces, type, parts, at }: { pieces: Piece[]; type: Type; parts: number[]; at: number }) {
	const cut = parts.map((n, i) => ({ n, i })).filter(p => p.n > 1).map(p => p.i);
	const shown = [...cut, ...parts.map((_, i) => i).filter(i => !cut.includes(i))].slice(0, 2).sort((a, b) => a - b);
	const [rows, columns] = shown.length > 1 ? [shown[0], shown[1]!] : [undefined, shown[0]];
	const extent = (d: number | undefined) => (d === undefined ? 1 : type.shape[d] || 1);
	const h = extent(rows), w = extent(columns), ratio = Math.min(2.2, Math.max(0.45, Math.sqrt(h / w)));
	const W = 200, H = rows === undefined ? 46 : W * ratio;
	const place = (p: Piece, d: number | undefined, size: number, whole: number): [number, number] => {
		const [a, b] = d === undefined ? [0, 1] : p.ranges[d]!;
		return [(a / whole) * size, Math.max(1, ((b - a) / whole) * size)];
	};
	const label = (d: number | undefined) => (d === undefined ? "" : `dim ${d}: ${count(type.shape[d]!)}`);
	return <figure class="tensor">
		<svg viewBox={`-1 -1 ${W + 2} ${H + 2}`} role="img" aria-label={`The tensor in ${pieces.length} pieces`}>
			{pieces.slice(0, 4096).map(p => {
				const [x, cx] = place(p, columns, W, w), [y, cy] = place(p, rows, H, h);
				return <rect key={p.number} x={x} y={y} width={cx} height={cy} class={p.number === at ? "piece at" : "piece"} style={{ fill: hue(p.number, pieces.length) }} />;
			})}
		</svg>
		<figcaption>{rows === undefined ? null : <>↓ {label(rows)}<br /></>}{columns === undefined ? "scalar" : `→ ${label(columns)}`}</figcaption>
	</figure>;
}

export function MeshPicture({ strategy, name, type, cuts }: { strategy: Pick<Strategy, "mesh">; name: string; type: string; cuts: Axes | null }) {
	const axes = strategy.mesh.axes, t = parseType(type), order = strategy.mesh.device_order;
	const query = new URLSearchParams({ mesh: axes.map(a => `${a.name}=${a.size}`).join(","), shape: t.shape.length ? t.shape.join("x") : "scalar", sharding: JSON.stringify(cuts ?? t.shape.map(() => [])) });
	const { data, error } = useOnce<Layout>(`/v1/layout?${query}`);
	const [at, setAt] = useState(0);
	if (error) return <Problem>{error}</Problem>;
	if (!data) return <div class="mesh-wait" />;
	const { of, pieces } = piecesOf(data);
	const columns = axes[axes.length - 1]!, cells = Math.min(data.devices.length, MOST_CELLS), here = Math.min(at, cells - 1);
	const piece = pieces[of[here]!]!, device = (i: number) => order?.[i] ?? i;
	const coordinates = (i: number) => {
		const at: string[] = [];
		for (let k = axes.length - 1, rest = i; k >= 0; rest = Math.floor(rest / axes[k]!.size), k--) at.unshift(`${axes[k]!.name} ${rest % axes[k]!.size}`);
		return at.join(", ");
	};
	const move = (e: KeyboardEvent) => {
		const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: columns.size, ArrowUp: -columns.size }[e.key];
		if (!step) return;
		e.preventDefault();
		if (here + step >= 0 && here + step < cells) setAt(here + step);
	};
	const local = t.shape.length ? piece.ranges.reduce((n, [a, b]) => n * (b - a), 1) : 1, all = t.shape.reduce((n, d) => n * d, 1) || 1;
	return <section class="mesh" aria-label="Pieces on the mesh">
		<h2 class="mono">{name}</h2>
		<p class="soft">{typeText(type)} as {cell(cuts)}: {pieces.length === 1 ? "whole on every device" : `${count(pieces.length)} pieces${data.count > data.devices.length ? " on these devices" : ""}, ${count(piece.holders)} ${piece.holders === 1 ? "device holds" : "devices hold"} each`}</p>
		<div class="mesh-row">
			<Tensor pieces={pieces} type={t} parts={data.parts} at={piece.number} />
			<figure class="devices">
				<div class="mesh-cells" role="group" aria-label={`Devices of the mesh; arrow keys move. Device ${device(here)} holds ${rangesText(piece.ranges)}`} tabIndex={0} onKeyDown={move}
					style={{ gridTemplateColumns: `repeat(${Math.min(columns.size, 32)}, minmax(1.15rem, 2.6rem))` }}>
					{data.devices.slice(0, cells).map((_, i) =>
						<span key={i} class={`cell${i === here ? " at" : of[i] === piece.number ? " same" : ""}`} style={{ background: hue(of[i]!, pieces.length) }} title={`device ${device(i)} (${coordinates(i)}): ${rangesText(data.devices[i]!.ranges)}`} onClick={() => setAt(i)}>{device(i)}</span>)}
				</div>
				<figcaption>{axes.length > 1 ? `↓ ${axes.slice(0, -1).map(a => `${a.name} ${a.size}`).join(" × ")}  ·  ` : ""}→ {columns.name} {columns.size}{data.count > cells ? ` · the first ${cells} of ${count(data.count)}` : ""}</figcaption>
			</figure>
		</div>
		<p class="mesh-here"><b>Device {device(here)}</b> <span class="soft">({coordinates(here)})</span> holds <span class="mono">{rangesText(piece.ranges)}</span>, {bytes((t.bytes / all) * local)}</p>
		<details><summary>In other notations</summary><ul class="notations">{Object.entries(data.notations).map(([n, text]) => <li key={n}><span class="soft">{n}</span> <code>{text ?? "has no words for it"}</code>{text ? <Copy text={text} label="Copy" /> : null}</li>)}</ul></details>
	</section>;
}
