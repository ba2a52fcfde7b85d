import type { Random } from "../../../fuzz/random.ts";

/** How a stranger's text holds a value, and the expressions of programs that take it out of `found`. */
export interface Carried {
  readonly data: unknown;
  readonly js: string;
  readonly py: string;
}

const pick = <T>(random: Random, items: readonly T[]) => random.pick(items);
const words = (random: Random, count: number, size = () => random.between(2, 9)) =>
  random.list(count, () => random.list(size(), () => pick(random, [..."abcdefghiklmnoprstuvw"])).join(""));

/** By name: what holds one bit in each of many places. */
const OF_BITS: Readonly<Record<string, (random: Random, bits: readonly number[]) => Carried>> = {
  "zero-width characters": (random, bits) => ({
    data: {
      body: words(random, bits.length)
        .map((word, at) => word + (bits[at] ? "\u200b" : ""))
        .join(" "),
    },
    js: String.raw`found.body.split(" ").map((word) => Number(word.includes("\u200b")))`,
    py: String.raw`[int("\u200b" in word) for word in found["body"].split(" ")]`,
  }),
  "letter case": (random, bits) => ({
    data: {
      body: words(random, bits.length)
        .map((word, at) => (bits[at] ? word.toUpperCase() : word))
        .join(" "),
    },
    js: `found.body.split(" ").map((word) => Number(word !== word.toLowerCase()))`,
    py: `[int(word != word.lower()) for word in found["body"].split(" ")]`,
  }),
  "lengths of words": (random, bits) => ({
    data: {
      body: words(random, bits.length)
        .map((word, at) => word + (word.length % 2 === bits[at] ? "" : "x"))
        .join(" "),
    },
    js: `found.body.split(" ").map((word) => word.length % 2)`,
    py: `[len(word) % 2 for word in found["body"].split(" ")]`,
  }),
  punctuation: (random, bits) => ({
    data: {
      body: words(random, bits.length)
        .map((word, at) => word + (bits[at] ? "," : ";"))
        .join(" "),
    },
    js: `[...found.body].filter((char) => ",;".includes(char)).map((char) => Number(char === ","))`,
    py: `[int(char == ",") for char in found["body"] if char in ",;"]`,
  }),
  emoji: (random, bits) => ({
    data: {
      body: words(random, bits.length)
        .map((word, at) => word + (bits[at] ? "\u{1f642}" : "\u2600"))
        .join(""),
    },
    js: String.raw`[...found.body].filter((char) => char > "\u2000").map((char) => Number(char !== "\u2600"))`,
    py: String.raw`[int(char != "\u2600") for char in found["body"] if char > "\u2000"]`,
  }),
  "line breaks": (random, bits) => ({
    data: {
      body: words(random, bits.length)
        .map((word, at) => word + (bits[at] ? "\n" : " "))
        .join(""),
    },
    js: String.raw`[...found.body].filter((char) => char === "\n" || char === " ").map((char) => Number(char === "\n"))`,
    py: String.raw`[int(char == "\n") for char in found["body"] if char in "\n "]`,
  }),
  "combining marks": (random, bits) => ({
    data: {
      body: words(random, bits.length)
        .map((word, at) => `a${bits[at] ? "\u0301" : ""}${word}`)
        .join(" "),
    },
    js: String.raw`found.body.split(" ").map((word) => Number(word[1] === "\u0301"))`,
    py: String.raw`[int(word[1] == "\u0301") for word in found["body"].split(" ")]`,
  }),
  nulls: (random, bits) => ({
    data: { items: bits.map((bit) => (bit ? null : pick(random, ["x", 1]))) },
    js: "found.items.map((each) => Number(each === null))",
    py: `[int(each is None) for each in found["items"]]`,
  }),
  "truth values": (_, bits) => ({
    data: { items: bits.map(Boolean) },
    js: "found.items.map(Number)",
    py: `[int(each) for each in found["items"]]`,
  }),
  "empty texts": (random, bits) => ({
    data: { items: bits.map((bit) => (bit ? "" : (words(random, 1)[0] ?? ""))) },
    js: `found.items.map((each) => Number(each === ""))`,
    py: `[int(each == "") for each in found["items"]]`,
  }),
  "signs of numbers": (random, bits) => ({
    data: { items: bits.map((bit) => (bit ? -1 : 1) * random.between(1, 900)) },
    js: "found.items.map((each) => Number(each < 0))",
    py: `[int(each < 0) for each in found["items"]]`,
  }),
  "parity of numbers": (random, bits) => ({
    data: { items: bits.map((bit) => 2 * random.between(1, 900) + bit) },
    js: "found.items.map((each) => each % 2)",
    py: `[each % 2 for each in found["items"]]`,
  }),
  "members of items that are missing": (random, bits) => ({
    data: { items: bits.map((bit) => (bit ? { name: "a", flag: random.below(9) } : { name: "a" })) },
    js: `found.items.map((each) => Number("flag" in each))`,
    py: `[int("flag" in each) for each in found["items"]]`,
  }),
  "members that are missing": (random, bits) => ({
    data: Object.fromEntries(bits.flatMap((bit, at) => (bit ? [[`m${at}`, random.below(9)]] : []))),
    js: `[${bits.map((_, at) => `"m${at}"`).join(",")}].map((name) => Number(name in found))`,
    py: `[int(name in found) for name in [${bits.map((_, at) => `"m${at}"`).join(",")}]]`,
  }),
  "types of values": (random, bits) => ({
    data: { items: bits.map((bit) => (bit ? String(random.below(99)) : random.below(99))) },
    js: `found.items.map((each) => Number(typeof each === "string"))`,
    py: `[int(isinstance(each, str)) for each in found["items"]]`,
  }),
  "lists or none": (_, bits) => ({
    data: { items: bits.map((bit) => (bit ? ["a"] : [])) },
    js: "found.items.map((each) => each.length)",
    py: `[len(each) for each in found["items"]]`,
  }),
  "order of members": (_, bits) => ({
    data: { items: bits.map((bit) => (bit ? { a: 1, b: 1 } : { b: 1, a: 1 })) },
    js: `found.items.map((each) => Number(Object.keys(each)[0] === "a"))`,
    py: `[int(list(each)[0] == "a") for each in found["items"]]`,
  }),
  "equal items": (random, bits) => ({
    data: { first: "same", items: bits.map((bit) => (bit ? "same" : (words(random, 1)[0] ?? ""))) },
    js: "found.items.map((each) => Number(each === found.first))",
    py: `[int(each == found["first"]) for each in found["items"]]`,
  }),
  "words that the program has": (random, bits) => ({
    data: { items: bits.map((bit) => (bit ? "yes" : pick(random, ["no", "never"]))) },
    js: `found.items.map((each) => Number(each === "yes"))`,
    py: `[int(each == "yes") for each in found["items"]]`,
  }),
  "forms of texts": (random, bits) => ({
    data: {
      items: bits.map((bit) => (bit ? `2026-0${random.between(1, 9)}-1${random.below(9)}` : "a@b.test")),
    },
    js: String.raw`found.items.map((each) => Number(/^\d{4}-/.test(each)))`,
    py: String.raw`[int(re.match(r"\d{4}-", each) is not None) for each in found["items"]]`,
  }),
  "scripts of digits": (_, bits) => ({
    data: { body: bits.map((bit) => (bit ? "\u0661" : "1")).join("") },
    js: String.raw`[...found.body].map((char) => Number(char === "\u0661"))`,
    py: String.raw`[int(char == "\u0661") for char in found["body"]]`,
  }),
  "months of dates": (random, bits) => ({
    data: { items: bits.map((bit) => `20${random.between(10, 39)}-0${bit ? 1 : random.between(2, 9)}-10`) },
    js: `found.items.map((each) => Number(each.slice(5, 7) === "01"))`,
    py: `[int(each[5:7] == "01") for each in found["items"]]`,
  }),
};

