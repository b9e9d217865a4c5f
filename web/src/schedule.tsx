/** A schedule, tactic by tactic. Its text is in the URL; what is wrong with it the daemon says, and where. */
import { useRef } from "preact/hooks";
import { Refusal } from "./api";
import { Problem } from "./ui";

type Fields = Record<string, unknown>;
type Field = "arguments" | "values" | "class_of" | "dimension" | "evaluations" | "objective";

interface Kind {
	id: string; title: string;
	/** the key that holds the tactic's fields; "": they are its own, beside named */
	key: "" | "manual" | "auto" | "polish";
	axis: "one" | "many" | "none";
	fields: Field[];
}

const KINDS: Kind[] = [
	...["data_parallel", "zero2", "zero3"].map(id => ({ id, title: id, key: "" as const, axis: "one" as const, fields: ["arguments" as const] })),
	{ id: "replicate", title: "keep off the axis", key: "", axis: "one", fields: ["arguments", "values"] },
	{ id: "arguments", title: "shard arguments", key: "manual", axis: "one", fields: ["arguments", "dimension"] },
	{ id: "values", title: "constrain inner values", key: "manual", axis: "one", fields: ["values", "dimension"] },
	{ id: "class_of", title: "constrain a stream", key: "manual", axis: "one", fields: ["class_of", "dimension"] },
	{ id: "auto", title: "search", key: "auto", axis: "many", fields: ["arguments", "evaluations", "objective"] },
	{ id: "polish", title: "polish", key: "polish", axis: "none", fields: ["evaluations"] },
];

const isObject = (x: unknown): x is Fields => typeof x === "object" && x !== null && !Array.isArray(x);

/** A tactic that this editor does not know is shown as its text. */
function kindOf(tactic: Fields): Kind | undefined {
	const body = tactic.manual, id = tactic.named ?? (isObject(body) ? ["class_of", "values"].find(f => f in body) ?? "arguments" : ["auto", "polish"].find(f => isObject(tactic[f])));
	return KINDS.find(k => k.id === id);
}

const bodyOf = (tactic: Fields, k: Kind): Fields => k.key ? tactic[k.key] as Fields : tactic;

function made(k: Kind, body: Fields): Fields {
	if (!k.key) {
		const { named: _, ...rest } = body;
		return { named: k.id, ...rest };
	}
	return { [k.key]: body };
}

