// What a browser shows of a daemon that does not answer: what it was shown before, of when that is, and what is missing. What may not stay in a browser.
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { Daemon, corpus, launch, open } from "./daemon.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
let daemon, browser, module, a, b;
before(async () => {
	daemon = await Daemon.start("--workers", "2");
	browser = await launch();
	module = await daemon.upload(corpus("mlp"));
	a = await daemon.search({ module, mesh: "data=4,model=2", evaluations: 200 });
	b = await daemon.search({ module, mesh: "data=8", evaluations: 100 });
});
after(async () => { await browser?.close(); await daemon?.stop(); });

const cells = (page, caption) => page.locator(`table:has(caption:text-is("${caption}")) tbody tr`).evaluateAll(rows => rows.map(r => [...r.cells].map(c => c.innerText)));
const settled = page => page.waitForFunction(() => document.querySelector("h1") && !document.querySelector(".waiting"));
const banner = page => page.locator(".offline");
/** The paths of the answers that are kept. */
const kept = page => page.evaluate(async () => {
	const out = [];
	for (const name of await caches.keys()) if (name.startsWith("answers")) for (const k of await (await caches.open(name)).keys()) out.push(new URL(k.url).pathname + new URL(k.url).search);
	return out.sort();
});
const until = async (page, is) => {
	while (!await is()) await page.waitForTimeout(50);
};
const has = (page, path) => until(page, async () => (await kept(page)).includes(path));
const cacheNames = page => page.evaluate(() => caches.keys());
/** The page opens without a daemon from then on. */
const ready = page => page.evaluate(async () => { await navigator.serviceWorker.ready; while (!(await caches.match("/", { ignoreVary: true }))) await new Promise(done => setTimeout(done, 50)); });
/** A context without the browser's own cache of what is immutable: what is shown comes from what the page keeps. */
async function uncached(context, page) {
	const session = await context.newCDPSession(page);
	await session.send("Network.setCacheDisabled", { cacheDisabled: true });
}

for (const signal of ["SIGKILL", "SIGTERM"])
	test(`a strategy and a comparison reload without the daemon (${signal}), and go on when it is back`, async () => {
		const page = await open(browser, daemon), strategy = `#/strategies/${a.strategy}`, tab = `${strategy}?tab=arguments`, comparison = `#/compare/${a.strategy}/${b.strategy}`;
		await uncached(page.context(), page);
		await page.at(strategy);
		await settled(page);
		const overview = await page.locator(".facts.big").innerText();
		await page.at(tab);
		await settled(page);
		const rows = await page.getByRole("row").allInnerTexts();
		assert.ok(rows.length > 10);
		await page.at(comparison);
		await settled(page);
		const cost = await cells(page, "Cost"), differences = await cells(page, "Arguments that differ");
		assert.ok(cost.length === 9 && differences.length > 0);
		for (const path of [`${a.strategy}/outline`, `${b.strategy}/outline`, `${a.strategy}/explanation`, `${a.strategy}/timeline`]) await has(page, `/v1/strategies/${path}`);
		await ready(page);
		assert.equal(await banner(page).count(), 0);
		assert.deepEqual(page.faults, []);
		page.faults = { push() {} }; // the browser logs what it cannot reach

		await daemon.kill(signal);
		const gone = Date.now();
		await page.reload();
		await banner(page).waitFor();
		assert.deepEqual(await cells(page, "Cost"), cost);
		assert.deepEqual(await cells(page, "Arguments that differ"), differences);
		assert.match(await banner(page).innerText(), /does not answer\. What is shown is of \d\d\/\d\d\/\d{4}, \d\d:\d\d:\d\d/);
		const of = Date.parse(await banner(page).locator("time").getAttribute("datetime"));
		assert.ok(of <= gone && of > gone - 600000, `${new Date(of)}`);
		assert.equal(await page.getByText("No compiler was asked").count(), 0); // that is not known

		await page.at(tab);
		await page.reload();
		await banner(page).waitFor();
		assert.deepEqual(await page.getByRole("row").allInnerTexts(), rows);
		await page.getByText("Download", { exact: true }).click();
		await page.getByRole("button", { name: "Module with it" }).click();
		await page.getByText("The daemon does not answer.", { exact: true }).waitFor();
		await page.at(strategy);
		await page.reload();
		await banner(page).waitFor();
		await settled(page);
		assert.equal(await page.locator(".facts.big").innerText(), overview);
		assert.match(await page.locator("main").innerText(), /Most of the step is[\s\S]*mlp\.py:\d+[\s\S]*predicted/);
		assert.match(await page.locator(".figures [role=alert]").innerText(), /The daemon does not answer/);
		// what was never opened says so
		await page.at(`#/strategies/sha256:${"0".repeat(64)}`);
		await page.getByText("was not kept in the browser").waitFor();
		assert.match(await banner(page).innerText(), /Nothing of this view was kept/);
		await page.at("");
		await page.getByRole("alert").getByText("The daemon does not answer.").waitFor();
		await page.at(strategy);
		await page.getByText("Most of the step is").waitFor();

		await daemon.again("--workers", "2");
		await banner(page).waitFor({ state: "detached", timeout: 20000 });
		await page.getByLabel("Compare with").waitFor();
		await page.getByText("No compiler was asked").waitFor();
		assert.equal(await page.getByRole("alert").count(), 0);
		await page.context().close();
	});

