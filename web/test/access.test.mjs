// axe-core on every view, light, dark and at phone width; nothing is wider than the window; a token is asked for.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createRequire } from "node:module";
import { after, before, test } from "node:test";
import { Daemon, corpus, launch, open } from "./daemon.mjs";

const axe = readFileSync(createRequire(import.meta.url).resolve("axe-core/axe.min.js"), "utf8");
let daemon, browser, views;

before(async () => {
	daemon = await Daemon.start("--workers", "2");
	browser = await launch();
	const module = await daemon.upload(corpus("transformer_2_tiny"));
	await daemon.post(`/v1/modules/${module}/labels`, { add: ["a label"] });
	const a = await daemon.search({ module, mesh: "data=2,model=2", evaluations: 200, tags: ["a tag"], verify: 2 }), b = await daemon.search({ module, mesh: "data=4", evaluations: 100, memory: "64KiB" });
	const running = await daemon.post("/v1/searches", { module: await daemon.upload(corpus("transformer_4")), mesh: "data=2,model=2", seconds: 300, verify: 1 });
	await daemon.verify([{ chosen: true }, { plan: "zero3", fits: false, runtime_ns: null, peak_bytes: null, reason: "refused" }]);
	views = ["", "#/?label=a+label&tag=a+tag", "#/store", "#/queue", `#/searches/${running.id}`, "#/ask", `#/ask?module=${module}&schedule=${encodeURIComponent('{"tactics":[{"named":"zero2","axis":"data"},{"manual":{"arguments":["params*","data"],"dimension":1,"axis":"nowhere"}},{"auto":{}},{"polish":{}},{"magic":1},{"named":"replicate","axis":"model","values":{"op":"*"}}]}')}`, `#/ask?module=${module}&pins=${encodeURIComponent("batch*:[[\"data\"],[]]")}`, `#/searches/${a.id}`, `#/modules/${module}`, `#/compare/${a.strategy}/${b.strategy}`, "#/licences", "#/nowhere",
		...["", "?tab=arguments", "?tab=decisions", "?tab=collectives", "?tab=timeline"].map(tab => `#/strategies/${a.strategy}${tab}`), `#/strategies/${b.strategy}`];
});
after(async () => { await browser?.close(); await daemon?.stop(); });

for (const [mode, options] of Object.entries({ light: {}, dark: { colorScheme: "dark" }, phone: { viewport: { width: 360, height: 740 } } })) {
	test(`axe finds nothing: ${mode}`, async () => {
		const page = await open(browser, daemon, { ...options, bypassCSP: true });
		const found = [];
		for (const path of views) {
			await page.at("#/licences");
			await page.at(path);
			await page.waitForFunction(() => document.querySelector("h1, [role=alert]") && !document.querySelector(".waiting"));
			await page.evaluate(() => { for (const d of document.querySelectorAll("main details")) d.open = true; });
			await page.evaluate(axe);
			const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
			found.push(...violations.map(v => `${path} ${v.id}: ${v.nodes.slice(0, 3).map(n => n.html.slice(0, 160)).join(" | ")}`));
			const over = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
			if (over > 0) found.push(`${path} is ${over} px too wide`);
		}
		await page.context().close();
		assert.deepEqual(found, []);
	});
}

test("a daemon with tokens asks for one, once", async () => {
	const folder = mkdtempSync(join(tmpdir(), "shardwright-tokens-")), secret = "x".repeat(43);
	const { createHash } = await import("node:crypto");
	writeFileSync(join(folder, "tokens"), `ada read,submit ${createHash("sha256").update(secret).digest("hex")}\n`, { mode: 0o600 });
	const closed = await Daemon.start("--tokens", join(folder, "tokens"));
	try {
		const page = await open(browser, closed);
		await page.at("");
		await page.getByLabel("Access token").fill(secret);
		await page.getByRole("button", { name: "Use it" }).click();
		await page.getByText("0 strategies").waitFor();
		await page.reload();
		await page.getByText("0 strategies").waitFor();
		assert.equal(await page.getByLabel("Access token").count(), 0);
		await page.context().close();
	} finally {
		await closed.stop();
		rmSync(folder, { recursive: true });
	}
});
