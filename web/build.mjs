// Makes of src/: built/index.html, one file with its script, style and the licences of the libraries in it, and built/worker.js, its service worker.
// `node build.mjs --check` says whether it would come out as it is. built/sources.sha256 lets `tools/check-web` say so without node.
import { createHash } from "node:crypto";
import { readFileSync, readdirSync, writeFileSync } from "node:fs";
import { build } from "esbuild";

const here = new URL(".", import.meta.url).pathname;
const read = path => readFileSync(here + path, "utf8");
const libraries = Object.keys(JSON.parse(read("package.json")).dependencies);

const licences = libraries.map(name => ({ name, version: JSON.parse(read(`node_modules/${name}/package.json`)).version, text: read(`node_modules/${name}/LICENSE`).trim() }));

// What the page is made of: the same list as in tools/check-web.
const digest = text => createHash("sha256").update(text).digest("hex");
const sources = ["package-lock.json", "build.mjs", ...readdirSync(`${here}src`).map(f => `src/${f}`)].sort().map(f => `${digest(read(f))}  ${f}\n`);

const result = await build({
	absWorkingDir: here, entryPoints: ["src/main.tsx", "src/worker.ts", "src/style.css"], bundle: true, minify: true, write: false, outdir: "out", format: "esm", target: "es2022", charset: "utf8",
	jsx: "automatic", jsxImportSource: "preact", define: { LICENCES: JSON.stringify(licences), BUILD: JSON.stringify(digest(sources.join("")).slice(0, 12)) }, legalComments: "none", logLevel: "warning",
});
const output = end => result.outputFiles.find(f => f.path.endsWith(end)).text.trim();

const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Shardwright</title>
<link rel="icon" href="data:,">
<style>${output(".css")}</style>
</head>
<body>
<div id="page"></div>
<noscript>This page needs JavaScript. The same is to be had from the command line: shardwright submit, wait, strategies.</noscript>
<script type="module">${output("main.js")}</script>
</body>
</html>
`;

const built = { "built/index.html": page, "built/worker.js": output("worker.js") };
const sums = [...sources, ...Object.entries(built).map(([f, text]) => `${digest(text)}  ${f}\n`)].join("");

if (process.argv.includes("--check")) {
	const same = read("built/sources.sha256") === sums && Object.entries(built).every(([f, text]) => read(f) === text);
	console.log(same ? "web: what is built is up to date" : "web: what is built is not what the sources give: make web");
	process.exit(same ? 0 : 1);
}
for (const [f, text] of Object.entries(built)) {
	writeFileSync(here + f, text);
	console.log(`web/${f}: ${Math.round(text.length / 1024)} KiB`);
}
writeFileSync(`${here}built/sources.sha256`, sums);