test("a search is followed again when the daemon is back", async () => {
	const { id } = await daemon.post("/v1/searches", { module: await daemon.upload(corpus("transformer_4")), mesh: "data=2,model=2", seconds: 300 });
	const page = await open(browser, daemon);
	await page.at(`#/searches/${id}`);
	await page.getByText("running", { exact: true }).first().waitFor();
	page.faults = { push() {} };
	await daemon.kill("SIGTERM");
	await banner(page).waitFor();
	await daemon.again("--workers", "2");
	await banner(page).waitFor({ state: "detached", timeout: 20000 });
	await page.waitForFunction(() => ["queued", "running"].includes(document.querySelector(".state")?.innerText) && !document.querySelector("[role=alert]"));
	await page.getByRole("button", { name: "Cancel, keep the best" }).click({ timeout: 60000 });
	await page.getByRole("link", { name: "Ask again" }).waitFor({ timeout: 60000 }); // it has ended
	assert.ok(!(await kept(page)).some(path => path.startsWith("/v1/searches")), "no search is kept");
	await page.context().close();
});

test("axe finds nothing while offline, light and dark", async () => {
	const own = await Daemon.start();
	for (const colorScheme of ["light", "dark"]) {
		const page = await open(browser, own, { colorScheme, bypassCSP: true, viewport: { width: 360, height: 740 } });
		page.faults = { push() {} };
		await page.at("");
		await ready(page);
		await own.kill();
		await page.reload();
		await banner(page).waitFor();
		await page.evaluate(axe);
		const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
		assert.deepEqual(violations.map(v => `${v.id}: ${v.nodes.map(n => n.html.slice(0, 160)).join(" | ")}`), []);
		assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
		await page.context().close();
		await own.again();
	}
	await own.stop();
});

test("what is kept is bounded, and is gone with the page that kept it", async () => {
	const page = await open(browser, daemon), outline = `/v1/strategies/${a.strategy}/outline`;
	await page.at("");
	await page.evaluate(async () => { await caches.open("answers of an old page"); await caches.open("of somebody else"); });
	await page.reload();
	await until(page, async () => !(await cacheNames(page)).includes("answers of an old page"));
	assert.ok((await cacheNames(page)).includes("of somebody else"));
	await page.route("**/explanation", async route => { // as by a proxy that forbids it
		const response = await route.fetch();
		await route.fulfill({ response, headers: { ...response.headers(), "cache-control": "no-store" } });
	});
	await page.at(`#/strategies/${a.strategy}`);
	for (const path of [outline, `/v1/strategies/${a.strategy}/timeline`]) await has(page, path);
	await page.locator(".brief table").waitFor();
	await page.waitForTimeout(1000); // longer than keeping waits
	assert.ok(!(await kept(page)).some(path => path.endsWith("/explanation")), `${await kept(page)}`);
	assert.ok(!(await kept(page)).some(path => /\?page_size|\.mlir|measurements|verifications/.test(path)), `${await kept(page)}`);
	// 300 answers are older than what comes next, eight of them of 12 MiB
	await page.evaluate(async () => {
		const name = (await caches.keys()).find(n => n.startsWith("answers")), cache = await caches.open(name), size = i => (i > 290 ? 12 * 2 ** 20 : 10);
		for (let i = 0; i < 300; i++) await cache.put(`/v1/layout?mesh=${i}`, new Response(new Uint8Array(size(i)), { headers: { "Kept-Bytes": String(size(i)) } }));
	});
	await page.at(`#/strategies/${b.strategy}`);
	await has(page, `/v1/strategies/${b.strategy}/outline`);
	await until(page, async () => (await kept(page)).length < 20);
	const left = await kept(page);
	assert.ok(!left.includes(outline) && left.includes("/v1/layout?mesh=299") && left.includes("/v1/layout?mesh=295") && !left.includes("/v1/layout?mesh=293"), `${left}`);
	assert.deepEqual(page.faults, []);
	await page.context().close();
});