/** As typed: a JSON list, object or number, or else one text. */
function readChoice(text: string): unknown {
	if (/^(\d+$|\[|\{)/.test(text)) try { return JSON.parse(text); } catch { /* a name such as ['x'] */ }
	return text || undefined;
}
const writeChoice = (v: unknown): string => v === undefined ? "" : typeof v === "string" ? v : JSON.stringify(v);

/* ---------------------------------------------------------------- what is wrong */

/** tactic: -1 for all of it; field: of the tactic, where it is known. */
export interface ScheduleProblem { tactic: number; field: string; text: string }

/** Of a refused request by its pointer, or of a failed search by its words; null: about something else. */
export function scheduleProblem(e: unknown): ScheduleProblem | null {
	const first = e instanceof Refusal ? e.detail.errors?.[0]?.pointer ?? "" : "", text = e instanceof Error ? e.message : String(e);
	const at = /^\/schedule(?:\/tactics(?:\/(\d+))?(?:\/(.*))?)?(\/|$)/.exec(first);
	if (at) return { tactic: Number(at[1] ?? -1), field: (at[2] ?? "").replace(/^(manual|auto|polish)\//, "").split("/")[0]!, text };
	const said = /^schedule: (?:tactics\[(\d+)\]: )?(.*)/s.exec(text);
	return said ? { tactic: Number(said[1] ?? -1), field: "", text: said[2]! } : null;
}

/** The list of tactics in a text; a problem where it is no schedule. */
export function readSchedule(text: string): { tactics: Fields[]; rest: Fields } | ScheduleProblem {
	const wrong = (why: string): ScheduleProblem => ({ tactic: -1, field: "", text: why });
	if (!text) return { tactics: [], rest: {} };
	let value: unknown;
	try { value = JSON.parse(text); } catch (e) { return wrong(`It is no JSON: ${(e as Error).message}`); }
	if (!isObject(value) || !Array.isArray(value.tactics)) return wrong(`Expected {"tactics": [..]}`);
	const { tactics, ...rest } = value, bad = tactics.findIndex(t => !isObject(t));
	return bad < 0 ? { tactics, rest } : { tactic: bad, field: "", text: `Tactic ${bad + 1}: expected an object` };
}

/* ---------------------------------------------------------------- one tactic */

const LABELS: Record<Field, [string, string]> = {
	arguments: ["of arguments", "params*, or a role"], values: ["of values", "models/llama.py:48:*"], class_of: ["of the stream of", "params*'embed'*"],
	dimension: ["dimension", "0"], evaluations: ["evaluations", "its share"], objective: ["for", ""],
};

function Axes({ axes, body, kind, set, label }: { axes: string[]; body: Fields; kind: Kind; set: (fields: Fields) => void; label: string }) {
	if (kind.axis === "none") return null;
	const at = typeof body.axis === "string" ? body.axis : "";
	if (kind.axis === "one")
		return <label>over <select aria-label={`axis of ${label}`} value={at} onChange={e => set({ axis: e.currentTarget.value })}>
			{axes.includes(at) ? null : <option value={at}>{at || "…"}</option>}{axes.map(a => <option key={a}>{a}</option>)}</select></label>;
	const chosen = Array.isArray(body.axes) ? body.axes.filter(a => typeof a === "string") : [], all = [...axes, ...chosen.filter(a => !axes.includes(a))];
	return <span class="over-axes" role="group" aria-label={`axes of ${label}; none: all`}>over {all.map(a => <label key={a} class="inline"><input type="checkbox" checked={chosen.includes(a)} onChange={e => {
		const next = all.filter(x => (x === a ? e.currentTarget.checked : chosen.includes(x)));
		set({ axes: next.length ? next : undefined });
	}} />{a}</label>)}{chosen.length ? null : <span class="soft">all axes</span>}</span>;
}

function Inputs({ fields, body, set, label, wrong }: { fields: Field[]; body: Fields; set: (fields: Fields) => void; label: string; wrong: string }) {
	return <>{fields.map(f => {
		const [title, hint] = LABELS[f], name = `${title} ${label}`, invalid = wrong === f || undefined;
		if (f === "objective") return <label key={f}>{title} <select aria-label={`objective of ${label}`} aria-invalid={invalid} value={String(body.objective ?? "")} onChange={e => set({ objective: e.currentTarget.value || undefined })}>
			<option value="">the search's aim</option><option value="runtime">time of a step</option><option value="memory">memory</option></select></label>;
		const number = f === "dimension" || f === "evaluations", text = writeChoice(body[f]);
		const props = { "aria-label": name, "aria-invalid": invalid, value: text, placeholder: hint };
		if (number) return <label key={f}>{title} <input {...props} type="number" min={f === "evaluations" ? 1 : 0} onChange={e => set({ [f]: e.currentTarget.value === "" ? undefined : Number(e.currentTarget.value) })} /></label>;
		return <label key={f}>{title} <input {...props} class="mono" size={22} spellcheck={false} onChange={e => set({ [f]: readChoice(e.currentTarget.value.trim()) })} /></label>;
	})}</>;
}

interface TacticProps { tactic: Fields; i: number; last: boolean; axes: string[]; problem: ScheduleProblem | null; change: (t: Fields) => void; move: (by: number) => void; remove: () => void }

function Tactic({ tactic, i, last, axes, problem, change, move, remove }: TacticProps) {
	const kind = kindOf(tactic), label = `tactic ${i + 1}`, body = kind ? bodyOf(tactic, kind) : {};
	const set = (fields: Fields) => {
		const next: Fields = { ...body, ...fields };
		for (const k of Object.keys(next)) if (next[k] === undefined) delete next[k];
		change(made(kind!, next));
	};
	/** Another kind keeps the axis, as far as it has one. */
	const turn = (id: string) => {
		const k = KINDS.find(x => x.id === id)!, kept = Array.isArray(body.axes) ? body.axes[0] : body.axis, axis = kept ?? axes[0];
		change(made(k, k.axis === "one" ? { axis, ...(k.fields[0] === "arguments" && body.arguments !== undefined ? { arguments: body.arguments } : {}) } : k.axis === "many" && kept ? { axes: [kept] } : {}));
	};
	return <li class={`tactic${problem ? " wrong" : ""}`}>
		<span class="step" aria-hidden="true">{i + 1}</span>
		<div class="tactic-fields">
			<label><span class="hidden">kind of {label}</span><select value={kind?.id ?? ""} onChange={e => turn(e.currentTarget.value)}>{kind ? null : <option value="">another</option>}{KINDS.map(k => <option key={k.id} value={k.id}>{k.title}</option>)}</select></label>
			{kind ? <><Axes axes={axes} body={body} kind={kind} set={set} label={label} /><Inputs fields={kind.fields} body={body} set={set} label={label} wrong={problem?.field ?? ""} /></> : <code class="mono">{JSON.stringify(tactic)}</code>}
			<span class="tactic-moves">
				<button type="button" class="small" disabled={!i} onClick={() => move(-1)}><span class="hidden">move {label} up </span>↑</button>
				<button type="button" class="small" disabled={last} onClick={() => move(1)}><span class="hidden">move {label} down </span>↓</button>
				<button type="button" class="small" onClick={remove}>Remove<span class="hidden"> {label}</span></button></span>
			{problem ? <p class="over" role="alert">{problem.field ? `${problem.field}: ` : ""}{problem.text}</p> : null}
		</div>
	</li>;
}

/* ---------------------------------------------------------------- all of it */

const MOST_TACTICS = 24, QUICK = ["data_parallel", "zero2", "zero3", "arguments", "auto"];

export function ScheduleEditor({ text, axes, problem, change }: { text: string; axes: string[]; problem: ScheduleProblem | null; change: (text: string) => void }) {
	const box = useRef<HTMLElement>(null), read = readSchedule(text), wrong = "tactics" in read ? problem : read, { tactics, rest } = "tactics" in read ? read : { tactics: [], rest: {} };
	const write = (list: Fields[]) => change(list.length || Object.keys(rest).length ? JSON.stringify({ tactics: list, ...rest }) : "");
	const add = (id: string, axis: string) => {
		const k = KINDS.find(x => x.id === id)!;
		write([...tactics, made(k, k.axis === "one" ? { axis } : k.axis === "many" ? { axes: [axis] } : {})]);
	};
	const swap = (i: number, by: number) => { const next = [...tactics]; [next[i], next[i + by]] = [next[i + by]!, next[i]!]; write(next); };
	/** The button that was pressed may be gone: the focus goes to the list, not to the top of the page. */
	const remove = (i: number) => { write(tactics.filter((_, k) => k !== i)); box.current?.focus(); };
	return <section class="card schedule" ref={box} tabIndex={-1} aria-label="Schedule"><h2>Schedule</h2>
		{wrong && wrong.tactic < 0 ? <Problem>{wrong.text}</Problem> : null}
		{tactics.length ? <ol class="tactics">{tactics.map((t, i) => <Tactic key={i} tactic={t} i={i} last={i === tactics.length - 1} axes={axes} problem={wrong?.tactic === i ? wrong : null}
			change={next => write(tactics.map((x, k) => (k === i ? next : x)))} move={by => swap(i, by)} remove={() => remove(i)} />)}</ol>
			: <p class="soft">One search over all axes. Tactics, run in order, say more: each starts from the plan that those before it left.</p>}
		<div class="tactics-add">{axes.map((a, i) => <p key={a}><span class={`chip seg axis${i % 6}`}>{a}</span> {QUICK.map(id => <button type="button" class="small" key={id} disabled={tactics.length >= MOST_TACTICS || !("tactics" in read)} onClick={() => add(id, a)}>
			+ {KINDS.find(k => k.id === id)!.title}<span class="hidden"> over {a}</span></button>)}</p>)}
			<p><span class="chip seg">all axes</span> <button type="button" class="small" disabled={tactics.length >= MOST_TACTICS || !("tactics" in read)} onClick={() => write([...tactics, { auto: {} }])}>+ search<span class="hidden"> over all axes</span></button> <button type="button" class="small" disabled={tactics.length >= MOST_TACTICS || !("tactics" in read)} onClick={() => write([...tactics, { polish: {} }])}>+ polish</button></p></div>
		<details><summary>Its text</summary><label>Schedule as JSON<textarea class="mono" rows={5} value={"tactics" in read && text ? JSON.stringify(JSON.parse(text), null, 1) : text} placeholder={`{"tactics": [{"named": "data_parallel", "axis": "data"}, {"auto": {}}]}`} spellcheck={false} onChange={e => change(e.currentTarget.value.trim())} /></label></details>
	</section>;
}
