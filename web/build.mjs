// Builds the web page: bundles src/ with esbuild, compresses every file, and writes them as one C++
// source that defines holdfast::api::web_files().
// Usage: node build.mjs OUT.cc
import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';

import { build } from 'esbuild';

const here = dirname(fileURLToPath(import.meta.url));
const types = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
  woff2: 'font/woff2',
};

// Names carry a hash of their content, so that a browser may keep a file for ever.
async function bundle() {
  const { outputFiles, metafile } = await build({
    absWorkingDir: here,
    entryPoints: ['src/app.tsx', 'src/styles/app.css', 'src/icon.svg'],
    outdir: 'assets',
    entryNames: '[name]-[hash]',
    chunkNames: '[name]-[hash]',
    assetNames: '[name]-[hash]',
    loader: { '.svg': 'copy', '.woff2': 'file' },
    bundle: true,
    splitting: true,
    format: 'esm',
    target: ['chrome109', 'firefox115', 'safari16.4'],
    jsx: 'automatic',
    jsxImportSource: 'preact',
    minify: true,
    legalComments: 'none',
    metafile: true,
    write: false,
  });
  const named = (entry) =>
    basename(Object.entries(metafile.outputs).find(([, made]) => made.entryPoint === entry
      || (!made.entryPoint && Object.keys(made.inputs)[0] === entry))[0]);
  const files = outputFiles.map(({ path, contents }) => ({ path: `/assets/${basename(path)}`, contents }));
  return { files, named };
}

function indexPage(named) {
  const names = { APP: 'src/app.tsx', STYLES: 'src/styles/app.css', ICON: 'src/icon.svg' };
  const text = readFileSync(join(here, 'src/index.html'), 'utf8')
    .replace(/\{(APP|STYLES|ICON)\}/g, (_, name) => `assets/${named(names[name])}`);
  return { path: '/', contents: Buffer.from(text) };
}

// 80 bytes a line; octal escapes of three digits cannot run into what follows.
function literal(bytes) {
  const escaped = (byte) =>
    byte >= 0x20 && byte < 0x7f && byte !== 0x22 && byte !== 0x5c && byte !== 0x3f
      ? String.fromCharCode(byte) : `\\${byte.toString(8).padStart(3, '0')}`;
  const lines = [];
  for (let at = 0; at < bytes.length; at += 80) {
    lines.push(`    "${[...bytes.subarray(at, at + 80)].map(escaped).join('')}"`);
  }
  return lines.join('\n');
}

function source(files) {
  const entries = files.map(({ path, contents }, i) => {
    const tag = createHash('sha256').update(contents).digest('hex').slice(0, 20);
    const type = types[path === '/' ? 'html' : path.split('.').pop()];
    return `    {"${path}", "${type}", "\\"${tag}\\"", {kFile${i}, sizeof(kFile${i}) - 1}},`;
  });
  const arrays = files.map(({ contents }, i) =>
    `constexpr char kFile${i}[] =\n${literal(gzipSync(contents, { level: 9 }))};`);
  return `// Made by web/build.mjs.\n#include "api/web_page.h"\n\nnamespace holdfast::api {\nnamespace {\n\n`
    + `${arrays.join('\n\n')}\n\nconstexpr WebFile kFiles[] = {\n${entries.join('\n')}\n};\n\n}  // namespace\n\n`
    + 'std::span<const WebFile> web_files() { return kFiles; }\n\n}  // namespace holdfast::api\n';
}

const [out] = process.argv.slice(2);
if (!out) throw new Error('usage: node build.mjs OUT.cc');
const { files, named } = await bundle();
const all = [indexPage(named), ...files];
mkdirSync(dirname(out), { recursive: true });
writeFileSync(out, source(all));
for (const { path, contents } of all) {
  const kib = (bytes) => `${(bytes / 1024).toFixed(1)} KiB`;
  console.log(`${path}  ${kib(contents.length)}, ${kib(gzipSync(contents, { level: 9 }).length)} compressed`);
}
