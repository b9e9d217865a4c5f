/** What the search tree does: tactics with what was spent on them and the best plan below, the most visited first. */
import { useMemo, useState } from "preact/hooks";
import { bytes, count, duration, percent } from "./format";
import { Grid, type GridColumn } from "./grid";
import type { TreeNode } from "./types";

const COLUMNS: GridColumn[] = [
	{ title: "Tactic", class: "g-name" }, { title: "Evaluations", number: true, class: "g-visits" }, { title: "Plans", number: true, class: "g-plans" },
	{ title: "Best step", number: true, class: "g-best" }, { title: "Peak", number: true, class: "g-peak" },
];

interface Row { node: TreeNode; at: number; depth: number; key: string; children: number[] }

/** Rows by place in the list, children by what was spent on them; the key names a node from one event to the next. */
function grow(tree: TreeNode[]): Row[] {
	const rows: Row[] = tree.map((node, at) => ({ node, at, depth: 0, key: "", children: [] }));
	for (const r of rows) {
		const parent = r.node.parent === undefined ? null : rows[r.node.parent]!;
		r.depth = parent ? parent.depth + 1 : 0;
		r.key = `${parent?.key ?? ""}/${r.node.what}`;
		parent?.children.push(r.at);
	}
	for (const r of rows) r.children.sort((a, b) => rows[b]!.node.evaluations - rows[a]!.node.evaluations || a - b);
	return rows;
}

export function SearchTree({ tree }: { tree: TreeNode[] }) {
	const rows = useMemo(() => grow(tree), [tree]);
	/** Opened or closed by hand; else what leads to the best plan is open. */
	const [chosen, choose] = useState<ReadonlyMap<string, boolean>>(new Map()), [selected, select] = useState("");
	const best = rows[0]?.node.runtime_ns;
	const isOpen = (r: Row) => chosen.get(r.key) ?? (r.depth < 2 || (best !== undefined && r.node.runtime_ns === best));
	const shown: Row[] = [];
	const list = (r: Row) => {
		shown.push(r);
		if (isOpen(r)) for (const c of r.children) list(rows[c]!);
	};
	if (rows[0]) list(rows[0]);
	const all = rows[0]?.node.evaluations ?? 1;
	return <Grid label="Search tree" class="tree" columns={COLUMNS} rows={shown.length} level={i => shown[i]!.depth + 1} selected={shown.findIndex(r => r.key === selected)} onSelect={i => select(shown[i]!.key)}
		open={i => (shown[i]!.children.length ? isOpen(shown[i]!) : undefined)} onOpen={(i, is) => choose(new Map(chosen).set(shown[i]!.key, is))}
		cells={i => {
			const n = shown[i]!.node, leads = best !== undefined && n.runtime_ns === best;
			return [<span class={n.done ? "soft" : ""}>{n.what}{n.done ? <span class="by">done</span> : null}</span>,
				<span class="sized"><span class="fill" style={{ width: `${(100 * n.evaluations) / Math.max(1, all)}%` }} /><span>{count(n.evaluations)} <span class="soft">{percent(n.evaluations, all)}</span></span></span>,
				n.costed < n.plans ? `${count(n.costed)} of ${count(n.plans)}` : count(n.plans),
				n.runtime_ns === undefined ? "–" : <span class={leads ? "best" : ""}>{duration(n.runtime_ns)}</span>,
				n.peak_bytes === undefined ? "" : <span class={n.fits ? "" : "over"}>{bytes(n.peak_bytes)}</span>];
		}} />;
}
