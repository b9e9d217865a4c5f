// Pages of other origins, and a name that was pointed at this machine, in a real browser: nothing is changed, nothing is read.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { chromium } from "playwright-core";
import { Daemon, corpus } from "./daemon.mjs";

const module = `module @jit_evil { func.func public @main(%a: tensor<8x4xf32>) -> tensor<8x4xf32> { return %a : tensor<8x4xf32> } }\n`;
let daemon, browser, foreign, running, known, port;

before(async () => {
	daemon = await Daemon.start();
	port = new URL(daemon.url).port;
	known = await daemon.upload(corpus("transformer_4"));
	const post = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ module: known, mesh: "data=2,model=2", seconds: 300 }) };
	running = (await daemon.json("/v1/searches", post)).id;
	foreign = createServer((_, response) => response.setHeader("Content-Type", "text/html").end("<!doctype html><title>evil</title><body></body>")).listen(0, "127.0.0.1");
	await new Promise(done => foreign.once("listening", done));
	// rebound.example is the daemon's machine, as a name whose owner changed its address to 127.0.0.1
	browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
		args: ["--no-sandbox", "--disable-gpu", `--host-resolver-rules=MAP rebound.example 127.0.0.1, MAP evil.example 127.0.0.1`] });
});
after(async () => { await browser?.close(); foreign?.close(); await daemon?.stop(); });

const metric = async name => Number(new RegExp(`^shardwright_${name} (\\d+)`, "m").exec(await (await fetch(`${daemon.url}/metrics`)).text())[1]);
const state = async () => ({ modules: (await daemon.json("/v1/modules")).modules.length, searches: (await daemon.json("/v1/searches")).searches.map(s => [s.id, s.canceling]),
	labels: (await daemon.json(`/v1/modules/${known}`)).labels });

/** In a page: everything that a page can try. What it could read comes back. */
async function attack({ url, module, running, known }) {
	const read = [], json = { "Content-Type": "application/json" }, search = JSON.stringify({ module: known, mesh: "data=8", evaluations: 5 });
	const attempts = [["/v1/modules", module, {}], ["/v1/modules", module, { "Content-Type": "text/plain" }], [`/v1/searches/${running}/cancel`, "", {}], ["/v1/searches", search, json],
		["/v1/searches", search, { "Content-Type": "text/plain" }], [`/v1/modules/${known}/labels`, JSON.stringify({ add: ["evil"] }), json],
		[`/v1/modules/${known}/labels`, JSON.stringify({ add: ["evil"] }), { "Content-Type": "text/plain" }], ["/v1/simulate", module, {}]];
	for (const mode of ["cors", "no-cors"])
		for (const [path, body, headers] of attempts)
			for (const credentials of ["omit", "include"])
				try {
					const response = await fetch(url + path, { method: "POST", body, headers, mode, credentials });
					if (response.type !== "opaque") read.push([path, response.status, await response.text()]);
				} catch { /* refused */ }
	for (const path of ["/v1/searches", "/v1/strategies", `/v1/modules/${known}.mlir`, "/healthz", "/metrics"])
		try { read.push([path, 0, await (await fetch(url + path)).text()]); } catch { /* refused */ }
	navigator.sendBeacon(`${url}/v1/modules`, module);
	navigator.sendBeacon(`${url}/v1/searches/${running}/cancel`, new Blob(["{}"], { type: "text/plain" }));
	for (const [path, value] of [["/v1/modules", module], [`/v1/searches/${running}/cancel`, "x"]])
		for (const enctype of ["text/plain", "multipart/form-data", "application/x-www-form-urlencoded"]) {
			const frame = document.body.appendChild(Object.assign(document.createElement("iframe"), { name: `f${Math.random()}` }));
			const form = document.body.appendChild(Object.assign(document.createElement("form"), { method: "POST", action: url + path, enctype, target: frame.name }));
			form.appendChild(Object.assign(document.createElement("input"), { name: value, value: "" }));
			form.submit();
			await new Promise(done => { frame.onload = done; setTimeout(done, 2000); });
		}
	await new Promise(done => { const s = new EventSource(`${url}/v1/searches/${running}/events`); s.onmessage = e => read.push(["events", 0, e.data]); s.addEventListener("state", e => read.push(["events", 0, e.data])); s.onerror = () => { s.close(); done(); }; setTimeout(done, 3000); });
	return read;
}

for (const [who, origin] of [["another port", () => `http://127.0.0.1:${foreign.address().port}`], ["another name", () => `http://evil.example:${foreign.address().port}`]])
	test(`a page of another origin changes and reads nothing: ${who}`, async () => {
		const before = await state(), asked = await metric("requests"), refused = await metric("responses_4xx");
		const page = await browser.newPage();
		await page.goto(origin());
		const read = await page.evaluate(attack, { url: daemon.url, module, running, known });
		assert.deepEqual(read, []);
		assert.deepEqual(await state(), before);
		// they did arrive, and were refused: 8 to 16 by fetch, 2 beacons, 6 forms at least
		assert.ok(await metric("requests") - asked > 20 && await metric("responses_4xx") - refused > 16, `${await metric("responses_4xx") - refused} refused`);
		await page.close();
	});

test("a name that was pointed here serves no page and answers nothing", async () => {
	const before = await state(), page = await browser.newPage();
	const response = await page.goto(`http://rebound.example:${port}/`);
	assert.equal(response.status(), 421);
	const read = await page.evaluate(attack, { url: `http://rebound.example:${port}`, module, running, known }); // its own origin, says the browser
	assert.ok(read.length > 10 && read.every(([, status, text]) => (status === 421 || status === 0) && !/"searches"|stablehlo|"id"/.test(text)), JSON.stringify(read.slice(0, 3)));
	assert.deepEqual(await state(), before);
	await page.close();
});

test("the daemon's page in a foreign frame is not shown", async () => {
	const page = await browser.newPage();
	await page.goto(`http://127.0.0.1:${foreign.address().port}`);
	await page.evaluate(url => new Promise(done => { const f = document.body.appendChild(document.createElement("iframe")); f.onload = done; f.src = url; setTimeout(done, 3000); }), daemon.url);
	const frame = page.frames().find(f => f !== page.mainFrame());
	assert.ok(frame.url().startsWith("chrome-error://"), frame.url()); // what a browser puts in place of what refuses to be framed
	await page.close();
});

test("the daemon's own page may do all of it", async () => {
	const page = await browser.newPage();
	await page.goto(daemon.url);
	const status = await page.evaluate(async ({ module, running }) => [(await fetch("/v1/modules", { method: "POST", body: module })).status, (await fetch(`/v1/searches/${running}/cancel`, { method: "POST" })).status], { module, running });
	assert.deepEqual(status, [201, 202]);
	await page.close();
});
