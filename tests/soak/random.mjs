// Choices that follow from a seed.
export class Random {
  constructor(seed) {
    this.state = seed >>> 0;
  }

  // Mulberry32.
  next() {
    this.state = (this.state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(this.state ^ (this.state >>> 15), this.state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  below(limit) {
    return Math.floor(this.next() * limit);
  }

  // True once in `times`, on average.
  once(times) {
    return this.below(times) === 0;
  }

  pick(list) {
    return list[this.below(list.length)];
  }

  // A key of `weights`, as often as its weight says.
  weighted(weights) {
    let left = this.below(Object.values(weights).reduce((sum, weight) => sum + weight, 0));
    for (const [name, weight] of Object.entries(weights)) {
      left -= weight;
      if (left < 0) return name;
    }
    throw new Error('no weights');
  }
}
