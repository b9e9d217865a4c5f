// An answer that does not fit: what the page says of it is what the command line says, and leads to an answer that fits.
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Daemon, ROOT, corpus, launch, open, program } from "./daemon.mjs";

let daemon, browser, search, shown;

/** The report of the command line, its words as the page writes them: no separators, no capitals, micro as a letter. */
const plain = text => text.toLowerCase().replaceAll(",", "").replaceAll("µs", "us").replace(/[^\S\n]+/g, " ");
function printed(id) {
	const done = spawnSync(program("shardwright", "SHARDWRIGHT"), ["wait", id, "--server", daemon.url], { encoding: "utf8" });
	assert.equal(done.status, 2, done.stderr);
	return plain(done.stdout);
}

before(async () => {
	daemon = await Daemon.start("--workers", "1");
	browser = await launch();
	search = await daemon.search({ module: await daemon.upload(corpus("mlp")), mesh: "data=4,model=2", evaluations: 600, memory: "60MiB", pins: [`batch['y']:[[],[]]`] });
	shown = (await daemon.json(`/v1/strategies/${search.strategy}`)).too_large;
});
after(async () => { await browser?.close(); await daemon?.stop(); });

async function visit(options, alter, id = search.strategy) {
	const page = await open(browser, daemon, options);
	if (alter) await page.route("**/outline", async route => {
		const response = await route.fetch(), document = await response.json();
		alter(document);
		await route.fulfill({ response, json: document });
	});
	await page.at(`#/strategies/${id}`);
	const card = page.getByRole("region", { name: "What would fit" });
	await card.waitFor();
	await page.waitForFunction(() => !document.querySelector(".waiting"));
	return { page, card };
}

async function done(page) {
	assert.deepEqual(page.faults, []);
	await page.context().close();
}

/** Nothing of mlp is donated; of the forward pass, temporaries are too many. */
async function others() {
	const text = execFileSync("zstd", ["-qdc", join(ROOT, "tests/corpus/mlp.mlir.zst")], { encoding: "utf8", maxBuffer: 1 << 26 }).replaceAll(/tf\.aliasing_output = \d+ : i32(, )?/g, "");
	return [await daemon.search({ module: await daemon.upload(text), mesh: "data=4,model=2", evaluations: 300, memory: "61MiB" }),
		await daemon.search({ module: await daemon.upload(corpus("transformer_4_forward")), mesh: "data=4,model=2", evaluations: 100, memory: "600MiB" })];
}

test("the page says what the command line prints", async () => {
	const said = new Set();
	for (const s of [search, ...await others()]) {
		const report = printed(s.id), { page, card } = await visit({}, null, s.strategy), words = plain(await card.innerText());
		const curve = (/the fastest step that was found for\n((?: .+\n)+)/.exec(report)?.[1] ?? "").split("\n").map(row => row.trim()).filter(Boolean);
		const rows = await card.locator("tbody tr").evaluateAll(list => list.map(r => [...r.cells].map(c => c.innerText)));
		assert.deepEqual(rows.map(r => plain(r.join(" ")).replace(" another plan", "")), curve);
		assert.equal(words.includes("the fastest step that was found for"), curve.length > 0);
		if (s === search) assert.ok(curve.length >= 3 && curve.length === shown.pareto.length);
		const kinds = [/^no strategy fits/, /^fits from/, /^the arguments alone/, /^no argument is/, /^too much is/];
		for (const line of report.split("\n").map(l => l.trim())) {
			const kind = kinds.findIndex(k => k.test(line));
			if (kind < 0) continue;
			said.add(kind);
			assert.ok(words.includes(line), `${line}\n${words}`);
		}
		await done(page);
	}
	assert.equal(said.size, 5);
});

