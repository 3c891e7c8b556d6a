// Grammars and schemas that were written to take all memory or to never end, for measurements
// (grammar_delays.mjs). Those of src/engine/llama/hostile_grammars_test.cc, and more.
const times = (text, count) => text.repeat(count);
const range = (count, make) => Array.from({ length: count }, (_, i) => make(i));
// "a0 ::= <made of a1>", ...; the last is `end`.
const chain = (count, made, end) =>
  ['root ::= a0', ...range(count, (i) => `a${i} ::= ${made(`a${i + 1}`)}`), `a${count} ::= ${end}`].join('\n');

const firstGrammars = [
  'root ::= "a"{10,5}', 'root ::= (("a" [b-c]{7}){4000,1})*', 'root ::= "a"{18446744073709551615,}',
  'root ::= ((((("a"{60000}){60000}){60000}){60000}){60000})', 'root ::= (((("a"?){200}){200}){200}){200}',
  `root ::= "${times('ab', 30_000)}"{60000}`, `root ::= ${times('[a-z]{3000} ', 5000)}`,
  chain(60, (r) => `${r} ${r}`, '"a"?'), chain(40, (r) => `${r} ${r}`, '[a-z ]*'), chain(60, (r) => `${r} ${r}`, '"a"'),
  chain(50, (r) => `${r}? ${r}?`, '"a"'), chain(50, (r) => `${r} "x" | ${r} "y"`, '"a"'),
  chain(80, (r) => `(${r}*)*`, '[a-z]*'), chain(400, (r) => `"a"? ${r} "a"?`, '"b"'),
  'root ::= ([a-z ]*){4096}', 'root ::= ([a-z ]*){60000}', 'root ::= (.* .*){400} "end"',
  `root ::= ${times('"a" | ', 12_000)}"b"`, `root ::= (${range(3000, (i) => `!<[${i}]>`).join(' | ')} | "x")*`,
  [`root ::= (${range(300, (i) => `f${i}`).join(' | ')} | "z")*`, ...range(300, (i) => `f${i} ::= [a-z ]* [a-z]`)].join('\n'),
  `root ::= ${times('(', 1000)}"a"${times(')*', 1000)}`, `root ::= ${times('(', 30_000)}"a"${times(')', 30_000)}`,
  'root ::= "a" root "b" | "a" root "c" | "a"? root2\nroot2 ::= [a-z]* root2 "d" | "e"',
  'root ::= e root "a" | "b"\ne ::= f f f\nf ::= "c"?',
  'root ::= p*\np ::= "a" p "a" | "b" p "b" | [a-z ] p [a-z ] | ""',
  `root ::= [${times('abcdefghijklmnopqrstuvwxyz', 4000)}]* [a-z]{2000}`,
];

const newGrammars = [
  'root ::= .*', 'root ::= (. | .)*', 'root ::= (.? .?)*', 'root ::= [^\\x00]* [^\\x00]* [^\\x00]*',
  'root ::= ([^a]* | [^b]* | [^c]*)*', 'root ::= (.{0,50}){50}', 'root ::= .{30000}', 'root ::= (.{1,3}){5000}',
  `root ::= ${range(1000, () => '.?').join(' ')}`, `root ::= ${range(200, () => '.*').join(' ')} "x"`,
  `root ::= (${range(500, (i) => `[^${String.fromCodePoint(0x4e00 + i)}]`).join(' | ')})*`,
  `root ::= (${range(2000, (i) => `"word ${i}"`).join(' | ')})*`,
  `root ::= (${range(2000, (i) => `" "* "${i}"`).join(' | ')})*`,
  `root ::= (${range(100, (i) => `" "{0,${i}} .`).join(' | ')})*`,
  chain(200, (r) => `. ${r} . | . ${r}`, '.*'), chain(1000, (r) => `${r} | .`, '.'), chain(2000, (r) => `.? ${r}`, '.'),
  chain(30, (r) => `${r} ${r} ${r}`, '.?'), chain(20, (r) => `(${r} | ${r} ${r})*`, '.'),
  'root ::= a b c\na ::= .* b | c\nb ::= .* c | "b"\nc ::= .* | "c" a', 'root ::= "(" root ")" root | .*',
  'root ::= (root2 root2)*\nroot2 ::= "" | root3 root3\nroot3 ::= "" | . root3',
  `root ::= [${range(3000, (i) => String.fromCodePoint(0x4e00 + i)).join('')}]* .*`,
  `root ::= [^${range(3000, (i) => String.fromCodePoint(0x4e00 + i)).join('')}]*`,
  'root ::= (" "+ | "\\n"+ | [ \\n]+)*', `root ::= "${times('the ', 20_000)}" .*`,
  `root ::= (${range(60, (i) => `.{${i}} "x"`).join(' | ')}) .*`,
];