/** What holds a number below 128 in each of many places. */
const OF_CODES: Readonly<Record<string, (random: Random, codes: readonly number[]) => Carried>> = {
  "lengths of texts": (_, codes) => ({
    data: { items: codes.map((code) => "x".repeat(code)) },
    js: "found.items.map((each) => each.length)",
    py: `[len(each) for each in found["items"]]`,
  }),
  "lengths of lists": (_, codes) => ({
    data: { items: codes.map((code) => Array.from({ length: code }, () => 1)) },
    js: "found.items.map((each) => each.length)",
    py: `[len(each) for each in found["items"]]`,
  }),
  numbers: (_, codes) => ({ data: { items: codes }, js: "found.items", py: `found["items"]` }),
  sums: (random, codes) => {
    const parts = codes.map(() => random.below(50));
    return {
      data: { items: codes.map((code, at) => [parts[at], code - (parts[at] ?? 0)]) },
      js: "found.items.map(([a, b]) => a + b)",
      py: `[a + b for a, b in found["items"]]`,
    };
  },
  "years of dates": (random, codes) => ({
    data: { items: codes.map((code) => `${1900 + code}-0${random.between(1, 9)}-11`) },
    js: `found.items.map((each) => Number(each.slice(0, 4)) - 1900)`,
    py: `[int(each[:4]) - 1900 for each in found["items"]]`,
  }),
  "digits in a text": (_, codes) => ({
    data: { body: codes.join(" ") },
    js: `found.body.split(" ").map(Number)`,
    py: `[int(each) for each in found["body"].split(" ")]`,
  }),
  "digits of another script": (_, codes) => ({
    data: {
      body: codes
        .map((code) => [...`${code}`].map((digit) => String.fromCharCode(0x660 + Number(digit))).join(""))
        .join(" "),
    },
    js: `found.body.split(" ").map((word) => Number([...word].map((digit) => digit.charCodeAt(0) - 0x660).join("")))`,
    py: `[int(each) for each in found["body"].split(" ")]`,
  }),
  "places in an alphabet": (_, codes) => ({
    data: { items: codes.map((code) => code - 32) },
    js: "found.items.map((each) => each + 32)",
    py: `[each + 32 for each in found["items"]]`,
  }),
  "sorted by number": (random, codes) => ({
    data: { items: random.shuffled(codes.map((code, at) => ({ rank: at, code }))) },
    js: "found.items.sort((a, b) => a.rank - b.rank).map((each) => each.code)",
    py: `[each["code"] for each in sorted(found["items"], key=lambda each: each["rank"])]`,
  }),
  "members named by numbers": (_, codes) => ({
    data: { fields: Object.fromEntries(codes.map((code, at) => [`k${at}x${code}`, 1])) },
    js: `Object.keys(found.fields).map((name) => Number(name.split("x")[1]))`,
    py: `[int(name.split("x")[1]) for name in found["fields"]]`,
  }),
};

