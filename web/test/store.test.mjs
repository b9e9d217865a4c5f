// What the daemon keeps: answers with their hits, figures beside predicted ones, the queue, the history of a module.
import assert from "node:assert/strict";
import { after, afterEach, before, test } from "node:test";
import { Daemon, corpus, launch, open } from "./daemon.mjs";

let daemon, browser, page, module, first, second;
const visit = async path => {
	page = await open(browser, daemon);
	await page.at(path);
	await page.waitForFunction(() => document.querySelector("h1") && !document.querySelector(".waiting"));
	return page;
};
const cells = (caption, column) => page.locator(`table:has(caption:text-is("${caption}")) tbody tr td[data-name="${column}"]`).allInnerTexts();

before(async () => {
	daemon = await Daemon.start("--workers", "1");
	browser = await launch();
	module = await daemon.upload(corpus("mlp"));
	await daemon.post(`/v1/modules/${module}/labels`, { add: ["mlp, base"] });
	first = await daemon.search({ module, mesh: "data=4,model=2", evaluations: 300, tags: ["nightly"], verify: 2 });
	second = await daemon.search({ module, mesh: "data=8", evaluations: 100, device: "h100" });
});
after(async () => { await browser?.close(); await daemon?.stop(); });
afterEach(async () => {
	assert.deepEqual(page.faults, []);
	await page.context().close();
});

test("the queue shows what waits, and a verification from its question to its outcome", async () => {
	const long = await daemon.post("/v1/searches", { module: await daemon.upload(corpus("transformer_4")), mesh: "data=2,model=2", seconds: 300 });
	const waits = await daemon.post("/v1/searches", { module, mesh: "data=2", evaluations: 50, tags: ["later"], priority: 7 });
	await visit("#/queue");
	await page.getByText("running", { exact: true }).first().waitFor();
	assert.deepEqual(await cells("Searches under way and waiting", "State"), ["running", "queued"]);
	assert.deepEqual(await cells("Searches under way and waiting", "Priority"), ["0", "7"]);
	assert.deepEqual(await cells("Verifications, the newest 100", "State"), ["queued"]);
	await daemon.verify([{ chosen: true, runtime_ns: 1500000 }, { plan: "zero3", fits: false, runtime_ns: null, peak_bytes: null, reason: "out of registers" }]);
	await page.getByText("done", { exact: true }).waitFor({ timeout: 20000 });
	assert.match((await cells("Verifications, the newest 100", "Outcome"))[0], /^this plan\s+1.50 ms$/);
	for (const s of [waits, long]) await daemon.post(`/v1/searches/${s.id}/cancel`, {});
	await page.getByText("No search is under way, none waits.").waitFor({ timeout: 20000 });
});

test("what a compiler said is beside what was predicted, and so is what was measured", async () => {
	await visit(`#/strategies/${first.strategy}`);
	await page.getByText("XLA for cpu").first().waitFor();
	const predicted = (await daemon.json(`/v1/strategies/${first.strategy}`)).cost;
	assert.deepEqual(await cells("Figures of the step", "Figure"), ["predicted", "verifiedchosen"]);
	assert.equal((await cells("Figures of the step", "Step"))[1], "1.50 ms");
	assert.equal((await cells("Figures of the step", "Of predicted"))[1], `${(1500000 / predicted.runtime_ns).toFixed(2)}×`);
	await page.getByText("What else was compiled").click();
	assert.deepEqual(await cells("Other programs", "Verified"), ["out of registers"]);
	await page.at(`#/searches/${first.id}`);
	await page.getByText("Verification", { exact: true }).waitFor();
	await daemon.post(`/v1/strategies/${first.strategy}/measurements`, { step_ns: 2500000, hardware: "TPU v5 lite <b>", steps: 20 });
	await page.at(`#/strategies/${first.strategy}`);
	await page.getByText("measured", { exact: true }).waitFor();
	assert.match((await cells("Figures of the step", "By"))[2], /TPU v5 lite <b> of 20 steps/);
	assert.equal((await cells("Figures of the step", "Step"))[2], "2.50 ms");
});

