/** A strategy in rows of arguments: of a program with 100,000 of them some KiB instead of 17 MB. */
import { useMemo } from "preact/hooks";
import { type Loaded, useOnce } from "./api";
import { common, pattern } from "./fold";
import type { Action, Progression, Strategy, Whole } from "./types";

/** What a document says of a decision: its members one by one. */
type Listed = Omit<Action, "members" | "targets"> & { members: number[] };

const single = (i: number): Progression => [i, 1, 1];

function targetsOf(members: number[], w: Whole): Action["targets"] {
	const out = new Map<string, { name: string; count: number }>();
	for (const m of members) {
		const name = w.arguments[m]!.name, key = pattern(name), t = out.get(key);
		if (t) { t.count++; t.name = common(t.name, name); }
		else out.set(key, { name, count: 1 });
	}
	return [...out.values()];
}

/** A row for each argument: nothing is folded, but everything is there. */
function unfolded(w: Whole & { actions: Listed[] }): Strategy {
	return { ...w, rows: w.arguments.map((a, i) => ({ ...a, count: 1, members: [single(i)] })),
		actions: w.actions.map(a => ({ ...a, members: a.members.map(single), targets: targetsOf(a.members, w) })) };
}

/** The outline is made by a worker and kept on disk; where neither can be had (a full queue, a full disk), the document is shown instead. id "": nothing is asked. */
export function useStrategy(id: string): Loaded<Strategy> {
	const outline = useOnce<Strategy>(id ? `/v1/strategies/${id}/outline` : "");
	const whole = useOnce<Whole & { actions: Listed[] }>(outline.error ? `/v1/strategies/${id}` : "");
	const data = useMemo(() => whole.data && unfolded(whole.data), [whole.data]);
	return outline.error ? { data, error: whole.error } : outline;
}
