// The screenshots of docs/page.md: node tour.mjs [NAME..], of all or those alone. Needs the built programs and Debian's Chromium. They are of what people see on the way: asked, watched, understood, compared.
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { shrink } from "./png.mjs";
import { Daemon, ROOT, corpus, launch, open } from "./test/daemon.mjs";

const DESK = { width: 1200, height: 800 }, PHONE = { width: 360, height: 740 }, wanted = process.argv.slice(2);

/** The view as it is when nothing is awaited any more; without frames in motion. */
async function shot(page, name, height) {
	if (wanted.length && !wanted.includes(name)) return;
	await page.waitForFunction(() => document.querySelector("h1") && !document.querySelector(".waiting"), null, { timeout: 60000 });
	await page.waitForTimeout(600);
	const width = page.viewportSize().width;
	const png = shrink(await page.screenshot({ clip: { x: 0, y: 0, width, height: height ?? page.viewportSize().height }, fullPage: true, animations: "disabled" }));
	writeFileSync(join(ROOT, "docs/pictures", `page-${name}.png`), png);
	console.log(`page-${name}.png: ${Math.round(png.length / 1024)} KiB`);
}

const daemon = await Daemon.start("--workers", "1"), browser = await launch();
try {
	const id = await daemon.upload(corpus("transformer_4")), tags = ["nightly"];
	await daemon.post(`/v1/modules/${id}/labels`, { add: ["transformer, 4 layers"] });
	const ask = (mesh, device, more) => daemon.search({ module: id, mesh, device, evaluations: 1200, tags, ...more });
	const first = await ask("data=4,model=4", "tpu-v5e", { verify: 2 });
	const second = await ask("data=2,model=8", "tpu-v5e");
	await ask("data=16", "h100", { evaluations: 300, verify: 3 });
	await daemon.post("/v1/searches", { module: id, mesh: "data=2,model=8", device: "tpu-v5e", evaluations: 1200 }); // a hit
	const predicted = (await daemon.json(`/v1/strategies/${first.strategy}`)).cost;
	const found = more => ({ runtime_ns: Math.round(predicted.runtime_ns * 1.07), peak_bytes: Math.round(predicted.peak_bytes * 0.96), predicted_runtime_ns: predicted.runtime_ns, predicted_peak_bytes: predicted.peak_bytes, compiler: "XLA for tpu", version: "(example)", ...more });
	await daemon.verify([found({ chosen: true }), found({ plan: "zero3", runtime_ns: Math.round(predicted.runtime_ns * 1.6) })]);
	for (const [s, factor] of [[first, 1.04], [second, 1.12]]) // as a machine would
		await daemon.post(`/v1/strategies/${s.strategy}/measurements`, { step_ns: Math.round((await daemon.json(`/v1/strategies/${s.strategy}`)).cost.runtime_ns * factor), hardware: "(example) 16 chips", steps: 50 });
	const page = await open(browser, daemon, { viewport: DESK });
	const at = async path => { await page.at("#/licences"); await page.waitForTimeout(200); await page.at(path); await page.waitForFunction(() => !document.title.endsWith("licences")); };
	const schedule = { tactics: [{ manual: { arguments: "data", dimension: 0, axis: "data" } }, { named: "zero2", axis: "data" }, { auto: { axes: ["model"] } }] };
	await at(`#/ask?module=${id}&schedule=${encodeURIComponent(JSON.stringify(schedule))}`);
	await page.getByText("Arguments and pins").waitFor();
	await shot(page, "ask", 1130);
	await at(`#/searches/${first.id}`);
	await page.getByRole("treegrid").waitFor();
	await shot(page, "watch", 1130);
	await at(`#/strategies/${first.strategy}`);
	await page.getByText("XLA for tpu").first().waitFor();
	await shot(page, "strategy", 1130);
	for (const [name, height] of [["Arguments", 800], ["Decisions", 800], ["Timeline", 760]]) {
		await page.getByRole("tab", { name }).click();
		await page.waitForTimeout(400);
		await shot(page, name.toLowerCase(), height);
	}
	await at(`#/compare/${first.strategy}/${second.strategy}`);
	await page.getByText("(example) 16 chips").waitFor();
	await shot(page, "compare", 1000);
	await at(`#/modules/${id}`);
	await page.getByRole("heading", { name: "History" }).waitFor();
	await shot(page, "module");
	await at("#/store");
	await page.waitForFunction(() => document.querySelector('td[data-name="Hits"]')?.innerText !== "0", null, { timeout: 20000 });
	await shot(page, "store", 420);
	await at("#/queue");
	await page.getByText("done", { exact: true }).waitFor();
	await shot(page, "queue", 420);
	const large = await ask("data=4,model=4", "tpu-v5e", { memory: "1400MiB" }); // after the lists, which it would be in
	await at(`#/strategies/${large.strategy}`);
	await page.getByRole("link", { name: /^--memory/ }).waitFor();
	await shot(page, "too-large", 930);
	const phone = await open(browser, daemon, { viewport: PHONE, colorScheme: "dark" });
	await phone.at(`#/strategies/${first.strategy}`);
	await shot(phone, "phone");
	if (page.faults.length) throw new Error(page.faults.join("\n"));
} finally {
	await browser.close();
	await daemon.stop();
}
