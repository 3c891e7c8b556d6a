// What happened so far: counts, and each thing that should not have happened in a line of its own.
export class Book {
  counts = {};
  troubles = [];

  count(name, by = 1) {
    this.counts[name] = (this.counts[name] ?? 0) + by;
  }

  get(name) {
    return this.counts[name] ?? 0;
  }

  // `kind` is 'wrong' (an answer that differs from the cold server's), 'crash' or 'surprise' (anything else
  // that the planned faults do not explain).
  trouble(kind, what) {
    this.count(kind);
    const line = `${new Date().toISOString().slice(11, 19)} ${kind.toUpperCase()}: ${what}`;
    this.troubles.push(line);
    console.log(line);
  }
}