const text = { type: 'string' };
const object = (properties) => ({ type: 'object', properties });
const many = (count, each) => Object.fromEntries(range(count, (i) => [`p${i}`, each]));
const pattern = (one) => object({ a: { type: 'string', pattern: one } });
const nested = (depth, around, inner = text) => range(depth, () => 0).reduce((schema) => around(schema), inner);
const definitions = (count, made) => ({
  $ref: '#/$defs/d0',
  $defs: Object.fromEntries([...range(count, (i) => [`d${i}`, made({ $ref: `#/$defs/d${i + 1}` })]), [`d${count}`, text]]),
});

const firstSchemas = [
  object({ a: { type: 'string', minLength: 9, maxLength: 2 } }), { type: 'array', items: text, minItems: 900, maxItems: 3 },
  { type: 'integer', minimum: 7, maximum: -7 }, object({ a: { type: 'string', minLength: 2_000_000_000 } }),
  { type: 'integer', minimum: 900_000_000_000_000 },
  nested(6, (inner) => ({ type: 'array', items: inner, minItems: 1000, maxItems: 1900 })),
  pattern('^((a?){30}){30}$'), pattern('^((((((([a-z]*)*)*)*)*)*)*)*$'), pattern('^(([a-z ]{0,60}){60}){60}$'),
  pattern('^(((a{60000}){60000}){60000}){60000}$'), pattern('^((a|a|a|a|aa|b){20}){40}$'), pattern('^a{9,3}$'),
  pattern('^(?=.*[0-9])[a-z0-9]+$'), object(many(3000, { type: 'string', pattern: '^[a-z]{9}(b|c){4}$' })),
  object(many(2000, text)), nested(4, (inner) => object(many(9, inner))),
  nested(40, (inner) => ({ type: ['object', 'object'], properties: { a: inner } })),
  definitions(40, (next) => ({ anyOf: [next, next] })),
  definitions(40, (next) => object({ x: { allOf: [next] }, y: { allOf: [next] } })),
  definitions(3000, (next) => ({ type: 'array', items: next })),
  { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/a' } } },
  { allOf: [{ $ref: '#/$defs/a' }], $defs: { a: { $ref: '#/$defs/a' } } },
  { $ref: '#/$defs/a', $defs: { a: object({ x: { allOf: [{ $ref: '#/$defs/a' }] } }) } },
  object({ [times('_', 300_000)]: text }), { enum: range(60_000, (i) => `value number ${i}`) },
  object(Object.fromEntries(range(3000, (i) => [times('_', 1 + i % 100) + times('é', Math.floor(i / 100)), text]))),
  { ...object({ ...many(200, text), [times('n', 500)]: text }), additionalProperties: text },
  nested(60, (inner) => ({ anyOf: [object({ a: inner }), { type: 'array', items: text }] })),
];

const newSchemas = [
  object(many(250, text)), object(many(250, {})), nested(120, (inner) => ({ type: 'array', items: inner })),
  { type: 'object', additionalProperties: object(many(60, text)) }, { oneOf: range(2000, (i) => ({ const: i })) },
  { anyOf: range(300, (i) => object({ [`k${i}`]: text })) }, { enum: range(5000, (i) => times(`${i} `, 20)) },
  pattern('^.*$'), pattern('^(.*){60}$'), pattern('^[^a]{0,20000}$'), pattern('^([a-z]+ ?)+$'),
  object({ a: { type: 'string', maxLength: 50_000 } }), object({ a: { type: 'string', minLength: 50_000 } }),
  { type: 'array', items: {}, minItems: 1, maxItems: 20_000 }, { type: 'array', items: text, minItems: 20_000 },
  { type: 'array', prefixItems: range(2000, () => text) }, { type: 'integer', minimum: -1e15, maximum: 1e15 },
  object(many(40, { type: 'integer', minimum: 17, maximum: 99_999_999_999 })), object(many(100, pattern('^[a-z]{1,40}$'))),
  definitions(200, (next) => object({ a: next, b: next })), { type: ['string', 'number', 'object', 'array', 'null'] },
  object(many(60, { format: 'date-time', type: 'string' })), { allOf: range(200, (i) => object({ [`a${i}`]: text })) },
];

export const hostile = [
  ...firstGrammars.map((grammar, i) => ({ name: `grammar ${i}`, fields: { grammar } })),
  ...newGrammars.map((grammar, i) => ({ name: `new grammar ${i}`, fields: { grammar } })),
  ...[...firstSchemas, ...newSchemas].map((schema, i) => ({
    name: i < firstSchemas.length ? `schema ${i}` : `new schema ${i - firstSchemas.length}`,
    fields: { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } },
  })),
];
