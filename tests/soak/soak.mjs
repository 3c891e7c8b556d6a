// A real server on the pocket model under mixed load for hours, with planned faults: kill -9, stops, a full disk,
// damaged files. node soak.mjs HOURS [SEED]; `make soak HOURS=6`.
//
// Kills come in the first two fifths; from then on one process lives to the end, with all other faults, and the
// second half of the run shows whether it grows. Nothing here depends on how fast the machine is.
import { setTimeout as sleep } from 'node:timers/promises';

import { Load } from './load.mjs';
import { Book } from './book.mjs';
import { Random } from './random.mjs';
import { reading, verdict } from './watch.mjs';
import { World } from './world.mjs';

const hours = Number(process.argv[2] ?? 6);
const seed = Number(process.argv[3] ?? 1);
const random = new Random(seed);
const book = new Book();
const world = new World(random, book);
const load = new Load(world, random, book);

const begun = Date.now();
const until = begun + hours * 3_600_000;
const share = () => (Date.now() - begun) / (until - begun);
const readings = [];

// Each comes once in this many rounds, on average.
async function perhapsAFault() {
  if (share() < 0.4 && random.once(60)) {
    const damaged = random.once(2) ? () => world.damage() : undefined;
    await world.restart(random.pick(['SIGKILL', 'SIGKILL', 'SIGTERM']), load, damaged);
  } else if (random.once(60)) {
    world.damage();
  } else if (world.limited && random.once(150)) {
    await world.fullDisk(load);
  }
}

function tell(one) {
  if (!one) return console.log(`${minutes()} min: no reading`);
  const MiB = (bytes) => (bytes / 2 ** 20).toFixed(1);
  console.log(`${minutes()} min, life ${world.lives}: rss ${one.rss.toFixed(1)} MiB (anonymous ${one.anonymous.toFixed(1)}), ` +
    `${one.descriptors} descriptors, ${one.threads} threads, ${one.snapshots} states in ${MiB(one.resident_bytes)} MiB, ` +
    `${one.disk.blobs} blobs in ${MiB(one.disk.bytes)} MiB (${one.disk.loaded} loaded, ${one.disk.quarantined} quarantined); ${book.get('answers')} answers, ${book.get('compared')} compared, ` +
    `${book.get('wrong')} wrong, ${book.get('surprise')} surprises`);
}
// Counts the older lines by their level, and forgets them.
function countLog(lines) {
  for (const line of lines.splice(0, Math.max(0, lines.length - 20))) {
    const level = /^\S+ (warn|error) /.exec(line)?.[1];
    if (level) book.count(`log lines of level ${level}`);
    if (level && book.get(`log lines of level ${level}`) <= 30) console.log(line);
  }
}

const minutes = () => Math.round((Date.now() - begun) / 60_000);

async function work() {
  let told = -1;
  while (Date.now() < until && !world.crashed) {
    await perhapsAFault();
    await load.round();
    await sleep(random.below(600));  // in between, states are written
    countLog(world.server.lines);
    if (minutes() === told) continue;
    told = minutes();
    const one = await reading(world);
    tell(one);
    if (one && share() >= 0.5) readings.push(one);
  }
}

function report() {
  const passed = Math.round((Date.now() - begun) / 60_000);
  console.log(`\nseed ${seed}, ${Math.floor(passed / 60)} hours ${passed % 60} minutes, ${world.lives} lives` +
    `${world.limited ? '' : '; no file system of its own could be mounted, so the disk was never full'}`);
  for (const [name, count] of Object.entries(book.counts)) console.log(`  ${name}: ${count}`);
  const verdicts = verdict(readings);
  for (const { name, mean, rise, flat } of verdicts) {
    console.log(`  ${name} over the last half: mean ${mean.toFixed(1)}, rise ${rise.toFixed(2)}: ${flat ? 'flat' : 'NOT FLAT'}`);
  }
  const good = book.troubles.length === 0 && verdicts.every(({ flat }) => flat);
  console.log(good ? 'GOOD: no wrong answer, no crash, no surprise, flat' : `BAD: ${book.troubles.length} troubles`);
  for (const line of book.troubles) console.log(line);
  process.exitCode = good ? 0 : 1;
}

console.log(`soak for ${hours} hours, seed ${seed}, folder ${world.disk}`);
await world.start();
await work();
await world.end().catch((error) => book.trouble('surprise', `the end: ${error.message}`));
report();
