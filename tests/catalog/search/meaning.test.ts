import { describe, expect, it } from "vitest";
import {
  askForChoice,
  describedText,
  fuse,
  likeness,
  parseChosen,
  parseVector,
  putFirst,
  queryTexts,
} from "../../../catalog/search/meaning.ts";
import { tool } from "./catalog-of-tools.ts";

const tools = Array.from({ length: 30 }, (_, i) => tool("s", `t${String(i).padStart(2, "0")}`));
const [first, second, third] = tools as [(typeof tools)[0], (typeof tools)[0], (typeof tools)[0]];

/** Ranks the first tools by what words find, and by their likenesses to the texts of a query. */
function ranked(
  likenesses: readonly (readonly number[] | undefined)[],
  words: readonly (readonly [number, number])[] = [],
  coverage = 0,
) {
  const byWords = words.flatMap(([at, score]) =>
    tools.slice(at, at + 1).map((each) => ({ tool: each, score })),
  );
  const all = likenesses.flatMap((each, i) =>
    tools.slice(i, i + 1).map((own) => ({ tool: own, likenesses: each })),
  );
  const { hits, standsOut } = fuse(byWords, coverage, all);
  return { names: hits.map((hit) => hit.tool.name), scores: hits.map(({ score }) => score), standsOut };
}

describe("ranking by words and meaning", () => {
  it("goes by words alone where all tools are equally near", () => {
    const { names, scores, standsOut } = ranked(Array(4).fill([0.5, 0.5]), [
      [2, 6],
      [1, 3],
    ]);
    expect(names).toEqual(["t02", "t01"]);
    expect(scores[0]).toBeCloseTo(0.3);
    expect(scores[1]).toBeCloseTo(0.15);
    expect(standsOut).toBe(false);
  });

  it("finds a tool by meaning that no word leads to, by whichever text of the query is nearest", () => {
    const far = Array.from({ length: 9 }, () => [0.25, 0.25]);
    for (const near of [
      [0.75, 0.25],
      [0.25, 0.75],
    ])
      expect(ranked([...far, near])).toMatchObject({ names: ["t09"], standsOut: true });
  });

  it("counts words the more, the more of the query they cover", () => {
    const likenesses = [[0.1], [0.1], [0.1], [0.9]];
    expect(ranked(likenesses, [[0, 1]], 0).names).toEqual(["t03", "t00"]);
    expect(ranked(likenesses, [[0, 1]], 1).names).toEqual(["t00", "t03"]);
  });

  it("takes the words of a tool without a vector as its meaning", () => {
    const { names, scores } = ranked(
      [[0.5], [0.5], undefined],
      [
        [2, 2],
        [0, 1],
      ],
      0.5,
    );
    expect(names).toEqual(["t02", "t00"]);
    expect(scores[0]).toBeCloseTo(1);
  });

  it("knows of no more than twenty near tools that no word leads to", () => {
    const rising = Array.from({ length: 30 }, (_, i) => [i < 25 ? 1 + i / 1_000 : -3]);
    expect(ranked(rising).names).toEqual([]);
    const few = Array.from({ length: 30 }, (_, i) => [i < 8 ? 2 - i / 1_000 : 0]);
    expect(ranked(few).names).toEqual(tools.slice(0, 8).map(({ name }) => name));
  });

  it("says that none stands out where none is much nearer than the others", () => {
    const near = (count: number) => Array.from({ length: 10 }, (_, i) => [i < count ? 0.5 : 0.25]);
    expect([1, 2, 3, 5].map((count) => ranked(near(count)).standsOut)).toEqual([true, true, false, false]);
  });

  it("orders equals by their names", () => {
    const found = fuse(
      [third, first, second].map((each) => ({ tool: each, score: 1 })),
      1,
      [second, third, first].map((each) => ({ tool: each, likenesses: [0.5] })),
    );
    expect(found.hits.map((hit) => hit.tool.name)).toEqual(["t00", "t01", "t02"]);
  });

  it("finds nothing among no tools", () => {
    expect(fuse([], 0, []).hits).toEqual([]);
  });
});

