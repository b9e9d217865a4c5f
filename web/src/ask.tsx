/** A question: a module, a mesh, a device, what is fixed. All of it is in the URL. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { Refusal, ask, forget, post, useOnce } from "./api";
import { type Filter, matcher, parseType, pattern, typeText } from "./fold";
import { bytes, count, metric, short } from "./format";
import { Grid } from "./grid";
import { Filters } from "./arguments";
import { Labels, MODULES, called, readTags } from "./labels";
import { amend, go, link, useRoute } from "./route";
import { ScheduleEditor, type ScheduleProblem, readSchedule, scheduleProblem } from "./schedule";
import type { Axes, Device, Module, ModuleArgument, Search } from "./types";
import { Chips, Fact, Heading, Name, Problem, Table, Waiting } from "./ui";

/* ---------------------------------------------------------------- the module */

function Drop({ onModule }: { onModule: (m: Module) => void }) {
	const [busy, setBusy] = useState(""), [error, setError] = useState<Refusal | Error | null>(null), [over, setOver] = useState(false);
	const text = useRef<HTMLTextAreaElement>(null), label = useRef<HTMLInputElement>(null), file = useRef<HTMLInputElement>(null);
	const upload = async (body: Blob | string, name: string) => {
		setBusy(`Sending ${name}`);
		setError(null);
		try {
			const m = await ask<Module>("/v1/modules", { method: "POST", body }), called = label.current!.value.trim();
			if (called) await post(`/v1/modules/${m.id}/labels`, { add: [called] }); // a header could not hold every label
			onModule(m);
		} catch (e) { setError(e as Error); }
		finally { setBusy(""); }
	};
	const detail = error instanceof Refusal ? error.detail : {};
	return <section class="card">
		<h2>Module</h2>
		<div class={`drop${over ? " over" : ""}`} onDragOver={e => { e.preventDefault(); setOver(true); }} onDragLeave={() => setOver(false)}
			onDrop={e => { e.preventDefault(); setOver(false); const f = e.dataTransfer?.files[0]; if (f) upload(f, f.name); }}>
			<p><b>Drop a StableHLO file here</b> <span class="soft">plain, gzip or zstd, as <code>jax.jit(step).lower(..).as_text(debug_info=True)</code> prints it</span></p>
			<p><label>Name it <input ref={label} maxLength={100} size={24} placeholder="gpt2 batch 512" /></label> <span class="soft">optional: JAX calls every program jit_step</span></p>
			<p><label class="button">Choose a file<input ref={file} type="file" class="hidden" onChange={e => { const f = e.currentTarget.files?.[0]; if (f) upload(f, f.name); }} /></label></p>
			<details><summary>Or paste its text</summary>
				<label>Text of the module<textarea ref={text} rows={8} class="mono" spellcheck={false} /></label>
				<button type="button" onClick={() => upload(text.current!.value, "the text")}>Use this text</button></details>
		</div>
		{busy ? <Waiting what={busy} /> : null}
		{error ? <Problem>{detail.line ? `Line ${detail.line}, column ${detail.column}: ` : ""}{error.message}{detail.excerpt ? <pre>{detail.excerpt}</pre> : null}</Problem> : null}
	</section>;
}

/** Modules that are here already, newest first. */
function Known() {
	const { query } = useRoute(), { data, error } = useOnce<{ modules: Module[] }>(MODULES), text = (query.get("q") ?? "").toLowerCase();
	const rows = (data?.modules ?? []).filter(m => !text || `${m.name} ${m.labels.join(" ")} ${m.id}`.toLowerCase().includes(text));
	if (error) return <Problem>{error}</Problem>;
	if (!data?.modules.length) return null;
	return <section class="card"><h2>Or one that is here</h2>
		<div class="filters"><label>Name, label or id <input type="search" value={query.get("q") ?? ""} onInput={e => amend({ q: e.currentTarget.value })} /></label></div>
		<Table caption="Modules" rows={rows.slice(0, 30)} keyOf={m => m.id} empty="No module is called so." columns={[{ title: "Module", wide: true, cell: m => <a href={link(["ask"], { module: m.id })}><b>{called(m.name, m.labels)}</b> <span class="soft mono">{short(m.id)}</span></a> },
			{ title: "Labels", cell: m => m.labels.slice(1).join(", ") }, { title: "Arguments", number: true, cell: m => count(m.arguments) }, { title: "Ops", number: true, cell: m => count(m.ops) }, { title: "Text", number: true, cell: m => bytes(m.bytes) }]} />
	</section>;
}

/* ---------------------------------------------------------------- mesh and device */

interface Axis { name: string; size: number }

