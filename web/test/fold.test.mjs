// What is written to be quick beside what is written to be read. Thousands of odd names and lists.
import assert from "node:assert/strict";
import { test } from "node:test";
import { build } from "esbuild";

const here = new URL("..", import.meta.url).pathname;
const { outputFiles } = await build({ absWorkingDir: here, entryPoints: ["src/fold.ts"], bundle: true, format: "esm", write: false, logLevel: "error" });
const { isIn, numbersOf, pattern } = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString("base64")}`);

// [0], ['0'], .0, layer_0, mlp_1/linear; not the digits of words, as in ln1
const NUMBER = /(?<=\[)\d+|(?<=^|[[\]'"./_])\d+(?=$|[\]'"./_])/g;
const PIECES = ["[", "]", "'", "\"", ".", "/", "_", "0", "1", "12", "007", "w", "ln1", "layers", "a9b", "[3]", "_2_", "é", ""];

let seed = 7;
const random = n => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) % n;
const name = () => Array.from({ length: 1 + random(6) }, () => PIECES[random(PIECES.length)]).join("");

test("a pattern has a star for each number that counts", () => {
	for (let round = 0; round < 60000; round++) {
		const text = name();
		assert.equal(pattern(text), text.replace(NUMBER, "*"));
	}
});

test("progressions hold the numbers that they list, and no other", () => {
	for (let round = 0; round < 2000; round++) {
		const list = Array.from({ length: 1 + random(4) }, () => [random(50), 1 + random(6), random(9) - 3 || 1]), numbers = new Set(numbersOf(list));
		assert.equal(numbersOf(list).length, list.reduce((n, p) => n + p[1], 0));
		for (let i = -40; i < 120; i++) assert.equal(isIn(i, list), numbers.has(i), `${i} in ${JSON.stringify(list)}`);
	}
});
