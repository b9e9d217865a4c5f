// How the front of step time over memory is drawn, and what is said where nothing fits: of random fronts, and of documents that lack parts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { build } from "esbuild";

const here = new URL("..", import.meta.url).pathname;
const { outputFiles } = await build({ absWorkingDir: here, entryPoints: ["src/front.ts"], bundle: true, format: "esm", write: false, logLevel: "error" });
const { called, draw, fitsFrom, frontOf, hints, limitOf, reason } = await import(`data:text/javascript;base64,${Buffer.from(outputFiles[0].text).toString("base64")}`);

let seed = 11;
const random = n => (seed = (Math.imul(seed, 1103515245) + 12345) >>> 0) % n;

/** Least memory first; a limit below all of it, near or far. */
function some() {
	const front = [{ peak_bytes: 1 + random(1e9), runtime_ns: 2 + random(1e9) }];
	for (let left = random(8); left > 0; left--) {
		const last = front[front.length - 1];
		if (last.runtime_ns < 2) break;
		front.push({ peak_bytes: last.peak_bytes + 1 + random(last.peak_bytes), runtime_ns: 1 + random(last.runtime_ns - 1) });
	}
	return { front, limit: Math.floor(front[0].peak_bytes * (random(2) ? 1 - random(40) / 100 : random(1000) / 1e6)) };
}

const whole = more => ({ memory_limit_bytes: 1 << 26, search: { bound: { runtime_ns: 1, peak_bytes: 1 << 27 } }, too_large: { smallest_peak_bytes: 3 << 26, smallest_runtime_ns: 4000, ...more } });
const POINTS = [{ peak_bytes: 3 << 26, runtime_ns: 4000 }, { peak_bytes: 1 << 28, runtime_ns: 3000, answer: true }, { peak_bytes: 1 << 29, runtime_ns: 2000, baseline: "zero2" }];

test("a front is drawn in order, inside, and right of the limit", () => {
	let near = 0;
	for (let round = 0; round < 5000; round++) {
		const { front, limit } = some(), d = draw(front, limit), last = d.spots.length - 1;
		near += d.near;
		assert.deepEqual(d.spots.map(s => s.point), front);
		for (const [i, s] of d.spots.entries()) {
			assert.ok(s.x >= d.limit && s.x <= 92 + 1e-9 && s.y >= 22 - 1e-9 && s.y <= 90 + 1e-9, JSON.stringify({ front, limit, d }));
			if (i) assert.ok(s.x > d.spots[i - 1].x && s.y > d.spots[i - 1].y);
		}
		if (!last) continue;
		// it has a third of the width, whatever the limit; a limit that would squeeze it is not in the scale
		assert.ok(d.spots[last].x - d.spots[0].x >= 84 / 3 - 1e-9);
		assert.ok(d.near || limit * (front[last].peak_bytes / front[0].peak_bytes) ** 2 < front[0].peak_bytes);
		if (!d.near) continue;
		// equal factors of memory are equally far apart, the limit's too
		const per = (d.spots[last].x - d.limit) / Math.log(front[last].peak_bytes / limit);
		for (const s of d.spots) assert.ok(Math.abs(s.x - d.limit - per * Math.log(s.point.peak_bytes / limit)) < 1e-6);
	}
	assert.ok(near > 500 && near < 4500);
});

test("a limit that is asked for is kept by the plan that it is of", () => {
	const units = { B: 1, KiB: 1024, MiB: 1 << 20 };
	for (let round = 0; round < 5000; round++) {
		const peak = 1 + Math.floor(2 ** (random(4100) / 100)), limit = limitOf(peak), [, n, unit] = /^(\d+)(B|KiB|MiB)$/.exec(limit);
		assert.ok(Number(n) * units[unit] >= peak && Number(n) * units[unit] <= peak * 65 / 64, `${peak}: ${limit}`);
		const from = Number(/^(\d+)MiB$/.exec(fitsFrom(peak))[1]) * units.MiB;
		assert.ok(from >= Math.floor(peak * 33 / 32) && from < peak * 33 / 32 + units.MiB, `${peak}: ${from}`);
	}
});

test("what is said is what the document has", () => {
	assert.match(reason(whole({})), /^No strategy fits: cut over all devices, the arguments alone take 128 MiB of each\.$/);
	assert.equal(reason({ ...whole({}), memory_limit_bytes: 1 << 27 }), "");
	assert.equal(reason({ ...whole({}), search: {} }), ""); // documents of earlier versions
	assert.deepEqual(frontOf(whole({})), []);
	assert.deepEqual(frontOf(whole({ pareto: [{ peak_bytes: 5, runtime_ns: 6, answer: true }] })), []);
	assert.deepEqual(frontOf(whole({ pareto: POINTS })), POINTS);
	assert.deepEqual(POINTS.map(called), ["", "this strategy", "zero2"]);
	assert.deepEqual(hints(whole({ pareto: POINTS })), []);
	assert.deepEqual(hints(whole({})), ["The smallest strategy that was tried takes 192 MiB and 4.00 µs."]);
	assert.deepEqual(hints(whole({ pareto: POINTS, least_devices: 1200, donation_saves_bytes: 3 << 20, rematerialise_bytes: 5 << 20 })), ["No argument is donated: donating what results replace saves up to 3.00 MiB.",
		"Too much is kept for later: jax.checkpoint has to save 5.00 MiB.", "The arguments alone need 1,200 devices."]);
	assert.deepEqual(hints({ memory_limit_bytes: 1, search: {} }), []);
});
