// What Linux says in /proc about a process and about the machine.
import { createHash } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import os from 'node:os';

const ticks_per_second = 100; // USER_HZ, fixed on every Linux this runs on

function statusField_MiB(status, name) {
  const found = new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(status);
  return found ? Number(found[1]) / 1024 : NaN;
}

export function memory_MiB(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  return {
    rss: statusField_MiB(status, 'VmRSS'),
    anonymous: statusField_MiB(status, 'RssAnon'),
    file: statusField_MiB(status, 'RssFile'),
    peak: statusField_MiB(status, 'VmHWM'),
  };
}

// Lets `peak` count from now on. Where the system forbids it, peaks are those since the start.
export function resetPeak(pid) {
  try {
    writeFileSync(`/proc/${pid}/clear_refs`, '5');
  } catch {
    return;
  }
}

export function threads(pid) {
  return Number(/^Threads:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))[1]);
}

// Processor time that a process has used in all its threads.
export function cpuSeconds(pid) {
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / ticks_per_second;
}

// Processor time that the whole machine has used, a hypervisor's share included.
export function machineBusySeconds() {
  const [user, nice, system, , , irq, softirq, steal] =
    readFileSync('/proc/stat', 'utf8').split('\n')[0].trim().split(/\s+/).slice(1).map(Number);
  return (user + nice + system + irq + softirq + steal) / ticks_per_second;
}

// The engine's libraries as this process has them in memory: name -> hash of the file.
export function engineLibraries(pid) {
  const libraries = {};
  for (const line of readFileSync(`/proc/${pid}/maps`, 'utf8').split('\n')) {
    const path = line.slice(line.indexOf('/'));
    const name = /\/(libllama|libggml[a-z-]*)(?:\.[a-z0-9_-]+)*\.so[.\d]*$/.exec(path)?.[1];
    if (!name || libraries[name]) continue;
    libraries[name] = createHash('sha256').update(readFileSync(path)).digest('hex').slice(0, 12);
  }
  return libraries;
}

export function machine() {
  const info = readFileSync('/proc/cpuinfo', 'utf8');
  return {
    cpu: /^model name\s*:\s*(.*)$/m.exec(info)?.[1] ?? os.cpus()[0]?.model ?? 'unknown',
    cores: os.cpus().length,
    memory_GiB: os.totalmem() / 2 ** 30,
    system: `${os.type()} ${os.release()} ${os.arch()}`,
    node: process.version,
  };
}
