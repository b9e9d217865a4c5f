/** What the daemon answers; docs/openapi.json and docs/strategy-document.md describe it. */

export type Axes = string[][];
export type Sharding = Axes | { dims: Axes; open?: boolean[]; replicated?: string[]; unreduced?: string[] };

export interface Best { runtime_ns: number; peak_bytes: number; fits: boolean }

export interface Search {
	id: string; state: "queued" | "running" | "succeeded" | "failed" | "canceled"; strategy: string | null; partial: boolean;
	module: string; fingerprint: string; mesh: string; device: string; memory_bytes: number; objective: string; budget: string;
	attempt: number; canceling: boolean; evaluations: number; best: Best | null; error: { detail: string } | null;
	labels: string[]; tags: string[]; owner: string | null; priority: number; verification: Verification | null;
	request?: { seconds?: number; evaluations?: number; pins?: string[]; [field: string]: unknown };
	created: string; started: string | null; ended: string | null;
}

export interface StrategyRow {
	id: string; search: string; module: string; fingerprint: string; name: string; mesh: string; device: string; objective: string;
	memory_limit_bytes: number; fits: boolean; partial: boolean; runtime_ns: number; peak_bytes: number; communication_ns: number;
	evaluations: number; created: string; labels: string[]; tags: string[]; hits: number; last_hit: string | null; cost_model: string;
}

/** What a compiler said of a program; strategy: of the plan that is kept, where one was chosen. */
export interface VerifiedRow {
	plan: string; apply: string; source: string; compiler: string; version: string; runtime_ns: number | null; peak_bytes: number | null; fits: boolean;
	predicted_runtime_ns: number | null; predicted_peak_bytes: number | null; seconds: number | null; reason: string | null; chosen: boolean; strategy: string | null;
}

export interface Verification {
	state: "queued" | "running" | "done" | "failed" | "canceled"; plans: number; attempt: number; planned: string | null; error: string | null;
	verifier: string | null; created: string; started: string | null; ended: string | null; best: VerifiedRow | null;
}

/** What a step took on a machine. */
export interface Measurement { step_ns: number; peak_bytes: number | null; hardware: string | null; device: string; compiler: string | null; steps: number | null; source: string | null; measured: string }

export interface Argument {
	index: number; name: string; type: string; role: string; sharding: Sharding | null; propagated?: Axes;
}

/** Numbers of arguments: first, how many, and the distance between two. */
export type Progression = [number, number, number];

/** Arguments that are alike, in their order. */
export interface ArgumentRow { name: string; count: number; members: Progression[]; type: string; role: string; sharding: Sharding | null; propagated?: Axes }

/** targets: what its members are called, each pattern once. */
export interface Action {
	step: number; tactic: string; kind: "partition" | "replicate" | "constrain"; members: Progression[]; targets: { name: string; count: number }[]; constraints?: number[];
	dimension: number; axis: string; delta: { runtime_ns: number; peak_bytes: number };
}

export interface Collective { count: number; dynamic_count: number; bytes: number }

export interface Cost {
	runtime_ns: number; compute_ns: number; communication_ns: number; exposed_communication_ns: number; peak_bytes: number;
	argument_bytes: number; output_bytes: number; alias_bytes: number; temporary_bytes: number; flops_per_device: number;
	collectives: Record<string, Collective>;
	uncounted_loops?: { location: string; count: number; trips: number; by: "request" | "bound" | "unknown" }[];
}

export interface Incumbent { evaluation: number; seconds: number; runtime_ns: number; peak_bytes: number; fits?: boolean }

export interface Baseline { name: string; runtime_ns: number; peak_bytes: number; fits: boolean }

/** A node of the search tree; its parent comes before it. */
export interface TreeNode {
	parent?: number; what: string; evaluations: number; plans: number; costed: number; runtime_ns?: number; peak_bytes?: number; fits?: boolean; done: boolean;
}

export interface Progress { evaluation: number; seconds: number; baselines?: Baseline[]; tree?: TreeNode[] }

/** A plan of the front of step time over memory, where nothing fits. */
export interface FrontPoint { peak_bytes: number; runtime_ns: number; answer?: boolean; baseline?: string }

/** The outline of a strategy's document: rows stand for arguments. */
export interface Strategy {
	module: { name: string; fingerprint: string; ops: number; arguments: number };
	mesh: { axes: { name: string; size: number; link?: string }[]; device_order?: number[] };
	device: string; memory_limit_bytes: number; fits: boolean; apply: string;
	too_large?: { smallest_peak_bytes: number; smallest_runtime_ns: number; pareto?: FrontPoint[]; least_devices?: number; donation_saves_bytes?: number; rematerialise_bytes?: number };
	rows: ArgumentRow[]; constraints: { location: string }[]; actions: Action[]; cost: Cost;
	baselines: { name: string; fits: boolean; cost: Cost }[];
	unsupported: { op: string; location: string; count: number; bytes: number }[];
	runs_whole?: { op: string; location: string; count: number; bytes: number }[];
	search: { evaluations: number; replays: number; seconds: number; interrupted: boolean; bound?: { runtime_ns: number; peak_bytes: number }; incumbents: Incumbent[] };
}

/** The document itself, where arguments are many as long as all else is short. */
export type Whole = Omit<Strategy, "rows" | "actions"> & { arguments: Argument[] };

export interface SourceCollective { kind: string; op: string; location: string; executions: number; bytes: number; time_ns: number; windowed_einsum?: boolean }

export interface Decision {
	tactic: string; kind: string; dimension: number; axis?: string; members: number[]; names: string[];
	without: { runtime_ns: number; peak_bytes: number; fits: boolean; collectives: SourceCollective[] };
	alternatives: { kind: string; dimension: number; axis?: string; members: number; runtime_ns: number; peak_bytes: number; fits: boolean }[];
}

export interface Explanation { cost: Cost; collectives: SourceCollective[]; decisions: Decision[] }

/** A temporary at the peak. */
export interface Live { bytes: number; op: string; location?: string }

export interface TraceEvent {
	ph: string; tid?: number; name: string; ts?: number; dur?: number;
	args: { name?: string; op?: number; bytes?: number; group?: number; exposed_ns?: number; memory_traffic_bytes?: number; limit?: string; location?: string; trips?: number; values?: number; live?: Live[] };
}
export interface Trace { traceEvents: TraceEvent[] }

export interface Device {
	name: string; aliases: string[]; title: string; target: string; memory_bytes: number; usable_bytes: number; memory_bytes_s: number;
	bf16_flops: number; links: { name: string; kind: string; size: number; bandwidth_bytes_s: number }[];
}

export interface Module { id: string; fingerprint: string; name: string; ops: number; arguments: number; bytes: number; created: string; labels: string[] }
export interface ModuleArgument { index: number; name: string; type: string; role: string; bytes: number }
export interface Layout { count: number; parts: number[]; notations: Record<string, string | null>; devices: { device: number; ranges: [number, number][] }[] }
