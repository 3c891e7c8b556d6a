// What the documents point to exists:
//   - the target of every relative link, and the heading that it names
//   - every file of the repository that stands in backquotes, such as `plan/placement.h`
//
//   node tests/doc_links.mjs [FOLDER]      names what is missing, and then leaves with 1
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = resolve(process.argv[2] ?? join(dirname(fileURLToPath(import.meta.url)), '..'));
const files = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard'], { cwd: root, encoding: 'utf8' })
  .split('\n').filter((file) => file && existsSync(join(root, file)));
const names = new Set(files.map((file) => basename(file)));

const withoutCode = (text) => text.replace(/^```[^]*?^```/gm, (block) => block.replace(/[^\n]/g, ''));
const textOf = (file) => readFileSync(join(root, file), 'utf8');

// As GitHub names a heading: lower case, punctuation gone, blanks as hyphens.
const anchorOf = (heading) => heading.trim().toLowerCase().replace(/[^\p{L}\p{N} _-]/gu, '').replaceAll(' ', '-');
const anchorsOf = (file) => [...withoutCode(textOf(file)).matchAll(/^#+ (.*)$/gm)].map(([, heading]) => anchorOf(heading));

function brokenLink(from, target) {
  if (/^[a-z]+:/.test(target)) return null;
  const [path, anchor] = target.split('#');
  const to = path === '' ? from : normalize(join(dirname(from), path));
  if (!existsSync(join(root, to))) return 'there is no such file';
  return anchor && to.endsWith('.md') && !anchorsOf(to).includes(anchor) ? 'there is no such heading' : null;
}

// Files are named from the root, from beside the document, or as an #include names them.
const bases = (from) => ['', dirname(from), 'src', 'tests'];
const isThere = (from, path) => bases(from).some((base) => existsSync(join(root, base, path)));
const named = /^[\w./-]+\.(?:h|cc|md|mjs|sh)$/;
// Headers of llama.cpp.
const notOurs = /^(?:llama|ggml|gguf|common|chat|sampling)(?:-[\w-]+)?\.h$/;

function missingFile(from, text) {
  if (!named.test(text) || notOurs.test(text)) return false;
  return text.includes('/') ? !isThere(from, text) : !names.has(text);
}

function faultsOf(file) {
  const faults = [];
  withoutCode(textOf(file)).split('\n').forEach((line, i) => {
    for (const [, target] of line.matchAll(/\]\(([^)\s]+)\)/g)) {
      const why = brokenLink(file, target);
      if (why) faults.push(`${file}:${i + 1}: ${target}: ${why}`);
    }
    for (const [, text] of line.matchAll(/`([^`\s]+)`/g)) {
      if (missingFile(file, text)) faults.push(`${file}:${i + 1}: ${text}: there is no such file`);
    }
  });
  return faults;
}

const faults = files.filter((file) => file.endsWith('.md')).flatMap(faultsOf);
faults.forEach((fault) => console.log(fault));
process.exitCode = faults.length > 0 ? 1 : 0;
