// A long text with one sentence in it for each of eight cities. The same seed
// gives the same text.
const adjectives = 'small old happy brave quiet golden dark bright cold famous hidden calm'.split(' ');
const things = 'lamp chair table clock bottle basket hammer ladder mirror candle bucket wallet'.split(' ');
const places = 'garden kitchen library attic cellar harbour forest castle tower museum market'.split(' ');
const people = 'Alice Bob Carol David Emma Frank Grace Henry Irene Jack Karen Liam Maria'.split(' ');
const animals = 'cat dog horse rabbit parrot turtle fox wolf bear lion tiger otter owl'.split(' ');
const cities = 'Lisbon Oslo Kyoto Cairo Boston Prague Nairobi Dublin'.split(' ');

// The linear congruential generator of Numerical Recipes; its low bits are poor.
function numbers(seed) {
  let state = seed >>> 0;
  return (limit) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return (state >>> 8) % limit;
  };
}

function sentence(number) {
  const pick = (words) => words[number(words.length)];
  const forms = [
    () => `The ${pick(adjectives)} ${pick(things)} is in the ${pick(places)}.`,
    () => `${pick(people)} saw a ${pick(adjectives)} ${pick(animals)} near the ${pick(places)}.`,
    () => `A ${pick(animals)} sleeps under the ${pick(things)}.`,
    () => `${pick(people)} carried the ${pick(things)} to the ${pick(places)}.`,
  ];
  return pick(forms)();
}

// `codes` maps each city to the number that the text hides.
export function haystack({ seed, sentences }) {
  const number = numbers(seed);
  const lines = Array.from({ length: sentences }, () => sentence(number));
  const codes = {};
  cities.forEach((city, i) => {
    codes[city] = String(10000 + number(90000));
    const place = Math.floor(((i + 0.5) * sentences) / cities.length);
    lines.splice(place, 0, `The secret code of ${city} is ${codes[city]}.`);
  });
  return { text: lines.join('\n'), codes };
}
