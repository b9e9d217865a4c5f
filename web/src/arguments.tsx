/** The arguments of a strategy, folded by layer, and where the pieces of the chosen one lie. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { cuts, type Group, fold, localBytes, matcher, typeText } from "./fold";
import { bytes, count } from "./format";
import { Grid, type GridColumn } from "./grid";
import { MeshPicture } from "./mesh";
import { steps } from "./decisions";
import { amend, link } from "./route";
import type { Strategy } from "./types";
import { Chips, Empty, Name } from "./ui";

const COLUMNS: GridColumn[] = [
	{ title: "Argument", class: "g-name" }, { title: "Count", number: true, class: "g-count" }, { title: "Role", class: "g-role" },
	{ title: "Type", class: "g-type" }, { title: "Sharding", class: "g-cuts" }, { title: "Per device", number: true, class: "g-bytes" },
];

export const sizesOf = (s: Pick<Strategy, "mesh">) => new Map(s.mesh.axes.map(a => [a.name, a.size]));

export function Filters({ query, roles, axes, shown, all }: { query: URLSearchParams; roles: string[]; axes: string[]; shown: number; all: number }) {
	const [text, setText] = useState(query.get("q") ?? "");
	useEffect(() => {
		const timer = setTimeout(() => amend({ q: text }), 150);
		return () => clearTimeout(timer);
	}, [text]);
	return <div class="filters">
		<label>Name <input type="search" value={text} placeholder="wq, or params*'w?'" onInput={e => setText(e.currentTarget.value)} /></label>
		<label>Role <select value={query.get("role") ?? ""} onChange={e => amend({ role: e.currentTarget.value })}>
			<option value="">any</option>{roles.map(r => <option key={r}>{r}</option>)}</select></label>
		<label>Cut over <select value={query.get("axis") ?? ""} onChange={e => amend({ axis: e.currentTarget.value })}>
			<option value="">any</option>{axes.map(a => <option key={a}>{a}</option>)}<option value="-">nothing (whole)</option></select></label>
		<span class="soft" role="status">{shown === all ? `${count(all)} arguments` : `${count(shown)} of ${count(all)} arguments`}</span>
	</div>;
}

/** The decisions on an argument, those that keep it off an axis too. */
function Decided({ id, strategy, index }: { id: string; strategy: Strategy; index: number }) {
	const by = steps(strategy.actions).flatMap((parts, k) => parts.filter(p => p.action.members.includes(index)).map(({ action: a }) =>
		({ step: k + 1, what: a.kind === "replicate" ? `kept off ${a.axis}` : `dimension ${a.dimension} over ${a.axis}` })));
	if (!by.length) return <p class="decided soft">No decision is on it.</p>;
	return <p class="decided">{by.map((d, i) => <span key={i}>{i ? ", then " : ""}{d.what} <a href={link(["strategies", id], { tab: "decisions" })}>(decision {d.step})</a></span>)}</p>;
}