it.each<[query: string, texts: string[]]>([
  [" one need ", ["one need"]],
  ["Find the invoice. Thanks!", ["Find the invoice. Thanks!"]],
  [
    "Find the invoice. Then send it to Ada.",
    ["Find the invoice. Then send it to Ada.", "Find the invoice.", "Then send it to Ada."],
  ],
  [
    "find the invoice\nthen send it to Ada",
    ["find the invoice\nthen send it to Ada", "find the invoice", "then send it to Ada"],
  ],
  ["file a.b.c and d.e.f please", ["file a.b.c and d.e.f please"]],
])("a query is compared as a whole and sentence by sentence: %j", (query, texts) => {
  expect(queryTexts(query)).toEqual(texts);
});

it("a query is compared up to 2,000 characters and eight sentences", () => {
  expect(queryTexts("x".repeat(3_000))).toEqual(["x".repeat(2_000)]);
  expect(queryTexts("What is there? ".repeat(20))).toHaveLength(9);
});

it("a tool is compared by its name in words, its title and its description", () => {
  const text = (name: string, more = {}) => describedText(tool("s", name, more));
  expect(text("getDocument_byId")).toBe("get Document by Id:");
  expect(text("a.b-c2D", { title: "Does it", description: "All of it." })).toBe(
    "a b c2 D, Does it: All of it.",
  );
  expect(text("_", { title: "Does it" })).toBe("Does it:");
  const long = text("n".repeat(600), { title: "t".repeat(600), description: "d".repeat(3_000) });
  expect(long).toBe(`${"n".repeat(512)}, ${"t".repeat(512)}: ${"d".repeat(2_000)}`);
});

describe("an embedding", () => {
  it("is scaled to length 1", () => {
    expect([...(parseVector([3, 4]) ?? [])]).toEqual([Math.fround(0.6), Math.fround(0.8)]);
    expect(parseVector(Array(16_384).fill(1))).toHaveLength(16_384);
  });

  it.each<[a: number[], b: number[], cosine: number]>([
    [[3, 4], [6, 8], 1],
    [[1, 0], [0, 1], 0],
    [[1, 0], [-2, 0], -1],
    [[1, 0, 1], [1, 1, 0], 0.5],
  ])("is as near to another as their directions are: %j and %j", (a, b, cosine) => {
    const [first, second] = [a, b].map((each) => parseVector(each) ?? new Float32Array());
    expect(likeness(first as Float32Array, second as Float32Array)).toBeCloseTo(cosine);
  });

  it.each([[[]], [Array(16_385).fill(1)], ["text"], [{ 0: 1 }], [[1, "2"]], [[1, null]], [[0, 0]]])(
    "is none: %j",
    (value) => {
      expect(parseVector(value)).toBeUndefined();
    },
  );
});

describe("a model that chooses", () => {
  it("is asked with the need and the tools, a line each, numbered from 1", () => {
    const [system, user] = askForChoice("send\nit", [
      tool("s", "a", { title: "A title", description: "Does\na." }),
      tool("s", "b", { title: "A title" }),
      tool("s", "c"),
    ]);
    expect(system?.role).toBe("system");
    expect(user).toEqual({
      role: "user",
      content: "Need: send it\n\nTools:\n1. mcp__s__a: Does a.\n2. mcp__s__b: A title\n3. mcp__s__c: ",
    });
  });

  it.each<[answer: unknown, chosen: number[] | undefined]>([
    ["[2,1]", [1, 0]],
    ["[\n  2,\n  1\n]", [1, 0]],
    ["[12]", [11]],
    ["[2, 2, 1]", [1, 0]],
    ["[]", []],
    ["I thought of [1] and [2], and take\n[3].", [2]],
    ["[2] is better than [a1]", [1]],
    ["[0]", undefined],
    ["[1, 13]", undefined],
    ["2", undefined],
    ["", undefined],
    [[2], undefined],
  ])("has chosen of twelve with %j: %j", (answer, chosen) => {
    expect(parseChosen(answer, 12)).toEqual(chosen);
  });

  it("has what it chose put first, and the others after it as they were", () => {
    const hits = tools.slice(0, 4).map((each) => ({ tool: each, score: 9 }));
    expect(putFirst(hits, [2, 0, 7]).map((hit) => [hit.tool.name, hit.score])).toEqual([
      ["t02", 1],
      ["t00", 1 / 2],
      ["t01", 1 / 3],
      ["t03", 1 / 4],
    ]);
  });
});