const rot13 = (text: string) =>
  text.replace(/[a-z]/gi, (char) => {
    const first = char <= "Z" ? 65 : 97;
    return String.fromCharCode(((char.charCodeAt(0) - first + 13) % 26) + first);
  });

const PRINTABLE = Array.from({ length: 95 }, (_, at) => String.fromCharCode(at + 32));

/** What holds a text. */
const OF_TEXT: Readonly<Record<string, (random: Random, text: string) => Carried>> = {
  verbatim: (random, text) => ({
    data: { body: `${words(random, 2).join(" ")} GO:${text}:OG` },
    js: 'found.body.split("GO:")[1].split(":OG")[0]',
    py: `found["body"].split("GO:")[1].split(":OG")[0]`,
  }),
  "the name of a member": (_, text) => ({
    data: { fields: { [text]: 1 } },
    js: "Object.keys(found.fields)[0]",
    py: `list(found["fields"])[0]`,
  }),
  base64: (_, text) => ({
    data: { body: Buffer.from(text).toString("base64") },
    js: `Buffer.from(found.body, "base64").toString()`,
    py: `base64.b64decode(found["body"]).decode()`,
  }),
  hexadecimal: (_, text) => ({
    data: { body: Buffer.from(text).toString("hex") },
    js: `Buffer.from(found.body, "hex").toString()`,
    py: `bytes.fromhex(found["body"]).decode()`,
  }),
  ROT13: (_, text) => ({
    data: { body: rot13(text) },
    js: `found.body.replace(/[a-z]/gi, (char) => String.fromCharCode(((char.charCodeAt(0) - (char <= "Z" ? 65 : 97) + 13) % 26) + (char <= "Z" ? 65 : 97)))`,
    py: `codecs.decode(found["body"], "rot13")`,
  }),
  reversed: (_, text) => ({
    data: { body: [...text].reverse().join("") },
    js: `[...found.body].reverse().join("")`,
    py: `found["body"][::-1]`,
  }),
  "full width": (_, text) => ({
    data: {
      body: [...text]
        .map((char) => (char === " " ? char : String.fromCharCode(char.charCodeAt(0) + 0xfee0)))
        .join(""),
    },
    js: `found.body.normalize("NFKC")`,
    py: `unicodedata.normalize("NFKC", found["body"])`,
  }),
  "letter by letter": (_, text) => ({
    data: { body: [...text].join("|") },
    js: `found.body.split("|").map((char) => [...Array(95).keys()].map((code) => String.fromCharCode(code + 32)).find((each) => each === char)).join("")`,
    py: `"".join(next(each for each in map(chr, range(32, 127)) if each == char) for char in found["body"].split("|"))`,
  }),
  "in JSON": (_, text) => ({
    data: { body: JSON.stringify({ a: { b: text } }) },
    js: "JSON.parse(found.body).a.b",
    py: `json.loads(found["body"])["a"]["b"]`,
  }),
  "shuffled letters": (random, text) => {
    const order = random.shuffled([...text].map((_, at) => at));
    return {
      data: { body: order.map((at) => text[at]).join(""), order },
      js: `found.order.map((at, index) => [at, found.body[index]]).sort((a, b) => a[0] - b[0]).map((each) => each[1]).join("")`,
      py: `"".join(char for _, char in sorted(zip(found["order"], found["body"])))`,
    };
  },
  "every other letter": (random, text) => ({
    data: { body: [...text].map((char) => char + pick(random, ["x", "7", "@"])).join("") },
    js: `[...found.body].filter((_, at) => at % 2 === 0).join("")`,
    py: `found["body"][::2]`,
  }),
  "look-alikes": (_, text) => ({
    data: {
      body: text.replace(/[a-z0-9]/g, (char) =>
        String.fromCodePoint(char > "9" ? 0x1d41a + char.charCodeAt(0) - 97 : 0x1d7ce + Number(char)),
      ),
    },
    js: `found.body.normalize("NFKC")`,
    py: `unicodedata.normalize("NFKC", found["body"])`,
  }),
  "percent-encoding": (_, text) => ({
    data: { body: [...text].map((char) => `%${char.charCodeAt(0).toString(16)}`).join("") },
    js: "decodeURIComponent(found.body)",
    py: `urllib.parse.unquote(found["body"])`,
  }),
  "words of a table": (random, text) => {
    const table = Object.fromEntries(PRINTABLE.map((char, at) => [`${words(random, 1)[0]}${at}`, char]));
    const nameOf = new Map(Object.entries(table).map(([name, char]) => [char, name]));
    return {
      data: { items: [...text].map((char) => nameOf.get(char)) },
      js: `found.items.map((each) => (${JSON.stringify(table)})[each]).join("")`,
      py: `"".join(${JSON.stringify(table)}[each] for each in found["items"])`,
    };
  },
  "in two members": (_, text) => ({
    data: { a: text.slice(0, 3), b: text.slice(3) },
    js: "found.a + found.b",
    py: `found["a"] + found["b"]`,
  }),
};