const readMesh = (text: string): Axis[] => text.split(",").filter(Boolean).map(p => ({ name: p.split("=")[0]!, size: Number(p.split("=")[1] ?? 1) || 1 }));
const writeMesh = (axes: Axis[]): string => axes.map(a => `${a.name}=${a.size}`).join(",");

function MeshEditor({ axes, device }: { axes: Axis[]; device: Device | undefined }) {
	const set = (next: Axis[]) => amend({ mesh: writeMesh(next) });
	const devices = axes.reduce((n, a) => n * a.size, 1), inner = device?.links[0];
	const change = (i: number, field: Partial<Axis>) => set(axes.map((a, k) => (k === i ? { ...a, ...field } : a)));
	return <fieldset><legend>Mesh</legend>
		{axes.map((a, i) => <div class="axis-row" key={i}>
			<span class={`swatch axis${i % 6}`} aria-hidden="true" />
			<label><span class="hidden">name of axis {i + 1}</span><input value={a.name} size={8} pattern="[A-Za-z_][A-Za-z0-9_]*" onChange={e => change(i, { name: e.currentTarget.value.replace(/[^A-Za-z0-9_]/g, "") || `axis${i}` })} /></label>
			<label><span class="hidden">size of {a.name}</span><input type="number" min={1} max={16777216} value={a.size} onChange={e => change(i, { size: Math.max(1, Math.round(Number(e.currentTarget.value)) || 1) })} /></label>
			<button type="button" class="small" onClick={() => change(i, { size: Math.max(1, a.size >> 1) })}><span class="hidden">halve {a.name} </span>÷2</button>
			<button type="button" class="small" onClick={() => change(i, { size: a.size * 2 })}><span class="hidden">double {a.name} </span>×2</button>
			<button type="button" class="small" disabled={!i} onClick={() => set(axes.map((x, k) => (k === i - 1 ? a : k === i ? axes[i - 1]! : x)))}><span class="hidden">move {a.name} up </span>↑</button>
			<button type="button" class="small" disabled={axes.length < 2} onClick={() => set(axes.filter((_, k) => k !== i))}>Remove<span class="hidden"> {a.name}</span></button>
		</div>)}
		<button type="button" class="small" disabled={axes.length >= 32} onClick={() => set([...axes, { name: ["data", "model", "stage", "expert"].find(n => !axes.some(a => a.name === n)) ?? `axis${axes.length}`, size: 2 }])}>Add an axis</button>
		<p role="status"><b>{count(devices)} devices</b> <span class="soft">{inner?.size ? (devices <= inner.size ? `of up to ${count(inner.size)} on ${inner.name}` : `more than the ${count(inner.size)} that ${inner.name} joins: outer axes go over ${device?.links[1]?.name ?? "nothing"}`) : ""}</span></p>
		<p class="soft">Major axis first; the last one lies on the fastest links.</p>
	</fieldset>;
}

function DevicePicker({ devices, at }: { devices: Device[]; at: string }) {
	return <fieldset class="devices-list"><legend>Device</legend>{devices.map(d => <label key={d.name} class={`device${d.name === at ? " at" : ""}`}>
		<input type="radio" name="device" checked={d.name === at} onChange={() => amend({ device: d.name, memory: "" })} />
		<span><b>{d.name}</b> <span class="soft">{d.title}</span><br />
			<span class="numbers">{metric(d.bf16_flops)}FLOP/s · {bytes(d.usable_bytes)} of {bytes(d.memory_bytes)} · {metric(d.memory_bytes_s)}B/s</span><br />
			<span class="numbers soft">{d.links.map(l => `${l.name} ${l.kind}${l.size ? ` of ${count(l.size)}` : ""} at ${metric(l.bandwidth_bytes_s)}B/s`).join(", ")}</span></span>
	</label>)}</fieldset>;
}

/* ---------------------------------------------------------------- arguments and pins */

export type Pins = Map<string, Axes>;

/** A pin as the API takes it, GLOB:SHARDING; arguments of one pattern are pinned together. */
const glob = (name: string): string => pattern(name);
const readPins = (text: string): Pins => {
	const out: Pins = new Map();
	for (const line of text.split("\n")) {
		const at = line.lastIndexOf(":[");
		if (at > 0) try { out.set(line.slice(0, at), JSON.parse(line.slice(at + 1))); } catch { /* a line that somebody changed by hand */ }
	}
	return out;
};
const writePins = (pins: Pins): string => [...pins].map(([g, cuts]) => `${g}:${JSON.stringify(cuts)}`).join("\n");

interface Row { name: string; glob: string; type: string; role: string; bytes: number; n: number }