for (const [mode, options] of Object.entries({ desk: {}, phone: { viewport: { width: 360, height: 740 } } })) test(`the chart has the front right of the limit: ${mode}`, async () => {
	const { page, card } = await visit(options), box = locator => locator.evaluateAll(list => list.map(e => { const b = e.getBoundingClientRect(); return { x: b.x + b.width / 2, y: b.y + b.height / 2, left: b.left, right: b.right }; }));
	const points = await box(card.locator("circle")), [limit] = await box(card.locator(".front-limit"));
	assert.equal(points.length, shown.pareto.length);
	for (const [i, p] of points.entries()) assert.ok(p.x > (i ? points[i - 1].x : limit.x) && p.y > (i ? points[i - 1].y : 0), JSON.stringify({ points, limit }));
	// the answer alone is marked as such, at its place
	const [own] = await box(card.locator(".front-own")), at = shown.pareto.findIndex(p => p.answer);
	assert.deepEqual([own.x, own.y], [points[at].x, points[at].y]);
	assert.equal(await card.locator(".front-own").count(), 1);
	assert.equal(await card.locator(".front-over").innerHTML(), "limit 60.0 MiB");
	// words are as large as on a desk, and stay in the window
	for (const text of await box(card.locator("svg text"))) assert.ok(text.left >= 0 && text.right <= page.viewportSize().width, JSON.stringify(text));
	assert.equal(await card.locator("svg text").first().evaluate(e => getComputedStyle(e).fontSize), "12px");
	assert.match(await card.getByRole("img").getAttribute("aria-label"), /^Step time over memory of a device: from .+ to .+ The limit is 60.0 MiB\.$/);
	await done(page);
});

test("with the keyboard from an amount of memory to an answer that fits it, of the same question", async () => {
	const { page, card } = await visit(), link = card.locator("tbody tr").last().getByRole("link");
	await link.waitFor();
	await card.getByRole("link", { name: /^--memory \d+MiB$/ }).focus();
	for (let i = 0; i < shown.pareto.length; i++) await page.keyboard.press("Tab");
	assert.equal(await page.evaluate(() => document.activeElement.textContent), await link.innerText());
	await page.keyboard.press("Enter");
	await page.waitForURL(/#\/ask\?/);
	const question = new URLSearchParams(new URL(page.url()).hash.split("?")[1]), [, n] = /^(\d+)MiB$/.exec(question.get("memory")), fastest = shown.pareto.at(-1);
	assert.equal(Number(n), Math.ceil(fastest.peak_bytes / 2 ** 20));
	assert.deepEqual([question.get("module"), question.get("mesh"), question.get("pins")], [search.module, "data=4,model=2", `batch['y']:[[],[]]`]);
	await page.getByLabel("Seconds").fill("2");
	await page.getByLabel("Seconds").blur();
	await page.getByRole("button", { name: "Search", exact: true }).click();
	await page.getByRole("link", { name: "See the strategy" }).click({ timeout: 60000 });
	await page.getByText("What limits the step").waitFor();
	assert.match(await page.locator(".facts.big").innerText(), /fits \d\d\.\d MiB/);
	assert.equal(await page.getByRole("region", { name: "What would fit" }).count(), 0);
	await done(page);
});

test("a far limit is said to be far, and documents of earlier versions have no chart", async () => {
	const far = await visit({}, d => { d.memory_limit_bytes = 1024; });
	assert.equal(await far.card.locator(".front-over").innerHTML(), "← limit 1.00 KiB");
	assert.match(await far.card.innerText(), /further left than it is drawn/);
	assert.equal(await far.card.locator("circle").count(), shown.pareto.length);
	await done(far.page);
	const old = await visit({}, d => { delete d.too_large.pareto; });
	assert.match(await old.card.innerText(), /The smallest strategy that was tried takes [\d.]+ MiB and [\d.]+ µs/);
	assert.deepEqual([await old.card.locator("svg").count(), await old.card.locator("table").count()], [0, 0]);
	await done(old.page);
});

test("the search that found nothing leads there", async () => {
	const page = await open(browser, daemon);
	await page.at(`#/searches/${search.id}`);
	await page.getByRole("link", { name: "does not fit: what would" }).click();
	await page.getByRole("region", { name: "What would fit" }).waitFor();
	await done(page);
});