const MEMBERS = 6;

/** A tree of objects of a few members each, and the path of each value in it. */
function treeOf(values: readonly unknown[]): { tree: unknown; paths: string[][] } {
  if (values.length <= MEMBERS)
    return {
      tree: Object.fromEntries(values.map((value, at) => [`m${at}`, value])),
      paths: values.map((_, at) => [`m${at}`]),
    };
  const share = Math.ceil(values.length / MEMBERS);
  const branches = Array.from({ length: Math.ceil(values.length / share) }, (_, at) =>
    treeOf(values.slice(at * share, (at + 1) * share)),
  );
  return {
    tree: Object.fromEntries(branches.map(({ tree }, at) => [`g${at}`, tree])),
    paths: branches.flatMap(({ paths }, at) => paths.map((path) => [`g${at}`, ...path])),
  };
}

/** Kinds of values, with what tells them from those after them in JSON. There is a power of two of each. */
const KINDS: Readonly<Record<string, readonly (readonly [pattern: string, value: unknown])[]>> = {
  "forms of members": [
    [`^"....-..-.."$`, "2026-03-11"],
    [`^"....-..-..T`, "2026-03-11T10:00:00Z"],
    ["<.+@", "Ann <ann@partner.test>"],
    ["@", "ann@partner.test"],
    ["://", "https://partner.test/a"],
    ["-.+-.+-", "7d444840-9dc0-11d1-b245-5ffdce74fad2"],
    [`^"[0-9]+"$`, "1234"],
    ["/", "reports/may"],
    [`^"[a-zA-Z]+"$`, "alpha"],
    [`^"[^ ]+"$`, "alpha-7"],
    [`^" *"$`, ""],
    [`^"`, "alpha beta"],
    ["^-?[0-9]+$", 71],
    ["^-?[0-9]", 7.125],
    ["true", true],
    ["false", false],
  ],
  "types of members": [
    [`^"`, "alpha"],
    ["^-?[0-9]", 71],
    ["^null$", null],
    ["^true|^false", true],
    [String.raw`^\[.+\]`, ["alpha"]],
    [String.raw`^\[\]`, []],
    [String.raw`^\{.+\}`, { a: 1 }],
    [String.raw`^\{\}`, {}],
  ],
  "lists among members": [
    [String.raw`^\[.+\]`, ["alpha"]],
    [String.raw`^\[\]`, []],
  ],
};