test("nothing stays of a daemon that wants tokens", async () => {
	const folder = mkdtempSync(join(tmpdir(), "shardwright-tokens-")), secret = "x".repeat(43), flags = ["--tokens", join(folder, "tokens")];
	writeFileSync(flags[1], `ada read,submit ${createHash("sha256").update(secret).digest("hex")}\n`, { mode: 0o600 });
	const own = await Daemon.start();
	try {
		const id = await own.upload(corpus("mlp")), { strategy } = await own.search({ module: id, mesh: "data=2", evaluations: 50 }), path = `#/strategies/${strategy}`;
		const page = await open(browser, own);
		page.faults = { push() {} }; // the 401
		await page.at(path);
		await has(page, `/v1/strategies/${strategy}/outline`);
		// from now on it wants them: what was kept is gone at the first refusal
		await own.kill();
		await own.again(...flags);
		await page.reload();
		await page.getByLabel("Access token").waitFor();
		await until(page, async () => !(await cacheNames(page)).some(n => n.startsWith("answers")));
		await page.getByLabel("Access token").fill(secret);
		await page.getByRole("button", { name: "Use it" }).click();
		await page.getByText("Most of the step is").waitFor({ timeout: 60000 });
		await page.waitForTimeout(1000); // longer than keeping waits
		assert.deepEqual(await kept(page), []);
		await page.reload(); // the token is there from the beginning
		await page.getByText("Most of the step is").waitFor();
		await page.waitForTimeout(1000);
		assert.deepEqual(await kept(page), []);
		// who opens the address after that, in the same browser but without the token, sees nothing of it: with the daemon, and without
		const other = await page.context().newPage(), text = () => other.locator("main").innerText();
		await other.goto(`${own.url}/${path}`);
		await other.getByLabel("Access token").waitFor();
		assert.doesNotMatch(await text(), /Most of the step|mlp/);
		await ready(other);
		await own.kill();
		await other.reload();
		await banner(other).waitFor();
		await other.getByText("was not kept in the browser").waitFor();
		assert.doesNotMatch(await text(), /Most of the step|mlp/);
		await page.context().close();
	} finally {
		await own.stop();
		rmSync(folder, { recursive: true });
	}
});

test("a page of another program at the address is not kept, and a new page replaces the old one", async () => {
	const own = await Daemon.start(), page = await open(browser, own);
	await page.at("");
	await ready(page);
	const title = () => page.evaluate(async () => /<title>(.*?)<\/title>/.exec(await (await caches.match("/", { cacheName: "page", ignoreVary: true })).text())[1]);
	await own.kill();
	let policy = "default-src 'self'", status = 200;
	const other = createServer((_, answer) => answer.writeHead(status, { "Content-Type": "text/html", "Content-Security-Policy": policy, ETag: '"new"' }).end("<!doctype html><title>another one</title>"));
	await new Promise(done => other.listen(new URL(own.url).port, "127.0.0.1", done));
	page.faults = { push() {} };
	await page.reload();
	assert.deepEqual([await page.title(), await title()], ["another one", "Shardwright"]);
	status = 502; // a proxy whose daemon is gone
	await page.reload();
	await banner(page).waitFor();
	status = 200;
	policy += "; trusted-types shardwright"; // as of a newer daemon
	await page.reload();
	assert.equal(await page.title(), "another one");
	await until(page, async () => await title() === "another one");
	other.closeAllConnections();
	await new Promise(done => other.close(done));
	await page.context().close();
	await own.stop();
});
