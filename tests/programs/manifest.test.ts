import { describe, expect, it } from "vitest";
import { programFunction, whyNoName } from "../../catalog/program-name.ts";
import { type Manifest, parseManifest, renderManifest } from "../../programs/manifest.ts";

const MANIFEST: Manifest = {
  description: "What happened: in a month",
  program: "weekly-report.ts",
  input: { type: "object", properties: { month: { type: "string" } }, required: ["month"] },
  output: { type: "array" },
  expose: true,
  timeoutMs: 90_000,
};

describe("a manifest", () => {
  it("reads what was written", () => {
    expect(parseManifest(renderManifest(MANIFEST), "programs/x.yaml")).toEqual(MANIFEST);
  });

  const wrong: [string, string, string][] = [
    [
      "a key that is not known",
      "descripton: x\n",
      "programs/x.yaml:2: descripton: is not a known key; did you mean 'description'?",
    ],
    [
      "a missing key",
      "program: x.ts\ninput: {}\n",
      "programs/x.yaml:1: description: is missing; it must be a text",
    ],
    ["another version", "", "programs/x.yaml:1: version: must be 1, the only version that this ptc reads"],
    [
      "a path",
      "description: x\nprogram: ../x.ts\ninput: {}\n",
      "programs/x.yaml:3: program: must be the name of a file in the same folder",
    ],
    [
      "data that is no object",
      "description: x\nprogram: x.ts\ninput: {type: array}\n",
      "programs/x.yaml:4: input: must describe an object: what the program sees as `data`",
    ],
    ["no YAML", "description: [\n", "programs/x.yaml:3: not valid YAML"],
  ];
  it.each(wrong)("refuses %s in one line that names file and line", (what, text, message) => {
    const version =
      what === "another version" ? "version: 2\ndescription: x\nprogram: x.ts\ninput: {}\n" : "version: 1\n";
    expect(() => parseManifest(version + text, "programs/x.yaml")).toThrow(message);
  });
});

describe("the name of a saved program", () => {
  it("has a function in camelCase", () => {
    expect(programFunction("weekly-report-2")).toBe("weeklyReport2");
  });

  it.each(["Weekly", "weekly_report", "a b", "../x", "-a", "a--b", "2nd", "a".repeat(60), ""])(
    "cannot be '%s'",
    (name) => {
      expect(whyNoName(name)).toBeDefined();
    },
  );

  const files = ["index", "resources", "prompts", "servers", "programs"];
  const tools = ["execute-program", "search-tools", "inspect-tool", "list-callable-tools", "read-output"];
  it.each([...files, ...tools, "emit", "extract", "bytes-of", "tool-error"])(
    "cannot be '%s', which ptc uses itself",
    (name) => {
      expect(whyNoName(name)).toBe("is a name that ptc uses itself; choose another");
    },
  );

  it.each(["delete", "import", "call-tool", "lambda", "print", "sum"])(
    "cannot be '%s', which is a word of a language",
    (name) => {
      expect(whyNoName(name)).toBe(
        "is a word of TypeScript or Python, which no function can be called; choose another",
      );
    },
  );

  it.each(["inspect", "search-tool", "read-outputs", "weekly-report", "a".repeat(48)])(
    "can be '%s'",
    (name) => {
      expect(whyNoName(name)).toBeUndefined();
    },
  );
});