test("two strategies are compared by what was verified and measured, too", async () => {
	await daemon.post(`/v1/strategies/${first.strategy}/measurements`, { step_ns: 3000000, peak_bytes: 2 ** 20, hardware: "a pod", steps: 5 });
	for (const step_ns of [9000000, 1500000]) await daemon.post(`/v1/strategies/${second.strategy}/measurements`, { step_ns, hardware: "a pod", steps: 7 });
	await daemon.post(`/v1/strategies/${second.strategy}/measurements`, { step_ns: 1600000, hardware: "another pod" });
	await visit(`#/compare/${first.strategy}/${second.strategy}`);
	await page.getByText("another pod").waitFor();
	const rows = await page.locator('table:has(caption:text-is("Figures of both")) tbody tr').evaluateAll(list => list.map(r => [...r.cells].map(c => c.innerText)));
	const predicted = await Promise.all([first, second].map(async s => (await daemon.json(`/v1/strategies/${s.strategy}`)).cost.runtime_ns));
	const row = by => rows.find(r => r[1].startsWith(by));
	assert.deepEqual(rows.map(r => r[0]), [...rows.map(r => r[0])].sort((x, y) => ["predicted", "verified", "measured"].indexOf(x) - ["predicted", "verified", "measured"].indexOf(y)));
	assert.equal(row("the cost model")[4].startsWith("-"), predicted[1] < predicted[0]);
	// the last measurement on the same machine counts
	assert.deepEqual(row("a pod").slice(1), ["a pod of 5 steps and of 7 steps", "3.00 ms", "1.50 ms", "-1.50 ms (-50%)", "1.00 MiB", "–"]);
	assert.deepEqual(row("another pod").slice(2, 5), ["–", "1.60 ms", "–"]);
	assert.equal(row("XLA for cpu")[2], "1.50 mschosen");
});

test("answers of the store are listed with their hits", async () => {
	for (let i = 0; i < 3; i++) {
		const again = await daemon.post("/v1/searches", { module, mesh: "data=8", evaluations: 100, device: "h100" });
		assert.equal(again.strategy, second.strategy);
	}
	await visit("#/store?q=mlp"); // by its label; what was canceled has left an answer too
	await page.getByText("2 answers").waitFor();
	// hits are written every few seconds, and are shown most first
	const hits = async () => (await cells("Answers", "Hits")).map(Number);
	await page.waitForFunction(() => Number(document.querySelector('td[data-name="Hits"]').innerText) >= 3, null, { timeout: 20000 });
	const shown = await hits(), questions = await cells("Answers", "Question"), { strategies } = await daemon.json("/v1/strategies?label=mlp%2C%20base");
	assert.deepEqual(shown, strategies.map(s => s.hits).sort((a, b) => b - a));
	assert.ok(strategies.find(s => s.id === second.strategy).hits >= 3 && questions.includes("data 8 h100, 79.0 GiB"));
	assert.match(await page.locator(".facts").innerText(), /Given without a search\s+\d+%/);
	await page.getByLabel("Order").selectOption("newest");
	await page.getByRole("searchbox").fill("nightly");
	await page.getByText("1 answers").waitFor();
	assert.match(page.url(), /q=nightly/);
	await page.reload();
	await page.getByText("1 answers").waitFor();
});

test("a module has its best answers over meshes and devices, and their history", async () => {
	await daemon.search({ module, mesh: "data=4,model=2", evaluations: 1200 });
	await visit(`#/modules/${module}`);
	await page.getByRole("heading", { name: "mlp, base" }).waitFor();
	const best = "Best step by mesh and device";
	assert.deepEqual(await cells(best, "Mesh"), ["data 4 × model 2", "data 8"]);
	assert.match((await cells(best, "h100")).join("|"), /^–\|[\d.]+ [mµ]s [\d.]+ MiB$/);
	assert.match((await cells(best, "tpu-v5e"))[0], /\(2\)$/);
	const history = await cells("History", "Against the best before");
	assert.deepEqual(history.slice(1), ["the first", "the first"]);
	assert.match(history[0], /%$/);
	await page.getByRole("link", { name: "data 8 on h100" }).click();
	await page.waitForURL(new RegExp(second.strategy));
});

test("a module that is here is found by its label and asked about", async () => {
	await visit("#/ask");
	await page.getByRole("searchbox", { name: "Name, label or id" }).fill("mlp, b");
	await page.getByRole("link", { name: "mlp, base" }).click();
	await page.getByText("Arguments and pins").waitFor();
	await page.getByLabel("Programs to verify").fill("2");
	await page.getByLabel("Programs to verify").blur();
	await page.getByRole("button", { name: "double data" }).click();
	await page.getByRole("button", { name: "Search", exact: true }).click();
	await page.getByRole("link", { name: "See the strategy" }).waitFor({ timeout: 60000 });
	await page.getByText("2 programs").waitFor();
	const search = await daemon.json(`/v1/searches/${/searches\/([^?]+)/.exec(page.url())[1]}`);
	assert.deepEqual([search.verification.plans, search.mesh], [2, "data=8,model=2"]);
});
