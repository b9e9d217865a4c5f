/** Names that people give: labels of modules, tags of searches. All JAX programs are called jit_step, so these tell them apart. */
import { useState } from "preact/hooks";
import { forget, post } from "./api";
import { link } from "./route";
import type { Module } from "./types";
import { Problem } from "./ui";

/** The newest modules. */
export const MODULES = "/v1/modules?page_size=200";

/** Each leads to the list of what has it. */
export function Named({ labels, tags }: { labels: string[]; tags: string[] }) {
	return <>{labels.map(l => <a key={`l${l}`} class="label" href={link([], { label: l })}>{l}</a>)}
		{tags.map(t => <a key={`t${t}`} class="label tag" href={link([], { tag: t })}><span class="hidden">tag </span>{t}</a>)}</>;
}

/** A module by its labels, or else by its name in the text. */
export const called = (name: string, labels: string[]): string => labels[0] ?? (name || "a module");

/** Gives a module labels and takes them away. */
export function Labels({ module }: { module: Module }) {
	const [labels, setLabels] = useState(module.labels), [text, setText] = useState(""), [error, setError] = useState("");
	const change = async (body: { add?: string[]; remove?: string[] }) => {
		setError("");
		try {
			setLabels((await post<Module>(`/v1/modules/${module.id}/labels`, body)).labels);
			forget(`/v1/modules/${module.id}`);
			forget(MODULES);
			setText("");
		} catch (e) { setError((e as Error).message); }
	};
	return <div class="labels">
		{labels.map(l => <span key={l} class="label">{l}<button type="button" aria-label={`take the label ${l} away`} onClick={() => change({ remove: [l] })}>×</button></span>)}
		<form onSubmit={e => { e.preventDefault(); if (text.trim()) change({ add: [text.trim()] }); }}>
			<label><span class="hidden">Label</span><input value={text} maxLength={100} size={18} placeholder="gpt2 batch 512" onInput={e => setText(e.currentTarget.value)} /></label> <button type="submit" class="small">Add a label</button>
		</form>
		{error ? <Problem>{error}</Problem> : null}
	</div>;
}

/** "a, b" as the API takes tags. */
export const readTags = (text: string): string[] => [...new Set(text.split(",").map(t => t.trim()).filter(Boolean))];
