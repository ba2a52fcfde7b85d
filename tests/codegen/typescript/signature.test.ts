import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { buildServerModel, type ToolModel } from "../../../catalog/tool-model.ts";
import { commentLines } from "../../../codegen/escape.ts";
import {
  printCompactSignature,
  printToolSignature,
  SIGNATURE_FORM,
} from "../../../codegen/typescript/signature.ts";
import { tries } from "../../tries.ts";
import { compileGenerated } from "../compile-generated.ts";
import { listingOf } from "../list-tools.ts";
import { toolLists, toolListsPresent, whyToolListsAreSkipped } from "../tool-lists.ts";

function modelsOf(tools: unknown[]): ToolModel[] {
  return buildServerModel(listingOf(tools), "demo").server.tools;
}

async function signaturesOf(tool: unknown): Promise<{ full: string; compact: string }> {
  const [model] = modelsOf([tool]);
  if (model === undefined) throw new Error("no tool");
  return { full: await printToolSignature(model), compact: await printCompactSignature(model) };
}

/**
 * A signature without comments, and with other strings; throws where a comment or a string does not end. What stands
 * behind a space is a comment, too, unless the space begins a line or follows the word `type`.
 */
function codeOf(signature: string, putString: (string: string) => string = () => '""'): string {
  const pattern =
    /\/\*[\s\S]*?\*\/|\/\/.*(?:\n|$)|(?<!^|^type) (?!\/\*).*|("(?:[^"\\\n]|\\.)*")|([^"/ ]+| )/my;
  let code = "";
  while (pattern.lastIndex < signature.length) {
    const match = pattern.exec(signature);
    if (match === null) throw new Error(`unexpected text in ${JSON.stringify(signature)}`);
    const [comment, string, text] = match;
    code += string === undefined ? (text ?? (comment.startsWith("//") ? "\n" : "")) : putString(string);
  }
  return code;
}