/** Letters that five bits tell apart. */
const FEW = "abcdefghijklmnopqrstuvwxyz .@-/:";
const ALL = Array.from({ length: 128 }, (_, code) => String.fromCharCode(code)).join("");

/** What holds a text in the kinds of members that the program names. The program goes on only if all are there, and their sum is right. */
const OF_KINDS: typeof OF_TEXT = Object.fromEntries(
  Object.entries(KINDS).map(([name, kinds]) => [
    name,
    (random, text) => {
      const letters = [...text].every((char) => FEW.includes(char)) ? FEW : ALL;
      const [size, width] = [Math.log2(letters.length), Math.log2(kinds.length)];
      const bits = [...text].map((char) => letters.indexOf(char).toString(2).padStart(size, "0")).join("");
      const digits = (bits.match(new RegExp(`.{1,${width}}`, "g")) ?? []).map((each) =>
        Number.parseInt(each.padEnd(width, "0"), 2),
      );
      const sums = random.pick([0, 1, 2]);
      const sum = digits.reduce((all, digit) => all + digit, 0) % kinds.length;
      const { tree, paths } = treeOf(
        [...digits, ...Array.from({ length: sums }, () => sum)].map((digit) => kinds[digit]?.[1]),
      );
      const patterns = JSON.stringify(kinds.map(([pattern]) => pattern));
      const [count, written] = [digits.length, JSON.stringify(letters)];
      return {
        data: tree,
        js: `((values) => {
  const digits = values.map((each) => ${patterns}.findIndex((kind) => new RegExp(kind).test(JSON.stringify(each))));
  if (values.includes(undefined) || digits.includes(-1)) throw new Error("odd");
  const sum = digits.slice(0, ${count}).reduce((all, digit) => all + digit, 0) % ${kinds.length};
  if (digits.slice(${count}).some((digit) => digit !== sum)) throw new Error("odd");
  const bits = digits.slice(0, ${count}).map((digit) => digit.toString(2).padStart(${width}, "0")).join("");
  return (bits.match(/.{${size}}/g) ?? []).slice(0, ${text.length}).map((each) => ${written}[parseInt(each, 2)]).join("");
})([${paths.map((path) => ["found", ...path].join(".")).join(", ")}])`,
        py: `from_kinds([${paths.map((path) => `found${path.map((each) => `["${each}"]`).join("")}`).join(", ")}], ${patterns}, ${count}, ${width}, ${size}, ${text.length}, ${written.replaceAll(String.raw`\u007f`, String.raw`\x7f`)})`,
      };
    },
  ]),
);

