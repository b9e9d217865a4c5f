// The fold of arguments, which is written to be quick, beside one that is written to be read. Thousands of odd names.
import assert from "node:assert/strict";
import { test } from "node:test";
import { build } from "esbuild";

const here = new URL("..", import.meta.url).pathname;
const { outputFiles } = await build({ absWorkingDir: here, entryPoints: ["src/fold.ts"], bundle: true, format: "esm", write: false, logLevel: "error" });
const { fold, pattern } = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString("base64")}`);

// [0], ['0'], .0, layer_0, mlp_1/linear; not the digits of words, as in ln1
const NUMBER = /(?<=\[)\d+|(?<=^|[[\]'"./_])\d+(?=$|[\]'"./_])/g;
const PIECES = ["[", "]", "'", "\"", ".", "/", "_", "0", "1", "12", "007", "w", "ln1", "layers", "a9b", "[3]", "_2_", "é", ""];
const TYPES = ["tensor<8xf32>", "tensor<4x4xf32>"], SHARDINGS = [null, [["data"], []], [[], ["data"]], [["data", "model"], []]];

let seed = 7;
const random = n => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) % n;
const name = () => Array.from({ length: 1 + random(6) }, () => PIECES[random(PIECES.length)]).join("");

test("what is folded together has one pattern, type, role and sharding, and all that has is", () => {
	for (let round = 0; round < 2000; round++) {
		const list = Array.from({ length: 30 }, (_, index) => ({ index, name: name(), type: TYPES[random(2)], role: "parameter", sharding: SHARDINGS[random(4)], propagated: [[], []] }));
		const expected = new Map();
		for (const a of list) {
			assert.equal(pattern(a.name), a.name.replace(NUMBER, "*"));
			const key = JSON.stringify([a.name.replace(NUMBER, "*"), a.type, a.sharding ?? a.propagated, a.sharding !== null]);
			expected.set(key, [...(expected.get(key) ?? []), a.index]);
		}
		const groups = fold(list, new Map([["data", 2], ["model", 2]]));
		assert.deepEqual(groups.map(g => g.members.map(m => m.index)), [...expected.values()]);
		for (const g of groups) { // a number that all have stays in the name
			const parts = g.name.split("*"), fits = m => new RegExp(`^${parts.map(p => p.replace(/[.[\]\\^$*+?(){}|/]/g, "\\$&")).join("\\d+")}$`, "s").test(m.name);
			assert.ok(g.members.every(fits), `${g.name}: ${g.members.map(m => m.name)}`);
		}
		assert.equal(fold(list, new Map()), groups); // once for a list
	}
});
