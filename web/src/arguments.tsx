/** The arguments of a strategy, folded by layer, and where the pieces of the chosen one lie. */
import { useEffect, useMemo, useState } from "preact/hooks";
import { type Group, groupsOf, isIn, matcher, numbersOf, typeText } from "./fold";
import { bytes, count } from "./format";
import { Grid, type GridColumn } from "./grid";
import { MeshPicture } from "./mesh";
import { steps } from "./decisions";
import { useOnce } from "./api";
import { amend, link } from "./route";
import type { Strategy, Whole } from "./types";
import { Chips, Empty, Name, Problem, Waiting } from "./ui";

const COLUMNS: GridColumn[] = [
	{ title: "Argument", class: "g-name" }, { title: "Count", number: true, class: "g-count" }, { title: "Role", class: "g-role" },
	{ title: "Type", class: "g-type" }, { title: "Sharding", class: "g-cuts" }, { title: "Per device", number: true, class: "g-bytes" },
];

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
	const by = steps(strategy.actions).flatMap((parts, k) => parts.filter(p => isIn(index, p.action.members)).map(({ action: a }) =>
		({ step: k + 1, what: a.kind === "replicate" ? `kept off ${a.axis}` : `dimension ${a.dimension} over ${a.axis}` })));
	if (!by.length) return <p class="decided soft">No decision is on it.</p>;
	return <p class="decided">{by.map((d, i) => <span key={i}>{i ? ", then " : ""}{d.what} <a href={link(["strategies", id], { tab: "decisions" })}>(decision {d.step})</a></span>)}</p>;
}

/** A row that is shown: all of a group, or those of it that were looked for. */
interface Shown { group: Group; members: number[] | null }

export function Arguments({ id, strategy, query }: { id: string; strategy: Strategy; query: URLSearchParams }) {
	const groups = groupsOf(strategy), axes = strategy.mesh.axes.map(a => a.name);
	const [open, setOpen] = useState<ReadonlySet<Group>>(new Set());
	const text = query.get("q") ?? "", role = query.get("role") ?? "", axis = query.get("axis") ?? "", chosen = query.get("arg");
	/* Names one by one are only in the document, which is asked for when one is needed. */
	const whole = useOnce<Whole>(text || open.size ? `/v1/strategies/${id}` : ""), list = whole.data?.arguments;
	const filtered = useMemo((): Shown[] => {
		const fits = matcher({ text: "", role, axis }), of = groups.filter(g => fits(g, g.cuts));
		if (!text) return of.map(group => ({ group, members: null }));
		if (!list) return [];
		const named = matcher({ text, role: "", axis: "" });
		return of.map(group => ({ group, members: numbersOf(group.members).filter(m => named(list[m]!, null)) })).filter(s => s.members.length);
	}, [groups, list, text, role, axis]);
	/** Rows in order: which is shown, and which of its members; -1: the row itself. */
	const rows = useMemo(() => {
		const out: number[] = [];
		filtered.forEach((s, k) => {
			out.push(k, -1);
			if (list && open.has(s.group)) for (const m of s.members ?? numbersOf(s.group.members)) out.push(k, m);
		});
		return Int32Array.from(out);
	}, [filtered, open, list]);
	const roles = useMemo(() => [...new Set(groups.map(g => g.role))], [groups]);
	const largest = useMemo(() => groups.reduce((n, g) => Math.max(n, g.local * g.count), 1), [groups]);
	const firstOf = (s: Shown) => s.members?.[0] ?? s.group.first;
	const selected = useMemo(() => {
		if (chosen === null) return rows.length ? 0 : -1;
		const index = Number(chosen);
		let group = -1;
		for (let r = 0; r < rows.length / 2; r++) {
			const s = filtered[rows[2 * r]!]!, m = rows[2 * r + 1]!;
			if (m < 0 && isIn(index, s.group.members)) group = r;
			else if (m === index && index !== firstOf(s)) return r;
			else if (m < 0 && group >= 0) break;
		}
		return group;
	}, [rows, chosen, filtered]);
	const at = (r: number) => ({ ...filtered[rows[2 * r]!]!, member: rows[2 * r + 1]! });
	const number = (s: Shown) => s.members?.length ?? s.group.count;
	const setRow = (r: number, is: boolean) => {
		const next = new Set(open), g = at(r).group;
		is ? next.add(g) : next.delete(g);
		setOpen(next);
	};
	const cells = (r: number) => {
		const s = at(r), g = s.group, n = number(s);
		if (s.member >= 0) return [<Name text={list![s.member]!.name} />, "", <Role role={g.role} />, <Type text={g.type} />, <Chips cuts={g.cuts} axes={axes} />, bytes(g.local)];
		return [<Name text={n === 1 && s.members ? list![s.members[0]!]!.name : g.name} />, n > 1 ? `×${count(n)}` : "", <Role role={g.role} />, <Type text={g.type} />,
			<><Chips cuts={g.cuts} axes={axes} />{g.decided ? null : <span class="by" title="the strategy leaves it to propagation">by propagation</span>}</>,
			<span class="sized"><span class="fill" style={{ width: `${(100 * g.local * n) / largest}%` }} /><span>{bytes(g.local * n)}</span></span>];
	};
	const shown = filtered.reduce((n, s) => n + number(s), 0), pick = selected >= 0 ? at(selected) : null;
	/* A row of several is that of all; what is decided on its first is said. */
	const argument = pick ? (pick.member >= 0 ? pick.member : chosen !== null && isIn(Number(chosen), pick.group.members) ? Number(chosen) : firstOf(pick)) : -1;
	const waits = whole.error ? <Problem>{whole.error}</Problem> : (text || open.size) && !list ? <Waiting what="Loading the names of all arguments" /> : null;
	return <div class="arguments">
		<div class="arguments-list">
			<Filters query={query} roles={roles} axes={axes} shown={shown} all={strategy.module.arguments} />
			{waits}
			{rows.length ? <Grid label="Arguments" columns={COLUMNS} rows={rows.length / 2} cells={cells} level={r => (at(r).member < 0 ? 1 : 2)}
				open={r => { const s = at(r); return s.member < 0 && number(s) > 1 ? open.has(s.group) : undefined; }}
				onOpen={setRow} selected={selected} onSelect={r => { const s = at(r); amend({ arg: String(s.member >= 0 ? s.member : firstOf(s)) }); }} />
				: waits ? null : <Empty>No argument is like that.</Empty>}
		</div>
		{pick ? <div class="card sticky"><MeshPicture strategy={strategy} name={pick.member >= 0 ? list![pick.member]!.name : number(pick) === 1 && pick.members ? list![pick.members[0]!]!.name : pick.group.name} type={pick.group.type} cuts={pick.group.cuts} /><Decided id={id} strategy={strategy} index={argument} /></div> : null}
	</div>;
}

const Role = ({ role }: { role: string }) => <span class={`role r-${role}`}>{role}</span>;
const Type = ({ text }: { text: string }) => <span class="mono soft" title={text}>{typeText(text)}</span>;