function PinList({ module, axes, pins }: { module: string; axes: Axis[]; pins: Pins }) {
	const { query } = useRoute();
	const { data, error } = useOnce<{ arguments: ModuleArgument[] }>(`/v1/modules/${module}/arguments`);
	const [selected, select] = useState(0);
	const rows = useMemo(() => {
		const by = new Map<string, Row>();
		for (const a of data?.arguments ?? []) {
			const g = glob(a.name), key = `${g}\0${a.type}\0${a.role}`, row = by.get(key);
			if (row) { row.n++; row.bytes += a.bytes; row.name = g; }
			else by.set(key, { name: a.name, glob: g, type: a.type, role: a.role, bytes: a.bytes, n: 1 });
		}
		return [...by.values()];
	}, [data]);
	const filter: Filter = { text: query.get("q") ?? "", role: query.get("role") ?? "", axis: query.get("axis") ?? "" };
	const fits = matcher(filter), shown = rows.filter(r => fits(r, pins.get(r.glob) ?? []));
	if (error) return <Problem>{error}</Problem>;
	if (!data) return <Waiting what="A worker reads the arguments" />;
	const names = axes.map(a => a.name);
	/** Clicking a dimension goes through: whole, then each axis that no other dimension has. */
	const turn = (r: Row, dim: number) => {
		const rank = parseType(r.type).shape.length, now = pins.get(r.glob) ?? Array.from({ length: rank }, () => [] as string[]);
		const taken = now.flatMap((d, i) => (i === dim ? [] : d)), choices = ["", ...names.filter(n => !taken.includes(n))];
		const next = choices[(choices.indexOf(now[dim]?.[0] ?? "") + 1) % choices.length]!;
		const all = new Map(pins);
		all.set(r.glob, now.map((d, i) => (i === dim ? (next ? [next] : []) : d)));
		amend({ pins: writePins(all) });
	};
	const free = (r: Row) => { const all = new Map(pins); all.delete(r.glob); amend({ pins: writePins(all) }); };
	return <>
		<Filters query={query} roles={[...new Set(rows.map(r => r.role))]} axes={names} shown={shown.reduce((n, r) => n + r.n, 0)} all={data.arguments.length} />
		<Grid label="Arguments and pins" rows={shown.length} level={() => 1} open={() => undefined} onOpen={() => {}} selected={selected} onSelect={select}
			columns={[{ title: "Argument", class: "g-name" }, { title: "Count", number: true, class: "g-count" }, { title: "Role", class: "g-role" }, { title: "Type", class: "g-type" }, { title: "Pin", class: "g-cuts" }, { title: "All bytes", number: true, class: "g-bytes" }]}
			cells={i => {
				const r = shown[i]!, t = parseType(r.type), pin = pins.get(r.glob);
				return [<Name text={r.name} />, r.n > 1 ? `×${count(r.n)}` : "", <span class={`role r-${r.role}`}>{r.role}</span>, <span class="mono soft" title={r.type}>{typeText(r.type)}</span>,
					<><Chips cuts={pin ?? t.shape.map(() => [])} axes={names} onDim={t.shape.length ? dim => turn(r, dim) : undefined} />{pin ? <button type="button" class="small" aria-label={`free ${r.name}`} onClick={() => free(r)}>Free</button> : null}</>, bytes(r.bytes)];
			}} />
		<p class="soft">Click a dimension to pin what it is cut over; with any pin an argument is fixed, dimensions marked – are kept whole. {pins.size ? `${pins.size} pinned.` : ""}</p>
	</>;
}

/* ---------------------------------------------------------------- all of it */

const DEFAULT = "tpu-v5e"; // the daemon's own default

const text = (v: unknown): string => (v === undefined || v === null ? "" : typeof v === "string" ? v : JSON.stringify(v));

/** The question of a search, so that it can be changed and asked again; failed: whose error says what is wrong with it. */
export function questionOf(s: Search): Record<string, string> {
	const r = s.request ?? {};
	return { module: s.module, mesh: s.mesh, device: s.device === "default" || s.device === "custom" ? "" : s.device, memory: text(r.memory), objective: r.objective === "memory" ? "memory" : "", seconds: text(r.seconds), verify: text(r.verify),
		pins: (r.pins ?? []).join("\n"), schedule: text(r.schedule), tags: s.tags.join(", "), failed: s.error ? s.id : "" };
}