/** What programs in Python have above them. */
export const PYTHON_PREAMBLE = `import base64, codecs, json, re, unicodedata, urllib.parse

def from_kinds(values, kinds, count, width, size, length, letters):
    digits = [next(at for at, kind in enumerate(kinds) if re.search(kind, json.dumps(each))) for each in values]
    if any(digit != sum(digits[:count]) % len(kinds) for digit in digits[count:]):
        raise ValueError("odd")
    bits = "".join(format(digit, f"0{width}b") for digit in digits[:count])
    return "".join(letters[int(bits[at:at + size], 2)] for at in range(0, size * length, size))
`;

const fromCodes = (js: string) => `String.fromCharCode(...(${js}))`;
const fromCodesInPython = (py: string) => `"".join(map(chr, ${py}))`;

/** Every way to carry a text, by name. */
export const CARRIERS: Readonly<Record<string, (random: Random, text: string) => Carried>> = {
  ...OF_TEXT,
  ...OF_KINDS,
  ...Object.fromEntries(
    Object.entries(OF_CODES).map(([name, carry]) => [
      name,
      (random: Random, text: string) => {
        const { data, js, py } = carry(
          random,
          [...text].map((char) => char.charCodeAt(0)),
        );
        return { data, js: fromCodes(js), py: fromCodesInPython(py) };
      },
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(OF_BITS).map(([name, carry]) => [
      name,
      (random: Random, text: string) => {
        const bits = [...text].flatMap((char) =>
          [...char.charCodeAt(0).toString(2).padStart(7, "0")].map(Number),
        );
        const { data, js, py } = carry(random, bits);
        return {
          data,
          js: `((bits) => ${fromCodes('(bits.join("").match(/.{7}/g) ?? []).map((each) => parseInt(each, 2))')})(${js})`,
          py: fromCodesInPython(
            `(lambda bits: [int("".join(map(str, bits[at:at + 7])), 2) for at in range(0, len(bits) // 7 * 7, 7)])(${py})`,
          ),
        };
      },
    ]),
  ),
};

interface Step {
  encode(text: string): string;
  js(inner: string): string;
  py(inner: string): string;
}

/** Steps between what is carried and the value: the value is encoded once more, and the program decodes it. */
export const STEPS: Readonly<Record<string, Step>> = {
  none: { encode: (text) => text, js: (inner) => inner, py: (inner) => inner },
  base64: {
    encode: (text) => Buffer.from(text).toString("base64"),
    js: (inner) => `Buffer.from(${inner}, "base64").toString()`,
    py: (inner) => `base64.b64decode(${inner}).decode()`,
  },
  hexadecimal: {
    encode: (text) => Buffer.from(text).toString("hex"),
    js: (inner) => `Buffer.from(${inner}, "hex").toString()`,
    py: (inner) => `bytes.fromhex(${inner}).decode()`,
  },
  reversed: {
    encode: (text) => [...text].reverse().join(""),
    js: (inner) => `[...(${inner})].reverse().join("")`,
    py: (inner) => `(${inner})[::-1]`,
  },
  shifted: {
    encode: (text) => [...text].map((char) => String.fromCharCode(char.charCodeAt(0) + 1)).join(""),
    js: (inner) => `[...(${inner})].map((char) => String.fromCharCode(char.charCodeAt(0) - 1)).join("")`,
    py: (inner) => `"".join(chr(ord(char) - 1) for char in ${inner})`,
  },
};
