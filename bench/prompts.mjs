// Prompts made from a seed: the same run gives the same prompts on every machine.

const words = `able acid army baby back ball band bank base bath bear bell bird blow blue boat body bone
book born both bowl burn cake call calm camp card care case cash cast cell city clay club coal coat code
cold cook cool copy corn cost crew dark data date dawn deal deep desk dirt door down draw dream drop dust
duty each earth east edge else even ever face fact fall farm fast fear feed field film fire fish five flat
flow food foot form four free full game gate gift girl glass goal gold good grain grass green ground group
half hall hand hard head heart heat help hill hold hole home hope horse hour house iron island join judge
jump keep king kitchen knee lake lamp land late leaf learn letter level light line list long lunch map mark
market meal metal milk mind minute moon more morning mountain music name near neck night noise north ocean
office open orange order page paint paper park path pattern peace people piece plain planet plant plate
point pool quick quiet radio rain river road rock roof room root rope round sail salt sand school season
seed shade sharp ship shore silver simple sister sleep smoke snow soil song south space spring square star
station stone storm story street summer table teach thing three tower town trade train tree turn under unit
valley value village voice walk wall warm water weather week west wheel white wind window winter wire wood
word work world yard year young zero`.split(/\s+/);

// mulberry32: small, and good enough to shuffle words.
export function randomFrom(seed) {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let x = state;
    x = Math.imul(x ^ (x >>> 15), x | 1);
    x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
    return ((x ^ (x >>> 14)) >>> 0) / 4294967296;
  };
}

export function randomText(random, count) {
  return Array.from({ length: count }, () => words[Math.floor(random() * words.length)]).join(' ');
}

// Makes token arrays of an exact length; `tokenize` is a server's.
export class PromptMaker {
  #random;
  #tokenize;

  constructor(seed, tokenize) {
    this.#random = randomFrom(seed);
    this.#tokenize = tokenize;
  }

  // Every call gives other words from the first token on, so that nothing can be reused.
  async tokens(length) {
    let tokens = [];
    while (tokens.length < length) {
      tokens = tokens.concat(await this.#tokenize(`${randomText(this.#random, length)} `));
    }
    return tokens.slice(0, length);
  }

  async many(count, length) {
    const prompts = [];
    while (prompts.length < count) prompts.push(await this.tokens(length));
    return prompts;
  }

  text(count) {
    return randomText(this.#random, count);
  }
}
