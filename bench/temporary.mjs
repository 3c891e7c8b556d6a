// Folders that do not outlive this process, however it ends. servers.mjs turns signals
// into an ordinary end.
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import { join } from 'node:path';

const folders = new Set();

function remove(folder) {
  folders.delete(folder);
  rmSync(folder, { recursive: true, force: true });
}

process.on('exit', () => [...folders].forEach(remove));

// BENCH_DISK names a folder on the disk that is to be measured.
export async function withTemporaryFolder(work) {
  const folder = mkdtempSync(join(process.env.BENCH_DISK || os.tmpdir(), 'holdfast-bench-'));
  folders.add(folder);
  try {
    return await work(folder);
  } finally {
    remove(folder);
  }
}