/** A signature as a declaration that the compiler reads: `name({})` leaves out the name of its one parameter. */
function asDeclaration(signature: string, i: number): string {
  const named = codeOf(signature, (string) => string)
    .replace(/^(\s*)([\w$]+)\(\{/m, "$1export function $2(args:{")
    .replace(/^(\s*)([\w$]+)\((?=args:|\))/m, "$1export function $2(");
  return `export declare namespace tool${i} {\n${named.replace(/\)$/m, "):any")}\n}`;
}

const search = {
  name: "search_files",
  description: "Finds files. Looks at names alone.",
  inputSchema: {
    type: "object",
    properties: {
      query: { type: "string", description: "What to look for" },
      kind: { enum: ["file", "folder"], default: "file" },
      within: {
        type: "object",
        description: "Where.\nEverywhere, without it.",
        properties: { path: { type: "string", format: "uri" } },
      },
      more: { type: "object" },
    },
    required: ["query"],
  },
  outputSchema: {
    type: "object",
    properties: { files: { type: "array", items: { $ref: "#/$defs/File" } } },
    required: ["files"],
    $defs: { File: { type: "object", description: "One file", properties: { name: { type: "string" } } } },
  },
};

describe("signatures", () => {
  test("say all there is to know of a tool in few words", async () => {
    expect((await signaturesOf(search)).full).toBe(
      [
        "// Finds files. Looks at names alone.",
        "searchFiles({",
        " query:string What to look for",
        ' kind?:"file"|"folder" = "file"',
        " within?:{/* Where.",
        "Everywhere, without it.*/",
        " path?:string (uri)",
        "}",
        " more?:object",
        "}):Promise<{",
        " files:File[]",
        "}>",
        "type File={// One file",
        " name?:string",
        "}",
      ].join("\n"),
    );
  });

  test("have a compact form: types, and the first sentence", async () => {
    expect((await signaturesOf(search)).compact).toBe(
      [
        'searchFiles({query:string,kind?:"file"|"folder",within?:{path?:string},more?:object}):Promise<{files:File[]}>// Finds files',
        "type File={name?:string}",
      ].join("\n"),
    );
  });

  test("put default, format and deprecation before what is said, and join lines that were wrapped", async () => {
    const wrapped = `${"Long enough to have been wrapped by hand, ".repeat(2)}\nand going on.\n\n- a list\n- of two`;
    const properties = {
      at: { type: "string", format: "date-time", default: "now", description: "When" },
      old: {
        type: "array",
        items: { enum: [1, 2], description: "one" },
        description: "Which",
        deprecated: true,
      },
      more: { type: "number", description: wrapped },
      slash: { type: "number", description: "/* not a comment" },
      any: {},
    };
    const { full } = await signaturesOf({ name: "t", inputSchema: { type: "object", properties } });
    expect(full).toBe(
      [
        "t({",
        ' at?:string = "now" (date-time) When',
        " old?:(1|2)[] (deprecated) Which Items: one",
        ` more?:number/* ${wrapped.replace(" \n", " ").replace(/ {2}/g, " ")}*/`,
        " slash?:number// /* not a comment",
        " any?:unknown",
        "})",
      ].join("\n"),
    );
  });

  test("have a form that one sentence explains", async () => {
    const inputSchema = { type: "object", properties: { a: { type: "string", default: "value" } } };
    const outputSchema = { type: "object", properties: { b: {} } };
    const { full } = await signaturesOf({ name: "name", inputSchema, outputSchema });
    const [call, fallback] = [...SIGNATURE_FORM.matchAll(/`(.*?)`/g)].map(([, form = ""]) => form);
    expect(full.replace(/\{\n a.*\n\}/, "{arguments}").replace(/<.*>/s, "<result>")).toBe(call);
    expect(full.replace('"value"', "value")).toContain(`a?:string ${fallback}`);
  });

  test.each<[string, object, string]>([
    [
      "alone",
      { type: "object", properties: { a: {}, b: {}, c: {}, d: {} } },
      "t(args:Partial<{a:unknown,b:unknown,c:unknown,d:unknown}>)",
    ],
    [
      "beside required ones, within a list",
      {
        type: "object",
        properties: {
          list: {
            type: "array",
            items: {
              type: "object",
              properties: {
                a: {},
                b: { type: "object", properties: {} },
                c: {},
                d: {},
                e: {},
                f: { type: "null" },
              },
              required: ["c"],
            },
          },
        },
        required: ["list"],
      },
      "t({list:({c:unknown}&Partial<{a:unknown,b:object,d:unknown,e:unknown,f:null}>)[]})",
    ],
    [
      "not when there are few",
      { type: "object", properties: { a: {}, b: {}, c: {} } },
      "t({a?:unknown,b?:unknown,c?:unknown})",
    ],
  ])("group many optional properties in the compact form: %s", async (_what, inputSchema, compact) => {
    expect((await signaturesOf({ name: "t", inputSchema })).compact).toBe(compact);
  });

  test.each<[string, object, string]>([
    [
      "arguments and results",
      {
        inputSchema: { type: "array", items: { type: "string" }, description: "Said." },
        outputSchema: { type: "object", additionalProperties: { type: "string" }, description: "By\nname." },
      },
      "t(args:string[] /* Said.*/):Promise<{[k:string]:string} /* By\nname.*/>",
    ],
    [
      "a type of its own",
      {
        outputSchema: {
          type: "object",
          properties: { a: { $ref: "#/$defs/A" } },
          $defs: { A: { enum: ["x", "y"], description: "One" } },
        },
      },
      't():Promise<{\n a?:A\n}>\ntype A="x"|"y" /* One*/',
    ],
    [
      "what has lines of its own",
      { outputSchema: { type: "object", properties: { a: {} }, description: "All" } },
      "t():Promise<{// All\n a?:any\n}>",
    ],
  ])("hide nothing behind what is said of %s", async (_what, tool, full) => {
    expect((await signaturesOf({ name: "t", ...tool })).full).toBe(full);
  });

  const names = (count: number) => Array.from({ length: count }, (_, i) => `m${i}`);
  const wide = (count: number) => ({
    type: "object",
    properties: Object.fromEntries(names(count).map((name) => [name, { type: "number" }])),
  });
  const shown = (count: number) => `Partial<{${names(count).map((name) => `${name}:number`)}}>`;
  const deep = { type: "object", properties: { deep: wide(30) } };
  const object = (properties: object) => ({ type: "object", properties });
  const orNull = (schema: object) => ({ anyOf: [schema, { type: "null" }] });
  test.each<[what: string, outputSchema: object, result: string]>([
    ["all that fits", wide(24), shown(24)],
    ["the first members", wide(25), `{[k:string]:any}&${shown(24)}`],
    ["of lists", { type: "array", items: wide(25) }, `({[k:string]:any}&${shown(24)})[]`],
    ["of alternatives", orNull(wide(25)), `{[k:string]:any}&${shown(24)}|null`],
    ["all levels that fit", object({ a: wide(11), b: wide(11) }), `{a?:${shown(11)},b?:${shown(11)}}`],
    ["the outer levels", object({ a: wide(11), b: wide(12) }), "{a?:object,b?:object}"],
    [
      "in lists of alternatives",
      object({ rows: { type: "array", items: orNull(deep) } }),
      "{rows?:({deep?:object}|null)[]}",
    ],
    [
      "in objects of any names",
      { type: "object", additionalProperties: deep },
      "{[k:string]:{deep?:object}}",
    ],
  ])(
    "show of a result that was observed only as much as is read quickly: %s",
    async (_what, outputSchema, result) => {
      const [model] = modelsOf([{ name: "t", outputSchema }]);
      if (model === undefined) throw new Error("no tool");
      expect(await printCompactSignature({ ...model, observedCalls: 3 })).toBe(
        `t():Promise<${result}>// result as observed in 3 calls`,
      );
    },
  );

  test("of a tool without arguments and results are its name", async () => {
    expect(await signaturesOf({ name: "ping" })).toEqual({ full: "ping()", compact: "ping()" });
  });

  test("hold nothing of what a server writes outside of comments and strings", async () => {
    const text = fc.oneof(
      fc.constantFrom(
        "evil",
        "*/ evil /*",
        "\nevil\n",
        "\revil",
        "\u2028evil",
        "/evil",
        '"evil',
        "// evil",
        "@evil",
      ),
      fc.string({ unit: "binary", maxLength: 12 }).map((each) => `${each}evil`),
    );
    await fc.assert(
      fc.asyncProperty(text, text, text, async (a, b, c) => {
        const part = { description: a, default: b, enum: [c, b], title: c, tsType: c };
        const properties = { x: part, y: { description: b, type: "array", items: part }, [`${c}"`]: {} };
        const schema = { type: "object", description: c, properties };
        const tool = { name: "t", description: a, inputSchema: schema, outputSchema: schema };
        for (const signature of Object.values(await signaturesOf(tool))) {
          expect(codeOf(signature)).not.toContain("evil");
          expect(signature).not.toMatch(/\/\/\/|\/\/[#@]/);
        }
      }),
      { numRuns: tries(80) },
    );
  });

  test.skipIf(!toolListsPresent)(
    `of every tool of real servers compile${whyToolListsAreSkipped}`,
    async () => {
      const declarations: string[] = [];
      for (const { tools } of toolLists) {
        for (const model of modelsOf(tools)) {
          for (const print of [printToolSignature, printCompactSignature]) {
            declarations.push(asDeclaration(await print(model), declarations.length));
          }
        }
      }
      expect(declarations.length).toBeGreaterThan(4_000);
      expect(compileGenerated(new Map([["signatures.d.ts", declarations.join("\n")]]))).toEqual([]);
    },
  );

  test.skipIf(!toolListsPresent)(
    `keep the descriptions of real servers${whyToolListsAreSkipped}`,
    async () => {
      let described = 0;
      const lost: string[] = [];
      for (const { tools } of toolLists) {
        for (const model of modelsOf(tools)) {
          const signature = onOneLine(await printToolSignature(model));
          const { description, inputSchema, outputSchema } = model.definition;
          for (const each of descriptionsIn([{ description }, inputSchema, outputSchema])) {
            described++;
            if (!signature.includes(onOneLine(commentLines(each).join("\n"))))
              lost.push(model.definition.name);
          }
        }
      }
      expect(described).toBeGreaterThan(13_000);
      // What is said of the names of a map, and where a schema is expected and is none: `{"data": {"parent": {...}}}`.
      expect([...new Set(lost)]).toEqual(["asana_set_parent_for_task", "create-index"]);
    },
  );
});

function onOneLine(text: string): string {
  return text.replace(/\s+/g, " ").trim();
}

/** Every description in a schema; a property may be called `description`, too. */
function descriptionsIn(value: unknown, isProperties = false): string[] {
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, each]) =>
    name === "description" && typeof each === "string" && !isProperties
      ? [each]
      : descriptionsIn(each, name === "properties" && !isProperties),
  );
}