export function Arguments({ id, strategy, query }: { id: string; strategy: Strategy; query: URLSearchParams }) {
	const sizes = useMemo(() => sizesOf(strategy), [strategy]);
	const groups = useMemo(() => fold(strategy.arguments, sizes), [strategy, sizes]);
	const [open, setOpen] = useState<ReadonlySet<Group>>(new Set());
	const axes = strategy.mesh.axes.map(a => a.name);
	const text = query.get("q") ?? "", role = query.get("role") ?? "", axis = query.get("axis") ?? "", chosen = query.get("arg");
	const filtered = useMemo(() => {
		if (!text && !role && !axis) return groups;
		const fits = matcher({ text, role, axis });
		return groups.map(g => ({ ...g, of: g, members: g.members.filter(m => fits(m, g.cuts)) })).filter(g => g.members.length);
	}, [groups, text, role, axis]);
	/** Rows in order: a group's number, and which of its members; -1: the group itself. */
	const rows = useMemo(() => {
		const out: number[] = [];
		filtered.forEach((g, k) => {
			out.push(k, -1);
			if (open.has(groupOf(g))) for (let m = 0; m < g.members.length; m++) out.push(k, m);
		});
		return Int32Array.from(out);
	}, [filtered, open]);
	const roles = useMemo(() => [...new Set(groups.map(g => g.role))], [groups]);
	const largest = useMemo(() => groups.reduce((n, g) => Math.max(n, g.local * g.members.length), 1), [groups]);
	const selected = useMemo(() => {
		if (chosen === null) return rows.length ? 0 : -1;
		const index = Number(chosen);
		for (let r = 0, group = -1; r < rows.length / 2; r++) {
			const g = filtered[rows[2 * r]!]!, m = rows[2 * r + 1]!;
			if (m < 0 && g.members.some(a => a.index === index)) group = r;
			if (m >= 0 && g.members[m]!.index === index && index !== g.members[0]!.index) return r;
			if (group >= 0 && !open.has(groupOf(g))) return group;
			if (group >= 0 && m === g.members.length - 1) return group;
		}
		return -1;
	}, [rows, chosen, filtered, open]);
	const at = (r: number) => ({ group: filtered[rows[2 * r]!]!, member: rows[2 * r + 1]! });
	const setRow = (r: number, is: boolean) => {
		const next = new Set(open), g = groupOf(at(r).group);
		is ? next.add(g) : next.delete(g);
		setOpen(next);
	};
	const cells = (r: number) => {
		const { group: g, member: m } = at(r), n = g.members.length;
		if (m >= 0) {
			const a = g.members[m]!;
			return [<Name text={a.name} />, "", <Role role={a.role} />, <Type text={a.type} />, <Chips cuts={cuts(a)} axes={axes} />, bytes(localBytes(a.type, cuts(a), sizes))];
		}
		const name = n === 1 ? g.members[0]!.name : g.name;
		return [<Name text={name} />, n > 1 ? `×${count(n)}` : "", <Role role={g.role} />, <Type text={g.type} />,
			<><Chips cuts={g.cuts} axes={axes} />{g.decided ? null : <span class="by" title="the strategy leaves it to propagation">by propagation</span>}</>,
			<span class="sized"><span class="fill" style={{ width: `${(100 * g.local * n) / largest}%` }} /><span>{bytes(g.local * n)}</span></span>];
	};
	const shown = filtered.reduce((n, g) => n + g.members.length, 0);
	const pick = selected >= 0 ? at(selected) : null, argument = pick ? pick.group.members[Math.max(0, pick.member)]! : null;
	return <div class="arguments">
		<div class="arguments-list">
			<Filters query={query} roles={roles} axes={axes} shown={shown} all={strategy.arguments.length} />
			{rows.length ? <Grid label="Arguments" columns={COLUMNS} rows={rows.length / 2} cells={cells} level={r => (at(r).member < 0 ? 1 : 2)}
				open={r => { const { group, member } = at(r); return member < 0 && group.members.length > 1 ? open.has(groupOf(group)) : undefined; }}
				onOpen={setRow} selected={selected} onSelect={r => { const { group, member } = at(r); amend({ arg: String(group.members[Math.max(0, member)]!.index) }); }} />
				: <Empty>No argument is like that.</Empty>}
		</div>
		{argument ? <div class="card sticky"><MeshPicture strategy={strategy} name={pick!.member < 0 && pick!.group.members.length > 1 ? pick!.group.name : argument.name} type={argument.type} cuts={cuts(argument)} /><Decided id={id} strategy={strategy} index={argument.index} /></div> : null}
	</div>;
}

const groupOf = (g: Group & { of?: Group }): Group => g.of ?? g;
const Role = ({ role }: { role: string }) => <span class={`role r-${role}`}>{role}</span>;
const Type = ({ text }: { text: string }) => <span class="mono soft" title={text}>{typeText(text)}</span>;