export function AskView() {
	const { query } = useRoute();
	const get = (name: string, or = "") => query.get(name) ?? or;
	const id = get("module"), mesh = get("mesh", "data=4,model=2"), name = get("device", DEFAULT);
	const module = useOnce<Module>(id ? `/v1/modules/${id}` : ""), devices = useOnce<Device[]>("/v1/devices");
	const [error, setError] = useState(""), [problem, setProblem] = useState<ScheduleProblem | null>(null), [busy, setBusy] = useState(false), axes = readMesh(mesh), pins = readPins(get("pins"));
	const device = devices.data?.find(d => d.name === name || d.aliases.includes(name));
	const failed = useOnce<Search>(get("failed") ? `/v1/searches/${get("failed")}` : "");
	useEffect(() => { setError(""); setProblem(null); }, [query]);
	const before = failed.data?.error && text(failed.data.request?.schedule) === get("schedule") ? scheduleProblem(failed.data.error.detail) : null;
	const submit = async () => {
		const body: Record<string, unknown> = { module: id, mesh, device: name };
		if (get("memory")) body.memory = get("memory");
		if (get("objective")) body.objective = get("objective");
		if (get("seconds")) body.seconds = Number(get("seconds"));
		if (get("tags")) body.tags = readTags(get("tags"));
		if (get("verify")) body.verify = Number(get("verify"));
		if (pins.size) body.pins = writePins(pins).split("\n");
		setBusy(true);
		try {
			const schedule = readSchedule(get("schedule"));
			if (!("tactics" in schedule)) throw new Error("The schedule is not well formed.");
			if (get("schedule")) body.schedule = JSON.parse(get("schedule"));
			const s = await post<Search>("/v1/searches", body);
			s.state === "succeeded" && s.strategy ? go(["strategies", s.strategy]) : go(["searches", s.id]);
		} catch (e) {
			const where = e instanceof Refusal ? e.detail.errors?.[0]?.pointer : undefined;
			const of = scheduleProblem(e);
			setProblem(of);
			setError(of ? `The schedule is refused${of.tactic < 0 ? "" : `: tactic ${of.tactic + 1}`}. What is wrong stands there.` : `${where ? `${where}: ` : ""}${(e as Error).message}`);
			setBusy(false);
		}
	};
	return <article class="view">
		<header class="view-head"><Heading of="ask">Ask for a strategy</Heading></header>
		{!id ? <><Drop onModule={m => { forget(MODULES); amend({ module: m.id, q: "" }, true); }} /><Known /></> : module.error ? <Problem>{module.error}</Problem> : !module.data ? <Waiting what="Loading the module" /> : <>
			<dl class="facts big"><Fact name="Module" note={<a href={link(["ask"])}>another one</a>}>{called(module.data.name, module.data.labels)}</Fact><Fact name="Arguments">{count(module.data.arguments)}</Fact><Fact name="Ops">{count(module.data.ops)}</Fact><Fact name="Text">{bytes(module.data.bytes)}</Fact></dl>
			<Labels key={id} module={module.data} />
			<div class="ask">
				<div class="ask-left"><div class="card"><MeshEditor axes={axes} device={device} />
					<fieldset class="row"><legend>Limits and budget</legend>
						<label>Memory of a device <input value={get("memory")} placeholder={device ? bytes(device.usable_bytes) : "16GiB"} size={10} onChange={e => amend({ memory: e.currentTarget.value.replaceAll(" ", "") })} /></label>
						<label>Minimise <select value={get("objective", "runtime")} onChange={e => amend({ objective: e.currentTarget.value === "runtime" ? "" : e.currentTarget.value })}><option value="runtime">time of a step</option><option value="memory">memory</option></select></label>
						<label>Seconds <input type="number" min={0.1} step="any" value={get("seconds")} placeholder="default budget" onChange={e => amend({ seconds: e.currentTarget.value })} /></label>
						<label>Tags <input value={get("tags")} placeholder="nightly, try 2" size={16} onChange={e => amend({ tags: e.currentTarget.value })} /></label>
						<label>Programs to verify <input type="number" min={1} max={64} value={get("verify")} placeholder="none" onChange={e => amend({ verify: e.currentTarget.value })} /></label>
					</fieldset></div>
					<ScheduleEditor text={get("schedule")} axes={axes.map(a => a.name)} problem={problem ?? before} change={schedule => amend({ schedule, failed: "" })} />
					<p class="submit"><button type="button" class="main" disabled={busy} onClick={submit}>Search</button></p>
					{error ? <Problem>{error}</Problem> : failed.data?.error && !before ? <Problem>The search before failed: {failed.data.error.detail}</Problem> : null}
				</div>
				<div class="card">{devices.data ? <DevicePicker devices={devices.data} at={device?.name ?? name} /> : devices.error ? <Problem>{devices.error}</Problem> : <Waiting what="Loading" />}</div>
			</div>
			<section class="card"><h2>Arguments and pins</h2><PinList module={id} axes={axes} pins={pins} /></section>
		</>}
	</article>;
}
